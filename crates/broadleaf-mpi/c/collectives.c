/* As with broadcasts, a decision depends only on values that all ranks of a communicator agree on: the collective,
 * the root, the packed bytes of the blocks, which MPI requires to be the same everywhere, the communicator and the
 * agreed settings. Only the root knows the blocks of a scatter or gather by counts, so it broadcasts their lengths
 * first. */
#include "collectives.h"

#include <stdlib.h>
#include <string.h>

#include "agreed.h"
#include "comms.h"
#include "datatypes.h"
#include "failures.h"
#include "message_size.h"
#include "passed.h"
#include "raised.h"
#include "reductions.h"
#include "refused.h"
#include "simulated.h"

/* A call on its way, as this rank sees it. */
typedef struct {
    const bl_exchange *call;
    bl_comm *comm;
    bl_blocks blocks; /* reductions have one, except the reduce-scatter */
    uint64_t element; /* bytes of an element; segments end between elements */
    bl_reduction reduction;
    /* The MPI refuses this rank's arguments. Where the root has broadcast the lengths of the blocks, this rank takes its
     * part for the others first, and then the MPI reports the error. */
    int is_refused;
} exchange;

/* Where the root of a gather gets blocks longer than it expects. MPICH waits for all of them together, and has no
 * better class. */
#ifdef OPEN_MPI
#define TOO_LONG MPI_ERR_TRUNCATE
#else
#define TOO_LONG MPI_ERR_IN_STATUS
#endif

/* `packed` may be null: this rank has no memory, or its contribution has the wrong length. */
static int run_lacking(const exchange *it, unsigned char *packed, int is_length_wrong, int *handled)
{
    const bl_exchange *call = it->call;
    bl_outcome outcome = bl_session_exchange(it->comm->session, call->collective, packed, is_length_wrong,
                                             it->blocks.largest, it->blocks.sizes, it->element, call->root);
    *handled = outcome.verdict != BL_OWN && outcome.verdict != BL_BAD_VALUE;
    if (*handled) bl_count_planned();
    switch (outcome.verdict) {
    case BL_DONE:
    case BL_BAD_VALUE:
    case BL_OWN: return MPI_SUCCESS;
    case BL_LENGTH: return call->collective == BL_GATHER ? TOO_LONG : MPI_ERR_TRUNCATE;
    case BL_NO_MEMORY: return MPI_ERR_NO_MEM;
    case BL_MPI: return outcome.mpi_error;
    default: return MPI_ERR_INTERN;
    }
}

static int run(const exchange *it, unsigned char *packed, int *handled)
{
    return run_lacking(it, packed, 0, handled);
}

static int unpack_own(const exchange *it, const unsigned char *packed)
{
    const bl_side *to = &it->call->receive;
    const uint64_t bytes = bl_block_bytes(&it->blocks, it->comm->rank);
    const uint64_t room = bl_side_bytes(to);
    if (room < bytes) return MPI_ERR_TRUNCATE;
    if (bytes == 0) return MPI_SUCCESS;
    /* MPIs let room for more stay as it is. */
    const uint64_t element = room / (uint64_t)to->count;
    if (bytes % element != 0) return MPI_ERR_TRUNCATE;
    return bl_unpack(packed + bl_block_start(&it->blocks, it->comm->rank), bytes, to->data, (MPI_Count)(bytes / element),
                     to->type);
}

static int scatter(const exchange *it, int *handled)
{
    const bl_side *from = &it->call->send;
    const int is_root = it->comm->rank == it->call->root;
    unsigned char *packed = is_root ? bl_blocks_in_place(from, &it->blocks) : NULL, *own = NULL;
    if (packed == NULL) {
        /* Only pages that forwarded blocks use are touched. */
        packed = own = malloc(it->blocks.all);
        if (is_root && own != NULL && bl_pack_blocks(from, &it->blocks, own) != MPI_SUCCESS) packed = NULL;
    }
    /* The other ranks depend on this one, even if it has no memory. */
    int error = run(it, packed, handled);
    if (error == MPI_SUCCESS && *handled && packed == NULL) error = MPI_ERR_NO_MEM;
    if (error == MPI_SUCCESS && *handled && !it->is_refused && it->call->receive.data != MPI_IN_PLACE)
        error = unpack_own(it, packed);
    free(own);
    return error;
}

