/* The interface of broadleaf-push's C part and its Rust part. Mirrored by src/ffi/push.rs. */
#ifndef BROADLEAF_PUSH_H
#define BROADLEAF_PUSH_H

#include <stdint.h>

/* One rank's side of the job; MPI's errors never come back. */
typedef struct {
    uint32_t rank;
    uint32_t ranks;
    const char *host;
    /* Every rank's `bytes` bytes, in rank order, into `all` on rank 0. */
    void (*gather)(const void *mine, uint64_t bytes, void *all);
    /* Rank 0's bytes to all ranks of a group; group 0 is the world. */
    void (*broadcast)(uint32_t group, void *data, uint64_t bytes);
    /* Makes a group of those ranks that are members, in rank order; collective over the world. */
    uint32_t (*group)(uint32_t is_member);
    /* Sends a number to rank 0, without waiting for it. */
    void (*tell)(uint64_t number);
    /* On rank 0: the next number that a rank has sent; 0: there is none, and `waits` is 0. */
    uint32_t (*hear)(uint32_t waits, uint32_t *rank, uint64_t *number);
} bl_push_job;

/* A bug in Broadleaf on this rank, reported on standard error. */
enum { BL_PUSH_LOST = 3 };

/* Pushes what the settings name; 0: every host has it, 1: one has not. */
int bl_push_run(const bl_push_job *job, const char *settings);

#endif
