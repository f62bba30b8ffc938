/* The caught calls. A program preloaded with this library calls these in place of the MPI's own; each either
 * runs the planned broadcast or passes the call through untouched and counts why.
 *
 * Every rank must decide alike, so a decision rests only on what the ranks of a communicator agree on: the
 * communicator, the packed bytes of the message, and the settings agreed at MPI_Init. */
#include "runtime.h"

#include <stdatomic.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

/* Messages under this many bytes are passed through at once, counted for `small_reason`. Everything is, until
 * MPI_Init has agreed on the settings and again from MPI_Finalize on. */
static _Atomic uint64_t small_limit = UINT64_MAX;
static _Atomic int small_reason = BL_PASSED_NOT_STARTED;

static _Atomic uint64_t passed[BL_REASON_COUNT];

/* A broadcast that the MPI (or a tool above it) makes from inside ours is not ours. The quickest kind of
 * thread-local variable is scarce; SMPI loads the program once for every rank and would run out of it. */
#ifdef SMPI_H
static _Thread_local int inside;
#else
static _Thread_local int inside __attribute__((tls_model("initial-exec")));
#endif

void bl_set_small_limit(uint64_t bytes, bl_reason reason)
{
    atomic_store_explicit(&small_reason, (int)reason, memory_order_relaxed);
    atomic_store_explicit(&small_limit, bytes, memory_order_release);
}

void bl_passed_counts(uint64_t counts[BL_REASON_COUNT])
{
    for (int reason = 0; reason < BL_REASON_COUNT; reason++)
        counts[reason] = atomic_load_explicit(&passed[reason], memory_order_relaxed);
}

static void count_passed(bl_reason reason)
{
    atomic_fetch_add_explicit(&passed[reason], 1, memory_order_relaxed);
}

/* Runs the planned broadcast of packed bytes; *handled tells whether it was ours. */
static int run(bl_comm *private, unsigned char *packed, uint64_t bytes, int root, int *handled)
{
    bl_outcome outcome = bl_session_broadcast(private->session, packed, bytes, root);
    *handled = outcome.verdict != BL_OWN && outcome.verdict != BL_BAD_VALUE;
    switch (outcome.verdict) {
    case BL_DONE: return MPI_SUCCESS;
    case BL_OWN: count_passed(BL_PASSED_NO_PLAN); return MPI_SUCCESS;
    case BL_BAD_VALUE: count_passed(BL_PASSED_BAD_VALUE); return MPI_SUCCESS;
    case BL_LENGTH: return MPI_ERR_TRUNCATE;
    case BL_MPI: return outcome.mpi_error;
    default: return MPI_ERR_INTERN;
    }
}

/* The packed message where it lies, or packed beside and unpacked afterwards. */
static int run_typed(bl_comm *private, void *data, MPI_Count count, MPI_Datatype type, uint64_t bytes, int root,
                     int *handled)
{
    MPI_Aint first;
    int in_place;
    int error = bl_in_place(count, type, &first, &in_place);
    if (error != MPI_SUCCESS) return error;
    /* Under MPI_BOTTOM `data` is null and `first` an address, so the sum is made of integers. */
    if (in_place) return run(private, (unsigned char *)((uintptr_t)data + (uintptr_t)first), bytes, root, handled);

    unsigned char *packed = malloc(bytes);
    if (packed == NULL) return MPI_ERR_NO_MEM;
    if (private->rank == root) error = bl_pack(data, count, type, packed, bytes);
    if (error == MPI_SUCCESS) error = run(private, packed, bytes, root, handled);
    if (error == MPI_SUCCESS && *handled && private->rank != root)
        error = bl_unpack(packed, bytes, data, count, type);
    free(packed);
    return error;
}

