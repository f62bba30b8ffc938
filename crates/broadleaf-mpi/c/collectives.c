/* As with broadcasts, a decision depends only on values that all ranks of a communicator agree on: the collective,
 * the root, the packed bytes of a block, which MPI requires to be the same everywhere, the communicator and the
 * agreed settings. */
#include "collectives.h"

#include <stdlib.h>
#include <string.h>

#include "agreed.h"
#include "comms.h"
#include "contiguous.h"
#include "datatypes.h"
#include "failures.h"
#include "message_size.h"
#include "passed.h"
#include "reductions.h"
#include "refused.h"
#include "simulated.h"

/* A call on its way, as this rank sees it. */
typedef struct {
    const bl_exchange *call;
    bl_comm *comm;
    uint64_t bytes;   /* of a block */
    uint64_t all;     /* of all blocks; reductions have one, except the reduce-scatter */
    uint64_t element; /* bytes of an element; segments end between elements */
    bl_reduction reduction;
} exchange;

static int run(const exchange *it, unsigned char *packed, int *handled)
{
    const bl_exchange *call = it->call;
    bl_outcome outcome = bl_session_exchange(it->comm->session, call->collective, packed, it->bytes, it->element,
                                             call->root);
    *handled = outcome.verdict != BL_OWN && outcome.verdict != BL_BAD_VALUE;
    if (*handled) bl_count_planned();
    switch (outcome.verdict) {
    case BL_DONE:
    case BL_BAD_VALUE:
    case BL_OWN: return MPI_SUCCESS;
    case BL_LENGTH: return MPI_ERR_TRUNCATE;
    case BL_NO_MEMORY: return MPI_ERR_NO_MEM;
    case BL_MPI: return outcome.mpi_error;
    default: return MPI_ERR_INTERN;
    }
}

/* The program's memory if its data is packed there already, else null. */
static unsigned char *direct(const void *data, MPI_Count count, MPI_Datatype type)
{
    MPI_Aint first;
    int in_place;
    if (bl_in_place(count, type, &first, &in_place) != MPI_SUCCESS || !in_place) return NULL;
    return (unsigned char *)((uintptr_t)data + (uintptr_t)first);
}

/* A side's packed bytes; 0 where it has none, or too many. */
static uint64_t side_bytes(const bl_side *side)
{
    uint64_t bytes;
    if (side->count <= 0 || side->type == MPI_DATATYPE_NULL) return 0;
    return bl_packed_bytes(side->count, side->type, &bytes) == MPI_SUCCESS ? bytes : 0;
}

static int unpack_own(const exchange *it, const unsigned char *packed)
{
    const bl_side *to = &it->call->receive;
    if (side_bytes(to) != it->bytes) return MPI_ERR_TRUNCATE;
    return bl_unpack(packed + (uint64_t)it->comm->rank * it->bytes, it->bytes, to->data, to->count, to->type);
}

static int scatter(const exchange *it, int *handled)
{
    const bl_side *from = &it->call->send;
    const int is_root = it->comm->rank == it->call->root;
    const MPI_Count sent = is_root ? from->count * it->comm->size : 0;
    unsigned char *packed = is_root ? direct(from->data, sent, from->type) : NULL, *own = NULL;
    if (packed == NULL) {
        /* Only pages that forwarded blocks use are touched. */
        packed = own = malloc(it->all);
        if (is_root && own != NULL && bl_pack(from->data, sent, from->type, own, it->all) != MPI_SUCCESS) packed = NULL;
    }
    /* The other ranks depend on this one, even if it has no memory. */
    int error = run(it, packed, handled);
    if (error == MPI_SUCCESS && *handled && packed == NULL) error = MPI_ERR_NO_MEM;
    if (error == MPI_SUCCESS && *handled && it->call->receive.data != MPI_IN_PLACE) error = unpack_own(it, packed);
    free(own);
    return error;
}

/* Copies this rank's contribution to its block, unless it is there already. */
static int put_own(const exchange *it, unsigned char *block, int is_beside)
{
    const bl_side *from = &it->call->send, *to = &it->call->receive;
    MPI_Aint lower, extent;
    if (from->data != MPI_IN_PLACE) {
        if (side_bytes(from) != it->bytes) return MPI_ERR_TRUNCATE;
        return bl_pack(from->data, from->count, from->type, block, it->bytes);
    }
    if (!is_beside) return MPI_SUCCESS;
    const int error = bl_mpi.Type_get_extent(to->type, &lower, &extent);
    if (error != MPI_SUCCESS) return error;
    const MPI_Aint before = (MPI_Aint)it->comm->rank * (MPI_Aint)to->count * extent;
    const void *theirs = (const void *)((uintptr_t)to->data + (uintptr_t)before);
    return bl_pack(theirs, to->count, to->type, block, it->bytes);
}

