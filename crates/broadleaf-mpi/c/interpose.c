/* A program preloaded with this library calls these in place of the MPI's own; each either runs the planned
 * broadcast or passes the call through untouched and counts why. */
#include "interpose.h"

#include <stdint.h>

#include "broadcast.h"
#include "lifecycle.h"
#include "message_size.h"
#include "passed.h"

#define EXPORT __attribute__((visibility("default")))

/* A broadcast that the MPI (or a tool above it) makes from inside ours is not ours. The quickest kind of
 * thread-local variable is scarce; SMPI loads the program once for every rank and would run out of it. */
#ifdef SMPI_H
static _Thread_local int inside;
#else
static _Thread_local int inside __attribute__((tls_model("initial-exec")));
#endif

/* The program's error handler may never return (it may jump or throw), so nothing of ours is under way when it
 * runs. */
static int finish(MPI_Comm comm, int error)
{
    inside = 0;
    if (error != MPI_SUCCESS) PMPI_Comm_call_errhandler(comm, error);
    return error;
}

/* Packed bytes of an element; without the slower 64-bit call where that many fit an int. Negative: no such type. */
static inline MPI_Count element_bytes(MPI_Datatype type)
{
    int size;
    MPI_Count large;
    if (PMPI_Type_size(type, &size) != MPI_SUCCESS) return -1;
    if (size >= 0) return size;
    return PMPI_Type_size_x(type, &large) == MPI_SUCCESS ? large : -1;
}

/* Whether the call is passed through at once; else its packed bytes, of which there are some. */
static inline int passes(const bl_call *call, MPI_Comm comm, uint64_t *bytes)
{
    static const bl_reason reasons[] = {
        [BL_SIZE_IMPOSSIBLE] = BL_PASSED_INVALID,
        [BL_SIZE_NONE] = BL_PASSED_EMPTY,
        [BL_SIZE_SMALL] = BL_PASSED_SMALL,
        [BL_SIZE_PLANNED] = BL_PASSED_NESTED,
    };
    const uint64_t threshold = bl_threshold_bytes();
    bl_reason reason;
    if (threshold == UINT64_MAX)
        reason = bl_all_passed_for();
    else if (call->type == MPI_DATATYPE_NULL || comm == MPI_COMM_NULL)
        reason = BL_PASSED_INVALID;
    else {
        const bl_size size = bl_size_of(call->count, element_bytes(call->type), threshold, bytes);
        if (size == BL_SIZE_PLANNED && !inside) return 0;
        reason = reasons[size];
    }
    bl_count_passed(reason);
    return 1;
}

typedef int bl_own_call(const bl_call *call, MPI_Comm comm);

static inline int own_call(const bl_call *call, MPI_Comm comm)
{
    return PMPI_Bcast(call->data, (int)call->count, call->type, call->root, comm);
}

static inline int catch(const bl_call *call, MPI_Comm comm, bl_own_call *own)
{
    uint64_t bytes;
    if (passes(call, comm, &bytes)) return own(call, comm);
    int handled;
    inside = 1;
    const int error = finish(comm, bl_broadcast(call, bytes, comm, &handled));
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
static int own_large_call(const bl_call *call, MPI_Comm comm)
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