/* Copies this rank's contribution to its block, unless it is there already. */
static int put_own(const exchange *it, unsigned char *packed, int is_beside)
{
    const int is_in_place = it->call->send.data == MPI_IN_PLACE;
    const uint64_t bytes = bl_block_bytes(&it->blocks, it->comm->rank);
    if (it->is_refused) return bytes > 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
    if (is_in_place && !is_beside) return MPI_SUCCESS;
    const bl_side from = is_in_place ? bl_block_of(&it->call->receive, it->comm->rank) : it->call->send;
    if (bl_side_bytes(&from) != bytes) return MPI_ERR_TRUNCATE;
    if (bytes == 0) return MPI_SUCCESS;
    return bl_pack(from.data, from.count, from.type, packed + bl_block_start(&it->blocks, it->comm->rank), bytes);
}

static int allgather(const exchange *it, int *handled)
{
    const bl_side *to = &it->call->receive;
    unsigned char *packed = bl_blocks_in_place(to, &it->blocks), *own = NULL;
    if (packed == NULL) packed = own = malloc(it->blocks.all);
    if (packed != NULL && put_own(it, packed, own != NULL) != MPI_SUCCESS) packed = NULL;
    /* Without this rank's block all ranks use the MPI's own. */
    int error = run(it, packed, handled);
    if (error == MPI_SUCCESS && *handled && own != NULL) error = bl_unpack_blocks(to, &it->blocks, packed);
    free(own);
    return error;
}

static int gather(const exchange *it, int *handled)
{
    const bl_side *to = &it->call->receive;
    const int is_root = it->comm->rank == it->call->root;
    unsigned char *packed = is_root ? bl_blocks_in_place(to, &it->blocks) : NULL, *own = NULL;
    if (packed == NULL) packed = own = malloc(it->blocks.all);
    int put = MPI_ERR_NO_MEM;
    if (packed != NULL) put = put_own(it, packed, own != NULL);
    const int is_length_wrong = put == MPI_ERR_TRUNCATE;
    int error = run_lacking(it, put == MPI_SUCCESS ? packed : NULL, is_length_wrong, handled);
    /* As in the MPI, a rank that sends too much does not learn it; the root does. */
    const int is_too_long = is_length_wrong && !is_root && !it->is_refused && bl_side_bytes(&it->call->send) > bl_block_bytes(&it->blocks, it->comm->rank);
    if (*handled && put != MPI_SUCCESS) error = is_too_long ? MPI_SUCCESS : put;
    if (error == MPI_SUCCESS && *handled && is_root && own != NULL) error = bl_unpack_blocks(to, &it->blocks, packed);
    free(own);
    return error;
}

/* Elements with their gaps, up to the end of the last one's data. */
static void copy_elements(unsigned char *to, const void *from, uint64_t bytes, const bl_reduction *reduction)
{
    memcpy(to, from, bytes - reduction->element + reduction->last);
}

/* Copies the result into the program's memory and leaves the gaps between elements unchanged. */
static int give(const exchange *it, const unsigned char *result, uint64_t bytes)
{
    const bl_side *to = &it->call->receive;
    if (bytes == 0) return MPI_SUCCESS;
    if (it->reduction.is_dense) {
        memcpy(to->data, result, bytes);
        return MPI_SUCCESS;
    }
    const bl_side elements = {.count = (MPI_Count)(bytes / it->element), .type = to->type};
    const uint64_t packed_bytes = bl_side_bytes(&elements);
    unsigned char *packed = malloc(packed_bytes);
    if (packed == NULL) return MPI_ERR_NO_MEM;
    int error = bl_pack(result, elements.count, to->type, packed, packed_bytes);
    if (error == MPI_SUCCESS) error = bl_unpack(packed, packed_bytes, to->data, elements.count, to->type);
    free(packed);
    return error;
}

/* Contributions are combined in the result buffer if this rank has one of full length without gaps, else in the
 * library's own memory. */
