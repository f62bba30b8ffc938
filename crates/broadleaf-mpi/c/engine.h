/* The interface of the C part and the Rust part. No MPI type crosses: Rust knows no MPI header, so one
 * Rust archive is linked for every MPI, and only these C files are compiled by each MPI's own mpicc.
 *
 * Sizes and offsets are 64-bit bytes of the *packed* message. `int` results of operations are MPI error codes,
 * 0 is success. Mirrored by src/ffi.rs, src/mpi.rs and src/settings.rs. */
#ifndef BROADLEAF_ENGINE_H
#define BROADLEAF_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#define BL_ANY_RANK (-1)

/* One finished request. */
typedef struct {
    uint32_t request; /* the number that isend or irecv was given */
    int32_t source;   /* sender's rank of a receive */
    uint64_t bytes;   /* received bytes */
    int32_t error;    /* MPI error code */
    uint32_t reserved;
} bl_done;

/* The MPI operations that Rust asks for. `comm` is one communicator's side of them: collectives run on the program's
 * communicator, messages beside it, with tags of their own. */
typedef struct {
    /* Every rank's `bytes` bytes, in rank order, into `all` on rank 0. */
    int (*gather)(void *comm, const void *mine, uint64_t bytes, void *all);
    /* The root's bytes to all ranks, by the MPI's own broadcast. */
    int (*share)(void *comm, void *data, uint64_t bytes, int root);
    int (*isend)(void *comm, const void *data, uint64_t bytes, int peer, int tag, uint32_t request);
    /* `peer` may be BL_ANY_RANK. */
    int (*irecv)(void *comm, void *data, uint64_t bytes, int peer, int tag, uint32_t request);
    /* Blocks until at least one request is done, or only looks, if `patient` is 0; there must be one under way.
     * `done` stays valid until the next call of any of these. */
    int (*wait_some)(void *comm, const bl_done **done, uint32_t *count, int patient);
    /* Takes back a receive under way. *has_come: too late, the message is here; wait_some does not report it. */
    int (*withdraw)(void *comm, uint32_t request, int *has_come);
    /* Drives the MPI's progress, for a rank that waits for something else. */
    int (*progress)(void *comm);
    /* Waits until MPI_Wtime is `seconds` in simulated time; returns the time. Null in real time. */
    double (*wait_until)(double seconds);
    /* Combines elements of the communicator's call that came from another rank into this rank's. */
    int (*combine)(void *comm, const void *came, void *into, uint64_t bytes);
    /* After an error: gives up every request under way, so that none writes into the program's memory later. */
    void (*abandon)(void *comm);
    /* From this length on, shared memory is faster inside a host than this MPI's own broadcast. */
    uint64_t intranode_from;
    /* The error code for a communicator one of whose processes has failed. */
    int process_failed;
} bl_ops;

/* What is done with a broadcast that could be planned. */
typedef enum {
    BL_MODE_PLAN = 0,
    BL_MODE_COMPARE = 1, /* planned and native calls of each kind alternate */
    BL_MODE_OBSERVE = 2, /* it goes to the MPI's own, and is timed */
} bl_mode;

/* In the order of Collective::ALL in src/settings.rs. */
typedef enum {
    BL_BCAST,
    BL_SCATTER,
    BL_GATHER,
    BL_ALLGATHER,
    BL_REDUCE,
    BL_REDUCE_SCATTER,
    BL_ALLREDUCE,
} bl_collective;

static inline int bl_is_reduction(bl_collective collective)
{
    return collective == BL_REDUCE || collective == BL_REDUCE_SCATTER || collective == BL_ALLREDUCE;
}

/* Settings that must be identical on all ranks of a world before their first broadcast; rank 0's environment decides.
 * It is sent as raw bytes, so it holds no pointers. */
typedef struct {
    uint64_t min_bytes; /* smaller messages go to the MPI's own broadcast */
    uint32_t mode;      /* a bl_mode */
    uint32_t listed;    /* the collectives that are planned, a bit for each bl_collective */
    bool disabled;      /* by the user, or because a value was bad (then it has been reported) */
    bool bad_value;
    bool stats;            /* statistics are collected from all ranks at MPI_Finalize */
    bool has_platform;     /* nodes of a platform file are given out by host name */
    bool trace;            /* sends and receives are noted, and collected from all ranks at MPI_Finalize */
    bool follows_platform; /* min_bytes becomes what the platform predicts, where that is less */
    bool without_advisor;  /* its directory cannot be used, which has been reported */
} bl_config;

typedef enum {
    BL_DONE = 0,     /* the data is there */
    BL_OWN = 1,      /* all ranks use the MPI's own broadcast for this call */
    BL_LENGTH = 2,   /* this rank's length is not the root's; the others have received the data */
    BL_MPI = 3,      /* an MPI operation failed, see mpi_error */
    BL_INTERNAL = 4, /* a bug in Broadleaf, reported on stderr */
    BL_BAD_VALUE = 5, /* as BL_OWN, on account of a setting that rank 0 has reported */
    BL_NO_MEMORY = 6, /* a contribution is missing: its rank had no memory for its part */
} bl_verdict;

