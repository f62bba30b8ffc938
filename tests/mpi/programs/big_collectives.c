/* An all-gather and a scatter by large counts, where rank 1 has a long block; every 4099th byte is compared.
 *
 *     big_collectives BYTES */
#include "check.h"

#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
enum { STEP = 4099, MOST = 8 };

static unsigned char mark(int block, MPI_Count at)
{
    return expected((uint64_t)block + 1, (uint64_t)at);
}

static void put(unsigned char *to, int block, MPI_Count count)
{
    for (MPI_Count at = 0; at < count; at += STEP) to[at] = mark(block, at);
    to[count - 1] = mark(block, count - 1);
}

static void check_block(const unsigned char *from, int block, MPI_Count count, const char *what)
{
    for (MPI_Count at = 0; at < count; at += STEP)
        REQUIRE(from[at] == mark(block, at), "%s: byte %lld of block %d", what, (long long)at, block);
    REQUIRE(from[count - 1] == mark(block, count - 1), "%s: the last byte of block %d", what, block);
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    REQUIRE(argc == 2 && ranks <= MOST, "usage: big_collectives BYTES, with up to %d ranks", MOST);
    MPI_Count counts[MOST], all = 0;
    MPI_Aint starts[MOST];
    for (int other = 0; other < ranks; other++) {
        counts[other] = other == 1 ? (MPI_Count)strtoll(argv[1], NULL, 10) : 1000 + other;
        starts[other] = (MPI_Aint)all;
        all += counts[other];
    }
    unsigned char *blocks = malloc((size_t)all);
    REQUIRE(blocks != NULL, "no memory");
    put(blocks + starts[rank], rank, counts[rank]);
    int error = MPI_Allgatherv_c(MPI_IN_PLACE, 0, MPI_BYTE, blocks, counts, starts, MPI_BYTE, MPI_COMM_WORLD);
    REQUIRE(error == MPI_SUCCESS, "error %d", error);
    for (int other = 0; other < ranks; other++) check_block(blocks + starts[other], other, counts[other], "all-gather");
    /* The root has all blocks; the others' memory is where their own comes. */
    if (rank > 0) blocks[0] = blocks[counts[rank] - 1] = 0;
    error = MPI_Scatterv_c(blocks, counts, starts, MPI_BYTE, rank == 0 ? MPI_IN_PLACE : blocks, counts[rank], MPI_BYTE, 0,
                           MPI_COMM_WORLD);
    REQUIRE(error == MPI_SUCCESS, "error %d", error);
    if (rank > 0) check_block(blocks, rank, counts[rank], "scatter");
    if (rank == 0) printf("ok\n");
    MPI_Finalize();
    free(blocks);
    return 0;
}
#else
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    REQUIRE(0, "this MPI has no large counts");
}
#endif
