/* The blocks of a call, one for each rank: how long they are, and where the program has them. */
#ifndef BROADLEAF_BLOCKS_H
#define BROADLEAF_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

#include "bound.h"

/* An array with an entry for each rank, as the program gave it. */
typedef struct {
    const void *entries; /* ints, or MPI_Counts and MPI_Aints; null: there is none */
    int is_large;
} bl_by_rank;

static inline int64_t bl_of_rank(bl_by_rank array, int rank)
{
    return array.is_large ? ((const int64_t *)array.entries)[rank] : ((const int *)array.entries)[rank];
}

/* Buffer, count and datatype of one side of a call. */
typedef struct {
    void *data;
    MPI_Count count;
    MPI_Datatype type;
    /* Of a side with a block for each rank that gives them one by one; displacements in extents of the type. */
    bl_by_rank counts, displacements;
} bl_side;

/* How long they are when packed, which is the same on all ranks. */
typedef struct {
    int ranks;
    uint64_t largest, all;
    const uint64_t *sizes; /* by rank; null: all have `largest` bytes */
} bl_blocks;

static inline uint64_t bl_block_bytes(const bl_blocks *blocks, int rank)
{
    return blocks->sizes != NULL ? blocks->sizes[rank] : blocks->largest;
}

/* Where a block is when all are packed, one behind the other. */
uint64_t bl_block_start(const bl_blocks *blocks, int rank);

/* A side's packed bytes; 0 where it has none, or too many. */
uint64_t bl_side_bytes(const bl_side *side);
/* Elements of a block on a side with one for each rank, and where they are. */
bl_side bl_block_of(const bl_side *side, int rank);
/* Whether `one` is the rank's own block of `all`, as an MPI that refuses it finds it. */
int bl_is_own_block(const bl_side *one, const bl_side *all, int rank);
/* The lengths of blocks by counts of elements; 0 where there are no such blocks, or no bytes. `sizes` is filled, if it is
 * not null. */
int bl_measure_blocks(const bl_side *side, uint64_t element, uint64_t *sizes, bl_blocks *blocks);
/* Of given lengths, which may be equal. */
int bl_sum_blocks(const uint64_t *sizes, bl_blocks *blocks);

/* The memory of all blocks where that is their packed bytes already, else null. */
unsigned char *bl_blocks_in_place(const bl_side *side, const bl_blocks *blocks);
int bl_pack_blocks(const bl_side *side, const bl_blocks *blocks, unsigned char *packed);
int bl_unpack_blocks(const bl_side *side, const bl_blocks *blocks, const unsigned char *packed);

#endif