static int allgather(const exchange *it, int *handled)
{
    const bl_side *to = &it->call->receive;
    const MPI_Count received = to->count * it->comm->size;
    unsigned char *packed = direct(to->data, received, to->type), *own = NULL;
    if (packed == NULL) packed = own = malloc(it->all);
    if (packed != NULL && put_own(it, packed + (uint64_t)it->comm->rank * it->bytes, own != NULL) != MPI_SUCCESS)
        packed = NULL;
    /* Without this rank's block all ranks use the MPI's own. */
    int error = run(it, packed, handled);
    if (error == MPI_SUCCESS && *handled && own != NULL)
        error = bl_unpack(packed, it->all, to->data, received, to->type);
    free(own);
    return error;
}

static int gather(const exchange *it, int *handled)
{
    const bl_side *to = &it->call->receive;
    const int is_root = it->comm->rank == it->call->root;
    const MPI_Count received = is_root ? to->count * it->comm->size : 0;
    unsigned char *packed = is_root ? direct(to->data, received, to->type) : NULL, *own = NULL;
    if (packed == NULL) packed = own = malloc(it->all);
    int put = MPI_ERR_NO_MEM;
    if (packed != NULL) put = put_own(it, packed + (uint64_t)it->comm->rank * it->bytes, own != NULL);
    int error = run(it, put == MPI_SUCCESS ? packed : NULL, handled);
    if (*handled && put != MPI_SUCCESS) error = put;
    if (error == MPI_SUCCESS && *handled && is_root && own != NULL)
        error = bl_unpack(packed, it->all, to->data, received, to->type);
    free(own);
    return error;
}

/* Elements with their gaps, up to the end of the last one's data. */
static void copy_elements(unsigned char *to, const void *from, uint64_t bytes, const bl_reduction *reduction)
{
    memcpy(to, from, bytes - reduction->element + reduction->last);
}

/* Copies the result into the program's memory and leaves the gaps between elements unchanged. */
static int give(const exchange *it, const unsigned char *result)
{
    const bl_side *to = &it->call->receive;
    if (it->reduction.is_dense) {
        memcpy(to->data, result, it->bytes);
        return MPI_SUCCESS;
    }
    const uint64_t bytes = side_bytes(to);
    unsigned char *packed = malloc(bytes);
    if (packed == NULL) return MPI_ERR_NO_MEM;
    int error = bl_pack(result, to->count, to->type, packed, bytes);
    if (error == MPI_SUCCESS) error = bl_unpack(packed, bytes, to->data, to->count, to->type);
    free(packed);
    return error;
}

/* Contributions are combined in the result buffer if this rank has one of full length without gaps, else in the
 * library's own memory. */
static int reduce(const exchange *it, int *handled)
{
    const bl_exchange *call = it->call;
    const int is_scattered = call->collective == BL_REDUCE_SCATTER;
    const int has_result = call->collective != BL_REDUCE || it->comm->rank == call->root;
    const int is_there = has_result && !is_scattered && it->reduction.is_dense;
    const void *from = call->send.data == MPI_IN_PLACE ? call->receive.data : call->send.data;
    unsigned char *own = is_there ? NULL : malloc(it->all);
    unsigned char *all = is_there ? call->receive.data : own;
    /* Not every MPI refuses one buffer for both. */
    if (all != NULL && all != from) copy_elements(all, from, it->all, &it->reduction);
    it->comm->transport.type = call->receive.type;
    it->comm->transport.op = call->op;
    it->comm->transport.element = it->element;
    int error = run(it, all, handled);
    if (error == MPI_SUCCESS && *handled && has_result && own != NULL)
        error = give(it, is_scattered ? own + (uint64_t)it->comm->rank * it->bytes : own);
    free(own);
    return error;
}

static int is_reduction(bl_collective collective)
{
    return collective == BL_REDUCE || collective == BL_ALLREDUCE || collective == BL_REDUCE_SCATTER;
}

/* Which side of the call gives the size of a block. */
static const bl_side *measured_side(const bl_exchange *call, int is_root)
{
    switch (call->collective) {
    case BL_SCATTER: return is_root ? &call->send : &call->receive;
    case BL_GATHER: return is_root ? &call->receive : &call->send;
    default: return &call->receive;
    }
}

static int is_refused(const bl_exchange *call, const bl_side *side)
{
    /* Reductions access elements at the address itself, and not every MPI refuses null. */
    if (is_reduction(call->collective) && side->data == NULL) return 1;
    return bl_is_refused(side->data, side->count, side->type);
}

