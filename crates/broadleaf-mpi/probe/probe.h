/* The C part of broadleaf-probe: one file a concern, see the top of each. */
#ifndef BROADLEAF_PROBE_H
#define BROADLEAF_PROBE_H

#include <stddef.h>

#include "library.h"
#include "survey.h"

/* Orders and results, apart from the messages that are timed. */
enum { BL_TAG_ORDER = 1, BL_TAG_READY, BL_TAG_GO, BL_TAG_SAMPLES };
enum { BL_TAG_DATA = 1, BL_TAG_ANSWER, BL_TAG_MEET };

extern MPI_Comm bl_orders, bl_data;
/* Whether all ranks read the same clock, by MPI_WTIME_IS_GLOBAL. */
extern int bl_one_clock;

/* lead.c: rank 0 */
void bl_lead(int ranks, const char *settings, const bl_seat *seats);
/* Sends all other ranks the signal to end. */
void bl_end(int ranks);
/* follow.c: all others */
void bl_follow(void);

/* perform.c: one task, from either side, or all of one sender's, with the samples of each */
size_t bl_sample_count(const bl_task *task);
void bl_meet(const bl_task *task, int rank);
void bl_perform(const bl_task *tasks, int rank, double **samples);

/* buffer.c: memory that messages are sent from and received into */
void bl_buffer_reserve(size_t bytes);
unsigned char *bl_buffer_next(size_t bytes);

/* wait.c: waiting that leaves the cores to those who measure */
void bl_await(MPI_Request *request);
void bl_pause(double seconds);
/* Seconds since `before`, which moves on, that this process stood ready to run while others had the processors; 0
 * where the kernel keeps no account of that. */
typedef struct bl_account {
    unsigned long long waited_ns, turns;
} bl_account;
double bl_waited_since(bl_account *before);
void *bl_memory(size_t bytes);

#endif