/* A message that is not small. *handled = 0: the caller makes the MPI's own call. */
static int broadcast(void *data, MPI_Count count, MPI_Datatype type, uint64_t bytes, int root, MPI_Comm comm,
                     int *handled)
{
    bl_comm *private;
    int error = bl_comm_of(comm, &private);
    if (error != MPI_SUCCESS) {
        *handled = 1;
        return error;
    }
    if (private->session == NULL) {
        count_passed(private->reason);
        return MPI_SUCCESS;
    }
    if (root < 0 || root >= private->size) {
        /* The MPI's own error message is better than ours. */
        count_passed(BL_PASSED_INVALID);
        return MPI_SUCCESS;
    }
    *handled = 1;
    return run_typed(private, data, count, type, bytes, root, handled);
}

/* The program's error handler may never return (it may jump or throw), so nothing of ours is under way when it
 * runs. */
static int finish(MPI_Comm comm, int error)
{
    inside = 0;
    if (error != MPI_SUCCESS) PMPI_Comm_call_errhandler(comm, error);
    return error;
}

/* Whether the call is passed through at once; else its packed bytes. */
static inline int passes(MPI_Count count, MPI_Datatype type, MPI_Comm comm, uint64_t *bytes)
{
    uint64_t limit = atomic_load_explicit(&small_limit, memory_order_acquire);
    bl_reason reason = BL_PASSED_SMALL;
    int size;
    if (limit == UINT64_MAX)
        reason = (bl_reason)atomic_load_explicit(&small_reason, memory_order_relaxed);
    else if (count < 0 || type == MPI_DATATYPE_NULL || comm == MPI_COMM_NULL)
        reason = BL_PASSED_INVALID;
    else if (PMPI_Type_size(type, &size) != MPI_SUCCESS)
        reason = BL_PASSED_INVALID;
    else if (size >= 0 && (uint64_t)count < UINT32_MAX) {
        *bytes = (uint64_t)count * (uint64_t)size;
        if (*bytes >= limit) goto large;
        if (*bytes == 0) reason = BL_PASSED_EMPTY;
    } else if (bl_packed_bytes(count, type, bytes) != MPI_SUCCESS)
        reason = BL_PASSED_INVALID;
    else
        goto large;
    count_passed(reason);
    return 1;
large:
    if (!inside) return 0;
    count_passed(BL_PASSED_NESTED);
    return 1;
}

/* The arguments of a broadcast. */
typedef struct {
    void *data;
    MPI_Count count;
    MPI_Datatype type;
    int root;
} bl_call;

typedef int bl_own_call(const bl_call *call, MPI_Comm comm);

static inline int own_call(const bl_call *call, MPI_Comm comm)
{
    return PMPI_Bcast(call->data, (int)call->count, call->type, call->root, comm);
}

static inline int catch(const bl_call *call, MPI_Comm comm, bl_own_call *own)
{
    uint64_t bytes;
    if (passes(call->count, call->type, comm, &bytes)) return own(call, comm);
    int handled = 0;
    inside = 1;
    int error = broadcast(call->data, call->count, call->type, bytes, call->root, comm, &handled);
    error = finish(comm, error);
    return handled ? error : own(call, comm);
}

int bl_bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    bl_call call = {data, count, type, root};
    return catch(&call, comm, own_call);
}

EXPORT int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    return bl_bcast(data, count, type, root, comm);
}

#ifdef BROADLEAF_HAVE_BCAST_C
static inline int own_large_call(const bl_call *call, MPI_Comm comm)
{
    return PMPI_Bcast_c(call->data, call->count, call->type, call->root, comm);
}

EXPORT int MPI_Bcast_c(void *data, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm)
{
    bl_call call = {data, count, type, root};
    return catch(&call, comm, own_large_call);
}
#endif

EXPORT int MPI_Init(int *argc, char ***argv)
{
    int error = PMPI_Init(argc, argv);
    if (error == MPI_SUCCESS) bl_start();
    return error;
}

EXPORT int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int error = PMPI_Init_thread(argc, argv, required, provided);
    if (error == MPI_SUCCESS) bl_start();
    return error;
}