/* Whether the MPI refuses the buffers on this rank; the call then goes to the MPI without the others. */
static int are_refused(const bl_exchange *call, int is_root)
{
    const bl_side *send = &call->send, *receive = &call->receive;
    if (call->collective == BL_SCATTER) {
        const int receives = !is_root || receive->data != MPI_IN_PLACE;
        return (is_root && is_refused(call, send)) || (receives && is_refused(call, receive));
    }
    /* Only the root, or every rank of a collective without a root, may send in place. */
    const int is_rooted = call->collective == BL_GATHER || call->collective == BL_REDUCE;
    const int receives = is_root || !is_rooted;
    return (receives && is_refused(call, receive)) ||
           (!(receives && send->data == MPI_IN_PLACE) && is_refused(call, send));
}

/* The bytes of a block; 0 where the call is not planned. */
static uint64_t block_bytes(const bl_exchange *call, int rank, exchange *it)
{
    uint64_t bytes;
    it->element = 1;
    if (!is_reduction(call->collective)) return side_bytes(measured_side(call, rank == call->root));
    const MPI_Count count = call->receive.count;
    if (count <= 0 || !bl_reduction_of(call->receive.type, call->op, &it->reduction)) return 0;
    it->element = it->reduction.element;
    return bl_size_of(count, (int64_t)it->element, 0, &bytes) == BL_SIZE_PLANNED ? bytes : 0;
}

/* The count of a reduce-scatter's blocks, where they have one length. */
static int has_equal_counts(const bl_exchange *call, int size, MPI_Count *count)
{
    if (call->counts == NULL && call->large_counts == NULL) return 1;
    for (int rank = 0; rank < size; rank++) {
        const MPI_Count one = call->counts != NULL ? call->counts[rank] : call->large_counts[rank];
        if (rank > 0 && one != *count) return 0;
        *count = one;
    }
    return 1;
}

/* Whether the call can be planned; fills in its communicator's private side and the bytes. 0 also with *error set. */
static int is_planned(bl_exchange *call, MPI_Comm user, exchange *it, int *error)
{
    int rank, size, is_inter;
    if (bl_inside || user == MPI_COMM_NULL || bl_agreed_config()->mode == BL_MODE_OBSERVE) return 0;
    if (bl_mpi.Comm_test_inter(user, &is_inter) != MPI_SUCCESS || is_inter) return 0;
    if (bl_mpi.Comm_rank(user, &rank) != MPI_SUCCESS || bl_mpi.Comm_size(user, &size) != MPI_SUCCESS) return 0;
    if (call->root < 0 || call->root >= size) return 0;
    if (!has_equal_counts(call, size, &call->receive.count)) return 0;
    if (is_reduction(call->collective)) call->send.count = call->receive.count;
    it->bytes = block_bytes(call, rank, it);
    const int blocks = call->collective == BL_REDUCE || call->collective == BL_ALLREDUCE ? 1 : size;
    if (bl_size_of((int64_t)it->bytes, blocks, bl_agreed_config()->min_bytes, &it->all) != BL_SIZE_PLANNED) return 0;
    *error = bl_comm_fault(user);
    if (*error == MPI_SUCCESS) *error = bl_comm_of(user, &it->comm);
    if (*error != MPI_SUCCESS) return 0;
    return it->comm->session != NULL && it->all >= it->comm->exchange_threshold &&
           !are_refused(call, rank == call->root);
}

static int by_plan(const exchange *it, int *handled)
{
    switch (it->call->collective) {
    case BL_SCATTER: return scatter(it, handled);
    case BL_GATHER: return gather(it, handled);
    case BL_REDUCE:
    case BL_REDUCE_SCATTER:
    case BL_ALLREDUCE: return reduce(it, handled);
    default: return allgather(it, handled);
    }
}

static int move(const exchange *it, int *handled, bl_times **timed)
{
    const bl_exchange *call = it->call;
    bl_times *times = it->comm->times;
    if (times != NULL && bl_times_next_is_native(times, call->collective, it->all, call->root)) {
        *timed = times;
        return MPI_SUCCESS;
    }
    const double start_s = times != NULL ? bl_clock_s() : 0;
    const int error = by_plan(it, handled);
    if (times != NULL && *handled && error == MPI_SUCCESS)
        bl_times_planned(times, call->collective, it->all, call->root, bl_clock_s() - start_s, it->comm->session);
    return error;
}

int bl_exchange_run(const bl_exchange *given, MPI_Comm user, int *handled, bl_times **timed, uint64_t *bytes)
{
    bl_exchange call = *given;
    exchange it = {.call = &call};
    int error = MPI_SUCCESS;
    *handled = 0;
    *timed = NULL;
    if (is_planned(&call, user, &it, &error)) {
        bl_inside = 1;
        error = move(&it, handled, timed);
        bl_inside = 0;
        *bytes = it.all;
    }
    if (error == MPI_SUCCESS) return MPI_SUCCESS;
    /* The program's error handler may never return, so no Broadleaf operation is under way when it runs. */
    *handled = 1;
    bl_mpi.Comm_call_errhandler(user, error);
    return error;
}