typedef struct {
    uint32_t verdict;
    int32_t mpi_error;
} bl_outcome;

typedef struct bl_session bl_session;

/* `realloc` and `free` that fall back on the runtime's own reserve (src/reserve.rs): a broadcast must not fail for
 * memory that the MPI alone would not need. */
void *bl_resize(void *address, uint64_t bytes);
void bl_release(void *address);

/* Reads BROADLEAF_* of this process; reports a bad value in one line on stderr. */
void bl_config_read(bl_config *config);
/* Checks, for all ranks, that the files and names in the settings can be used; reports each that cannot in one line. */
void bl_config_try(bl_config *config);

/* Opens the plans of one communicator; collective over it. `host_index` is the caller's place among the ranks
 * of its host. Never null; what makes planning impossible is reported by rank 0, and the session then answers
 * BL_OWN to every broadcast. */
bl_session *bl_session_open(const bl_ops *ops, void *comm, const char *name, int rank, int size, const char *host,
                            uint32_t host_index, const bl_config *config, bl_outcome *outcome);
void bl_session_close(bl_session *session);
/* Broadcasts of fewer bytes go to the MPI's own on all ranks, and do not reach the session. */
uint64_t bl_session_threshold(const bl_session *session);

/* Another collective than a broadcast, on one block of `bytes` packed bytes for every rank, in rank order at `packed`;
 * collective. With `sizes`, not all alike, the block of each rank has its own, and the longest one has `bytes`. In a scatter all blocks are there at the root, elsewhere this rank's own is when the call ends and the
 * others are scratch; in an all-gather this rank's own is there, all are when the call ends; in a gather this rank's own
 * is there, at the root all are when the call ends, elsewhere the others are scratch. A reduction has one block, this
 * rank's contribution, which is the result at the root when the call ends and scratch elsewhere; segments end between
 * elements of `element` bytes. `packed` is null at a rank without memory for them, or, with `is_length_wrong`, at one
 * whose block in a gather has another length: it still passes on the others' segments; where it had something to send,
 * outward all ranks use the MPI's own, inward it and the root get BL_NO_MEMORY or BL_LENGTH. */
bl_outcome bl_session_exchange(bl_session *session, bl_collective collective, unsigned char *packed,
                               int is_length_wrong, uint64_t bytes, const uint64_t *sizes, uint64_t element, int root);
/* Such calls of fewer bytes in all go to the MPI's own; UINT64_MAX: all do. */
uint64_t bl_session_exchange_threshold(const bl_session *session);

/* Broadcasts `bytes` packed bytes from `root`; collective. `packed` is null at a rank without memory for them, which
 * takes part for the others. */
bl_outcome bl_session_broadcast(bl_session *session, unsigned char *packed, uint64_t bytes, int root);

/* How long one communicator's calls take, where planned and native ones are timed. `communicator` is the same on all
 * its ranks; `session` is null where Broadleaf is disabled. Null after a bug in Broadleaf, which has been reported. */
typedef struct bl_times bl_times;
bl_times *bl_times_open(uint64_t communicator, const char *name, int rank, int size, const bl_session *session,
                        const bl_config *config);
void bl_times_close(bl_times *times);
/* Whether the next call goes to the MPI's own broadcast; the same on all ranks. */
int bl_times_next_is_native(bl_times *times, bl_collective collective, uint64_t bytes, int root);
/* After a successful call: its time on this rank, from entry to return. */
void bl_times_native(bl_times *times, bl_collective collective, uint64_t bytes, int root, double seconds);
void bl_times_planned(const bl_times *times, bl_collective collective, uint64_t bytes, int root, double seconds,
                      const bl_session *session);

/* This process's statistics that no call has given yet, in a form that bl_stats_write reads; null where there are
 * none. The text stays to the end of the process; single-threaded, at MPI_Finalize. */
const char *bl_stats_text(uint64_t *bytes);

/* Rank 0's own data at MPI_Finalize. */
typedef struct {
    const char *mpi;
    int32_t ranks;
    int32_t is_spawned; /* the world was started by another one */
    /* Its own counts of broadcasts that were passed through, by reason, and of other collectives, by their names. */
    const char *const *reasons;
    const uint64_t *passed;
    const char *const *others;
    const uint64_t *not_planned;
    uint32_t reason_count;
    uint32_t other_count;
    uint64_t min_bytes;
    const bl_config *config;
} bl_world;

/* Rank 0 writes BROADLEAF_STATS from the concatenated texts of all ranks. */
void bl_stats_write(const char *texts, uint64_t bytes, const bl_world *world);

/* Seconds of this machine's steady clock, by which a trace is kept. */
double bl_trace_clock_s(void);
/* This process's part of the trace, as bl_stats_text; `behind_s` is how far its clock is ahead of rank 0's. */
const char *bl_trace_text(const bl_ops *ops, int rank, int ranks, const char *host, double behind_s, uint64_t *bytes);
/* Rank 0 writes BROADLEAF_TRACE from the texts of all ranks. */
void bl_trace_write(const char *texts, uint64_t bytes, int is_spawned);

#endif
