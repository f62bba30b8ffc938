/* Ranges of tags, taken by agreement. */
#include "tags.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

/* The most ranges: four times the communicators of MPICH. The agreement is on one bit per range. */
enum { MAX_RANGES = 8192, WORD_BITS = 64, MAX_WORDS = MAX_RANGES / WORD_BITS };

/* Attempts before a communicator gets no range; each fails only if another thread took the same range meanwhile. */
enum { ATTEMPTS = 64 };

static int range_count;
static int world_rank;
static _Atomic uint64_t taken[MAX_WORDS];
static _Atomic uint64_t drawn;

int bl_tags_start(void)
{
    int *highest, found;
    int error = bl_mpi.Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &highest, &found);
    if (error == MPI_SUCCESS) error = bl_mpi.Comm_rank(MPI_COMM_WORLD, &world_rank);
    if (error != MPI_SUCCESS) return error;
    const int64_t count = found ? ((int64_t)*highest + 1) / BL_TAGS : 1;
    range_count = count > MAX_RANGES ? MAX_RANGES : (int)count;
    return MPI_SUCCESS;
}

/* Where a search begins: other communicators that search at the same time begin elsewhere. */
static uint64_t draw(void)
{
    uint64_t z = ((uint64_t)world_rank << 32 | atomic_fetch_add(&drawn, 1)) * 0x9e3779b97f4a7c15u;
    return (z ^ z >> 32) % (uint64_t)range_count;
}

static int is_free(const uint64_t *free_ranges, int range)
{
    return free_ranges[range / WORD_BITS] >> range % WORD_BITS & 1;
}

static int try_to_take(int range)
{
    const uint64_t bit = (uint64_t)1 << range % WORD_BITS;
    return !(atomic_fetch_or(&taken[range / WORD_BITS], bit) & bit);
}

void bl_tags_give_back(int range)
{
    atomic_fetch_and(&taken[range / WORD_BITS], ~((uint64_t)1 << range % WORD_BITS));
}

/* The first range, from where rank 0 of the communicator begins, that is free on all ranks; or -1. */
static int propose(MPI_Comm user, int able, int rank, int *range)
{
    const int words = (range_count + WORD_BITS - 1) / WORD_BITS;
    uint64_t offered[1 + MAX_WORDS], common[1 + MAX_WORDS];
    offered[0] = rank == 0 ? draw() : UINT64_MAX;
    for (int word = 0; word < words; word++) offered[1 + word] = able ? ~atomic_load(&taken[word]) : 0;
    int error = bl_mpi.Allreduce(offered, common, 1 + words, MPI_UINT64_T, MPI_BAND, user);
    *range = -1;
    for (int at = 0; error == MPI_SUCCESS && at < range_count && *range < 0; at++) {
        const int candidate = (int)((common[0] + (uint64_t)at) % (uint64_t)range_count);
        if (is_free(common + 1, candidate)) *range = candidate;
    }
    return error;
}

/* Two threads of a rank may search for two communicators at once, in another order than on other ranks, so neither
 * search may block the other: a range is taken if it is still free on all ranks, else all of them try again. */
int bl_tags_take(MPI_Comm user, int able, int *range)
{
    int rank;
    *range = -1;
    int error = bl_mpi.Comm_rank(user, &rank);
    for (int attempt = 0; error == MPI_SUCCESS && attempt < ATTEMPTS; attempt++) {
        int candidate, everywhere;
        error = propose(user, able, rank, &candidate);
        if (error != MPI_SUCCESS || candidate < 0) return error;
        const int here = try_to_take(candidate);
        error = bl_mpi.Allreduce(&here, &everywhere, 1, MPI_INT, MPI_LAND, user);
        if (error == MPI_SUCCESS && everywhere) {
            *range = candidate;
            return MPI_SUCCESS;
        }
        if (here) bl_tags_give_back(candidate);
    }
    return error;
}
