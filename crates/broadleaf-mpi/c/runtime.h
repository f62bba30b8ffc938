/* The C part of the MPI runtime: one file a concern, see the top of each. */
#ifndef BROADLEAF_RUNTIME_H
#define BROADLEAF_RUNTIME_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include "collectives.h"
#include "engine.h"

/* Why a call went to the MPI's own broadcast. Counted per process; the names stand in BROADLEAF_STATS. */
#define BL_REASONS(X)                         \
    X(DISABLED, "disabled")                   \
    X(BAD_VALUE, "bad-value")                 \
    X(NOT_STARTED, "outside-init-finalize")   \
    X(SMALL, "under-threshold")               \
    X(EMPTY, "zero-bytes")                    \
    X(INVALID, "invalid-arguments")           \
    X(NESTED, "nested-call")                  \
    X(ONE_RANK, "one-rank")                   \
    X(INTERCOMM, "intercommunicator")         \
    X(SEVERAL_WORLDS, "spans-several-worlds") \
    X(NO_COMM, "no-private-communicator")     \
    X(NO_PLAN, "no-plan")

typedef enum {
#define BL_ENUM(id, name) BL_PASSED_##id,
    BL_REASONS(BL_ENUM)
#undef BL_ENUM
        BL_REASON_COUNT
} bl_reason;

/* A request as the engine knows it. */
typedef struct {
    uint32_t number;
    int is_receive;
} bl_ticket;

/* A user communicator's private side. */
typedef struct bl_comm {
    MPI_Comm private_comm; /* MPI_COMM_NULL: calls are passed through for `reason` */
    bl_reason reason;
    int rank, size;
    bl_session *session;
    /* collectives.c: opened by the first scatter or all-gather that is called by name */
    bl_collectives *collectives;
    /* Requests under way, and what the engine knows of each. */
    MPI_Request *requests;
    bl_ticket *tickets;
    uint32_t count, capacity;
    /* Results of one PMPI_Testsome, of the same capacity. */
    int *indices;
    MPI_Status *statuses;
    bl_done *done;
} bl_comm;

/* lifecycle.c: from MPI_Init to MPI_Finalize */
void bl_start(void);
int bl_is_running(void);
const bl_config *bl_agreed_config(void);
/* The caller's place among the ranks of its host in MPI_COMM_WORLD. */
uint32_t bl_host_index(void);

/* Every rank's text, one behind the other, on rank 0 of the world, which frees them. */
int bl_gather_texts(int rank, int size, const char *text, uint64_t length, char **texts, uint64_t *bytes);

/* trace.c: the end of a trace */
int bl_trace_finish(int is_spawned);

/* interpose.c: the caught calls and their counts */
void bl_set_small_limit(uint64_t bytes, bl_reason reason);
void bl_passed_counts(uint64_t counts[BL_REASON_COUNT]);
/* MPI_Bcast as caught, also where the MPI's own is found first. */
int bl_bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm);

/* comms.c: private communicators */
int bl_comms_start(void);
void bl_comms_finish(void);
int bl_comm_of(MPI_Comm comm, bl_comm **found);

/* transport.c: the MPI operations that the engine asks for */
extern const bl_ops bl_mpi_ops;
void bl_transport_free(bl_comm *comm);

/* datatypes.c: any (address, count, datatype) as packed bytes */
int bl_packed_bytes(MPI_Count count, MPI_Datatype type, uint64_t *bytes);
int bl_pack(const void *data, MPI_Count count, MPI_Datatype type, unsigned char *packed, uint64_t bytes);
int bl_unpack(const unsigned char *packed, uint64_t bytes, void *data, MPI_Count count, MPI_Datatype type);

/* contiguous.c: is the memory of `count` elements already the packed message? */
int bl_contiguous_start(void);
void bl_contiguous_finish(void);
int bl_in_place(MPI_Count count, MPI_Datatype type, MPI_Aint *first, int *in_place);

#endif