static int reduce(const exchange *it, int *handled)
{
    const bl_exchange *call = it->call;
    const bl_blocks *blocks = &it->blocks;
    const int is_scattered = call->collective == BL_REDUCE_SCATTER;
    const int has_result = call->collective != BL_REDUCE || it->comm->rank == call->root;
    const int is_there = has_result && !is_scattered && it->reduction.is_dense;
    const int block = is_scattered ? it->comm->rank : 0;
    const void *from = call->send.data == MPI_IN_PLACE ? call->receive.data : call->send.data;
    unsigned char *own = is_there ? NULL : malloc(blocks->all);
    unsigned char *all = is_there ? call->receive.data : own;
    if (all != NULL && all != from) copy_elements(all, from, blocks->all, &it->reduction);
    it->comm->transport.type = call->receive.type;
    it->comm->transport.op = call->op;
    it->comm->transport.element = it->element;
    int error = run(it, all, handled);
    if (error == MPI_SUCCESS && *handled && has_result && own != NULL)
        error = give(it, own + bl_block_start(blocks, block), bl_block_bytes(blocks, block));
    free(own);
    return error;
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

static int are_refused(const exchange *it, int is_root)
{
    const bl_exchange *call = it->call;
    return bl_are_refused(call->collective, &call->send, &call->receive, it->blocks.ranks, is_root);
}

static bl_size blocks_alike(uint64_t bytes, int count, bl_blocks *blocks)
{
    blocks->largest = bytes;
    blocks->sizes = NULL;
    return bl_size_of((int64_t)bytes, count, bl_agreed_config()->min_bytes, &blocks->all);
}

/* The packed bytes of an element where blocks are given by counts; 0 where there can be none. */
static uint64_t element_bytes(const exchange *it, const bl_side *side)
{
    MPI_Count size;
    if (bl_is_reduction(it->call->collective)) return it->element;
    if (!bl_is_type(side->type) || bl_mpi.Type_size_x(side->type, &size) != MPI_SUCCESS || size < 0) return 0;
    return (uint64_t)size;
}

/* The blocks, as far as this rank knows them by itself; whether they can be planned. */
static int measure(exchange *it, int is_root)
{
    const bl_exchange *call = it->call;
    const bl_side *side = measured_side(call, is_root);
    uint64_t bytes = 0;
    it->element = 1;
    if (bl_is_reduction(call->collective)) {
        if (!bl_reduction_of(call->receive.type, &it->reduction)) return 0;
        it->element = it->reduction.element;
    }
    if (call->has_counts) {
        const uint64_t element = element_bytes(it, side);
        uint64_t *sizes = it->comm != NULL ? it->comm->block_sizes : NULL;
        return element > 0 && bl_measure_blocks(side, element, sizes, &it->blocks) &&
               it->blocks.all >= bl_agreed_config()->min_bytes;
    }
    const int blocks = call->collective == BL_REDUCE || call->collective == BL_ALLREDUCE ? 1 : it->blocks.ranks;
    if (!bl_is_reduction(call->collective))
        bytes = bl_side_bytes(side);
    else if (side->count <= 0 || bl_size_of(side->count, (int64_t)it->element, 0, &bytes) != BL_SIZE_PLANNED)
        return 0;
    return blocks_alike(bytes, blocks, &it->blocks) == BL_SIZE_PLANNED;
}

/* In place of the first length, where the root has decided against a plan; no block has this length. */
#define NOT_PLANNED UINT64_MAX

/* In a scatter or gather by counts, all ranks learn the root's decision and the lengths of the blocks. */
static int agree_on_blocks(exchange *it, int is_root, int *is_planned)
{
    uint64_t *sizes = it->comm->block_sizes;
    if (is_root && (it->is_refused || !measure(it, 1) || it->blocks.all < it->comm->exchange_threshold))
        sizes[0] = NOT_PLANNED;
    const uint64_t bytes = (uint64_t)it->blocks.ranks * sizeof *sizes;
    const int error = bl_mpi_ops.share(&it->comm->transport, sizes, bytes, it->call->root);
    it->element = 1;
    *is_planned = error == MPI_SUCCESS && sizes[0] != NOT_PLANNED && bl_sum_blocks(sizes, &it->blocks);
    return error;
}

/* The elements in the buffers of a reduction by counts. */
static void count_elements(bl_exchange *call, const exchange *it, int rank)
{
    const MPI_Count all = (MPI_Count)(it->blocks.all / it->element);
    call->send.count = all;
    call->receive.count = call->send.data == MPI_IN_PLACE ? all : (MPI_Count)bl_of_rank(call->receive.counts, rank);
    call->receive.counts.entries = NULL;
}

/* What this rank finds out by itself: whether the call can be planned, and its blocks. It sends nothing, since the others
 * may not even call where this rank is wrong. */
static int is_planned_here(bl_exchange *call, exchange *it, int rank, int is_root)
{
    if (it->is_refused || !measure(it, is_root)) return 0;
    if (!bl_is_reduction(call->collective)) return 1;
    if (call->has_counts) {
        count_elements(call, it, rank);
        if (are_refused(it, is_root)) return 0;
    }
    return bl_may_combine(call->receive.type, call->op);
}

/* Whether the call can be planned; fills in its communicator's private side and the blocks. 0 also with *error set. */
static int is_planned(bl_exchange *call, MPI_Comm user, exchange *it, int *error)
{
    int rank, size, planned = 0;
    if (bl_mpi.Comm_rank(user, &rank) != MPI_SUCCESS || bl_mpi.Comm_size(user, &size) != MPI_SUCCESS) return 0;
    if (call->root < 0 || call->root >= size) return 0;
    const int is_root = rank == call->root;
    const bl_side counted = *measured_side(call, is_root);
    const int knows_root_alone = call->has_counts && (call->collective == BL_SCATTER || call->collective == BL_GATHER);
    it->blocks.ranks = size;
    /* In a reduction by counts, only `measure` shows how much this rank receives. */
    const int is_counted_later = call->has_counts && bl_is_reduction(call->collective);
    it->is_refused = !is_counted_later && are_refused(it, is_root);
    if (!it->is_refused && bl_is_one_refused(call->collective, &call->send, &call->receive, rank, is_root)) return 0;
    if (!knows_root_alone && !is_planned_here(call, it, rank, is_root)) return 0;
    *error = bl_comm_fault(user);
    if (*error == MPI_SUCCESS) *error = bl_comm_of(user, &it->comm);
    if (*error != MPI_SUCCESS || it->comm->session == NULL || it->comm->exchange_threshold == UINT64_MAX) return 0;
    if (call->has_counts && it->comm->block_sizes == NULL) return 0;
    if (knows_root_alone) {
        *error = agree_on_blocks(it, is_root, &planned);
        return planned;
    }
    /* Again, since only now there is a place for the lengths. */
    if (call->has_counts) bl_measure_blocks(&counted, element_bytes(it, &counted), it->comm->block_sizes, &it->blocks);
    return it->blocks.all >= it->comm->exchange_threshold;
}

static int run_planned(const exchange *it, int *handled)
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

static int by_plan(const exchange *it, int *handled)
{
    const int error = run_planned(it, handled);
    if (!it->is_refused) return error;
    if (error != MPI_SUCCESS) bl_keep_messages();
    *handled = 0;
    return MPI_SUCCESS;
}

static int move(const exchange *it, int *handled, bl_times **timed)
{
    const bl_exchange *call = it->call;
    bl_times *times = it->comm->times;
    if (times != NULL && bl_times_next_is_native(times, call->collective, it->blocks.all, call->root)) {
        *timed = times;
        return MPI_SUCCESS;
    }
    const double start_s = times != NULL ? bl_clock_s() : 0;
    const int error = by_plan(it, handled);
    if (times != NULL && *handled && error == MPI_SUCCESS)
        bl_times_planned(times, call->collective, it->blocks.all, call->root, bl_clock_s() - start_s, it->comm->session);
    return error;
}

int bl_exchange_run(const bl_exchange *given, MPI_Comm user, int *handled, bl_times **timed, uint64_t *bytes)
{
    bl_exchange call = *given;
    exchange it = {.call = &call};
    int error = MPI_SUCCESS;
    *handled = 0;
    *timed = NULL;
    if (bl_inside || user == MPI_COMM_NULL) return MPI_SUCCESS;
    const bl_comm_kind kind = bl_kind_of_comm(user, &error);
    if (kind != BL_INTRACOMM) {
        *handled = kind == BL_NO_COMM;
        return error;
    }
    if (is_planned(&call, user, &it, &error)) {
        bl_inside = 1;
        error = move(&it, handled, timed);
        bl_inside = 0;
        *bytes = it.blocks.all;
    }
    if (error == MPI_SUCCESS) return MPI_SUCCESS;
    bl_keep_messages();
    /* The program's error handler may never return, so no Broadleaf operation is under way when it runs. */
    *handled = 1;
    bl_raise(user, error, call.name);
    return error;
}
