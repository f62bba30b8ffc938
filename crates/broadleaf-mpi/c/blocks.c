/* A side either has `count` elements for every rank, one block behind the other, or counts and displacements by rank,
 * which may leave holes and come in any order. */
#include "blocks.h"


#include "contiguous.h"
#include "datatypes.h"
#include "message_size.h"

uint64_t bl_block_start(const bl_blocks *blocks, int rank)
{
    if (blocks->sizes == NULL) return (uint64_t)rank * blocks->largest;
    uint64_t start = 0;
    for (int before = 0; before < rank; before++) start += blocks->sizes[before];
    return start;
}

uint64_t bl_side_bytes(const bl_side *side)
{
    uint64_t bytes;
    if (side->count <= 0 || side->type == MPI_DATATYPE_NULL) return 0;
    return bl_packed_bytes(side->count, side->type, &bytes) == MPI_SUCCESS ? bytes : 0;
}

static MPI_Aint extent_of(MPI_Datatype type)
{
    MPI_Aint lower, extent;
    return bl_mpi.Type_get_extent(type, &lower, &extent) == MPI_SUCCESS ? extent : 0;
}

static bl_side block_of(const bl_side *side, int rank, MPI_Aint stride)
{
    bl_side block = {.data = side->data, .count = side->count, .type = side->type};
    if (side->counts.entries != NULL) block.count = (MPI_Count)bl_of_rank(side->counts, rank);
    MPI_Aint before = (MPI_Aint)rank * (MPI_Aint)side->count;
    if (side->displacements.entries != NULL) before = (MPI_Aint)bl_of_rank(side->displacements, rank);
    block.data = (void *)((uintptr_t)side->data + (uintptr_t)(before * stride));
    return block;
}

bl_side bl_block_of(const bl_side *side, int rank)
{
    return block_of(side, rank, extent_of(side->type));
}

/* MPICH counts displacements in sizes of the type here, and with a count for each rank it does not compare counts. */
int bl_is_own_block(const bl_side *one, const bl_side *all, int rank)
{
    MPI_Count size;
    if (one->type != all->type || one->type == MPI_DATATYPE_NULL || one->count <= 0) return 0;
    if (bl_mpi.Type_size_x(all->type, &size) != MPI_SUCCESS) return 0;
    const bl_side block = block_of(all, rank, (MPI_Aint)size);
    if (block.count == 0 || (all->counts.entries == NULL && block.count != one->count)) return 0;
    return one->data == block.data;
}

/* One more block; 0 where all together have more bytes than a message. */
static int add(bl_blocks *blocks, uint64_t bytes)
{
    if (bytes > INT64_MAX - blocks->all) return 0;
    blocks->all += bytes;
    if (bytes > blocks->largest) blocks->largest = bytes;
    return 1;
}

/* Once all are added. */
static int with_sizes(bl_blocks *blocks, const uint64_t *sizes)
{
    const uint64_t ranks = (uint64_t)blocks->ranks;
    const int are_equal = blocks->all % ranks == 0 && blocks->all / ranks == blocks->largest;
    blocks->sizes = are_equal ? NULL : sizes;
    return blocks->all > 0;
}

int bl_sum_blocks(const uint64_t *sizes, bl_blocks *blocks)
{
    *blocks = (bl_blocks){.ranks = blocks->ranks};
    for (int rank = 0; rank < blocks->ranks; rank++)
        if (!add(blocks, sizes[rank])) return 0;
    return with_sizes(blocks, sizes);
}

int bl_measure_blocks(const bl_side *side, uint64_t element, uint64_t *sizes, bl_blocks *blocks)
{
    *blocks = (bl_blocks){.ranks = blocks->ranks};
    if (side->counts.entries == NULL) return 0;
    for (int rank = 0; rank < blocks->ranks; rank++) {
        uint64_t bytes = 0;
        const int64_t count = bl_of_rank(side->counts, rank);
        if (bl_size_of(count, (int64_t)element, 0, &bytes) == BL_SIZE_IMPOSSIBLE || !add(blocks, bytes)) return 0;
        if (sizes != NULL) sizes[rank] = bytes;
    }
    return with_sizes(blocks, sizes);
}

static unsigned char *in_place(const void *data, MPI_Count count, MPI_Datatype type)
{
    MPI_Aint first;
    int is_in_place;
    if (bl_in_place(count, type, &first, &is_in_place) != MPI_SUCCESS || !is_in_place) return NULL;
    return (unsigned char *)((uintptr_t)data + (uintptr_t)first);
}

unsigned char *bl_blocks_in_place(const bl_side *side, const bl_blocks *blocks)
{
    if (side->counts.entries == NULL) return in_place(side->data, side->count * blocks->ranks, side->type);
    unsigned char *start = NULL;
    uint64_t before = 0;
    for (int rank = 0; rank < blocks->ranks; rank++) {
        const uint64_t bytes = bl_block_bytes(blocks, rank);
        const bl_side block = bl_block_of(side, rank);
        if (bytes == 0) continue;
        unsigned char *at = in_place(block.data, block.count, block.type);
        if (at == NULL || (start != NULL && at != start + before)) return NULL;
        if (start == NULL) start = at;
        before += bytes;
    }
    return start;
}

int bl_pack_blocks(const bl_side *side, const bl_blocks *blocks, unsigned char *packed)
{
    if (side->counts.entries == NULL)
        return bl_pack(side->data, side->count * blocks->ranks, side->type, packed, blocks->all);
    int error = MPI_SUCCESS;
    for (int rank = 0; error == MPI_SUCCESS && rank < blocks->ranks; rank++) {
        const uint64_t bytes = bl_block_bytes(blocks, rank);
        const bl_side block = bl_block_of(side, rank);
        if (bytes > 0) error = bl_pack(block.data, block.count, block.type, packed, bytes);
        packed += bytes;
    }
    return error;
}

int bl_unpack_blocks(const bl_side *side, const bl_blocks *blocks, const unsigned char *packed)
{
    if (side->counts.entries == NULL)
        return bl_unpack(packed, blocks->all, side->data, side->count * blocks->ranks, side->type);
    int error = MPI_SUCCESS;
    for (int rank = 0; error == MPI_SUCCESS && rank < blocks->ranks; rank++) {
        const uint64_t bytes = bl_block_bytes(blocks, rank);
        const bl_side block = bl_block_of(side, rank);
        if (bytes > 0) error = bl_unpack(packed, bytes, block.data, block.count, block.type);
        packed += bytes;
    }
    return error;
}
