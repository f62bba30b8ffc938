/* A send to MPI_PROC_NULL is the test: its arguments are checked, no data moves, and its error does not reach the
 * program's handler. */
#include "refused.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* A communicator of this rank alone, for one call, whose errors are only returned; 0: there is none. A duplicate would run
 * the program's callbacks of attributes. */
static int make_self(MPI_Comm *self)
{
    MPI_Group group;
    if (bl_mpi.Comm_group(MPI_COMM_SELF, &group) != MPI_SUCCESS) return 0;
    const int error = bl_mpi.Comm_create(MPI_COMM_SELF, group, self);
    bl_mpi.Group_free(&group);
    if (error != MPI_SUCCESS) return 0;
    bl_mpi.Comm_set_errhandler(*self, MPI_ERRORS_RETURN);
    return 1;
}

#ifdef OPEN_MPI
/* Handles are addresses, of which none can be told to be wrong. */
int bl_is_op(MPI_Op op)
{
    (void)op;
    return 1;
}
#else
int bl_is_op(MPI_Op op)
{
    static _Atomic uintptr_t last; /* a program uses few operations of its own */
    MPI_Comm self;
    int from = 0, to = 0;
    if (atomic_load(&last) == (uintptr_t)op) return 1;
    /* Without one, as if the operation were right: the other ranks may have one, and go on. */
    if (!make_self(&self)) return 1;
    const int error = bl_mpi.Allreduce(&from, &to, 0, MPI_INT, op, self);
    bl_mpi.Comm_free(&self);
    if (error == MPI_SUCCESS) atomic_store(&last, (uintptr_t)op);
    return error == MPI_SUCCESS;
}
#endif

int bl_is_refused(const void *data, MPI_Count count, MPI_Datatype type)
{
    if (data == MPI_IN_PLACE) return 1;
#ifdef BROADLEAF_HAVE_BCAST_C
    if (bl_mpi.Send_c != NULL) return bl_mpi.Send_c(data, count, type, MPI_PROC_NULL, 0, bl_messages()) != MPI_SUCCESS;
#endif
    return bl_mpi.Send(data, (int)count, type, MPI_PROC_NULL, 0, bl_messages()) != MPI_SUCCESS;
}

/* The elements of the longest block. */
static MPI_Count most_elements(const bl_side *side, int ranks)
{
    MPI_Count most = side->count;
    for (int rank = 0; side->counts.entries != NULL && rank < ranks; rank++) {
        const MPI_Count count = (MPI_Count)bl_of_rank(side->counts, rank);
        if (count < 0) return count;
        if (count > most) most = count;
    }
    return most;
}

static int is_refused(bl_collective collective, const bl_side *side, int ranks)
{
    const MPI_Count most = most_elements(side, ranks);
    /* Reductions access elements at the address itself, and not every MPI refuses null. */
    if (bl_is_reduction(collective) && side->data == NULL && most > 0) return 1;
    return bl_is_refused(side->data, most, side->type);
}

/* A call with one memory for both sides, of which an MPI that does not refuse it may leave anything in `value`. */
static int one_memory(bl_collective collective, int *value, MPI_Comm self)
{
    switch (collective) {
    case BL_SCATTER: return bl_mpi.Scatter(value, 1, MPI_INT, value, 1, MPI_INT, 0, self);
    case BL_GATHER: return bl_mpi.Gather(value, 1, MPI_INT, value, 1, MPI_INT, 0, self);
    case BL_ALLGATHER: return bl_mpi.Allgather(value, 1, MPI_INT, value, 1, MPI_INT, self);
    case BL_REDUCE: return bl_mpi.Reduce(value, value, 1, MPI_INT, MPI_MAX, 0, self);
    case BL_REDUCE_SCATTER: return bl_mpi.Reduce_scatter_block(value, value, 1, MPI_INT, MPI_MAX, self);
    case BL_ALLREDUCE: return bl_mpi.Allreduce(value, value, 1, MPI_INT, MPI_MAX, self);
    default: return MPI_SUCCESS;
    }
}

/* Asked of the MPI itself, on a communicator of this rank alone: builds and settings of the same MPI differ, and a root
 * that passed on a call which the MPI then accepts would wait for ranks that run the plan. */
static int refuses_one_memory(bl_collective collective)
{
    MPI_Comm self;
    int value = 0;
    if (!make_self(&self)) return 0;
    const int error = one_memory(collective, &value, self);
    bl_mpi.Comm_free(&self);
    return error != MPI_SUCCESS;
}

static int is_one_memory(bl_collective collective, const bl_side *send, const bl_side *receive, int rank, int is_root)
{
    switch (collective) {
    case BL_REDUCE: return is_root && send->data == receive->data;
    case BL_SCATTER: return is_root && bl_is_own_block(receive, send, rank);
    case BL_GATHER: return is_root && bl_is_own_block(send, receive, rank);
    case BL_ALLGATHER: return bl_is_own_block(send, receive, rank);
    default: return send->data == receive->data;
    }
}

int bl_is_one_refused(bl_collective collective, const bl_side *send, const bl_side *receive, int rank, int is_root)
{
    return is_one_memory(collective, send, receive, rank, is_root) && refuses_one_memory(collective);
}

int bl_are_refused(bl_collective collective, const bl_side *send, const bl_side *receive, int ranks, int is_root)
{
    if (collective == BL_SCATTER) {
        const int receives = !is_root || receive->data != MPI_IN_PLACE;
        return (is_root && is_refused(collective, send, ranks)) || (receives && is_refused(collective, receive, ranks));
    }
    /* Only the root, or every rank of a collective without a root, may send in place. */
    const int is_rooted = collective == BL_GATHER || collective == BL_REDUCE;
    const int receives = is_root || !is_rooted;
    return (receives && is_refused(collective, receive, ranks)) ||
           (!(receives && send->data == MPI_IN_PLACE) && is_refused(collective, send, ranks));
}
