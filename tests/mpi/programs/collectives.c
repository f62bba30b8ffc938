/* The calls of broadleaf.h beside the MPI's own: every size, root, type and in-place form gives the same bytes.
 *
 *     collectives LARGEST-BLOCK */
#include "check.h"

#include <broadleaf.h>

/* Every byte of all ranks' blocks, the same function of (message, rank, byte) everywhere. */
static void fill_block(unsigned char *block, int bytes, int message, int rank)
{
    fill(block, (uint64_t)bytes, (uint64_t)message * 1000 + (uint64_t)rank);
}

static void compare_block(const unsigned char *block, int bytes, int message, int rank)
{
    compare(block, (uint64_t)bytes, (uint64_t)message * 1000 + (uint64_t)rank);
}

static void scatters(int rank, int ranks, int bytes, int message, MPI_Comm comm)
{
    unsigned char *all = malloc((size_t)ranks * (size_t)bytes), *mine = malloc((size_t)bytes);
    int root = message % ranks;
    if (rank == root)
        for (int other = 0; other < ranks; other++) fill_block(all + (size_t)other * bytes, bytes, message, other);
    memset(mine, 0xee, (size_t)bytes);
    int in_place = rank == root && message % 2;
    int error = broadleaf_scatter(rank == root ? all : NULL, bytes, MPI_BYTE, in_place ? MPI_IN_PLACE : mine, bytes,
                                  MPI_BYTE, root, comm);
    REQUIRE(error == MPI_SUCCESS, "error %d", error);
    if (!in_place) compare_block(mine, bytes, message, rank);
    if (rank == root)
        for (int other = 0; other < ranks; other++)
            compare_block(all + (size_t)other * bytes, bytes, message, other);
    free(all);
    free(mine);
}

static void allgathers(int rank, int ranks, int bytes, int message, MPI_Comm comm)
{
    unsigned char *all = malloc((size_t)ranks * (size_t)bytes), *mine = malloc((size_t)bytes);
    memset(all, 0xee, (size_t)ranks * (size_t)bytes);
    int in_place = message % 2;
    fill_block(in_place ? all + (size_t)rank * bytes : mine, bytes, message, rank);
    int error = broadleaf_allgather(in_place ? MPI_IN_PLACE : mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, comm);
    REQUIRE(error == MPI_SUCCESS, "error %d", error);
    for (int other = 0; other < ranks; other++) compare_block(all + (size_t)other * bytes, bytes, message, other);
    free(all);
    free(mine);
}

/* Every second int: what is scattered in memory travels packed. */
static void strided(int rank, int ranks, int ints, MPI_Comm comm)
{
    MPI_Datatype every_second, one;
    MPI_Type_vector(ints, 1, 2, MPI_INT, &one);
    MPI_Type_create_resized(one, 0, 2 * ints * (MPI_Aint)sizeof(int), &every_second);
    MPI_Type_commit(&every_second);
    int *all = malloc((size_t)ranks * 2 * (size_t)ints * sizeof *all), *mine = malloc((size_t)ints * sizeof *mine);
    for (int at = 0; at < ranks * 2 * ints; at++) all[at] = -1;
    for (int at = 0; at < ints; at++) mine[at] = rank * ints + at;
    int error = broadleaf_allgather(mine, ints, MPI_INT, all, 1, every_second, comm);
    REQUIRE(error == MPI_SUCCESS, "error %d", error);
    for (int at = 0; at < ranks * ints; at++)
        REQUIRE(all[2 * at] == at && all[2 * at + 1] == -1, "int %d is %d beside %d", at, all[2 * at], all[2 * at + 1]);
    for (int at = 0; at < ints; at++) mine[at] = -1;
    error = broadleaf_scatter(all, 1, every_second, mine, ints, MPI_INT, ranks - 1, comm);
    REQUIRE(error == MPI_SUCCESS, "error %d", error);
    for (int at = 0; at < ints; at++) REQUIRE(mine[at] == rank * ints + at, "int %d is %d", at, mine[at]);
    error = broadleaf_allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, every_second, comm);
    REQUIRE(error == MPI_SUCCESS, "error %d", error);
    for (int at = 0; at < ranks * ints; at++) REQUIRE(all[2 * at] == at, "int %d is %d", at, all[2 * at]);
    MPI_Type_free(&one);
    MPI_Type_free(&every_second);
    free(all);
    free(mine);
}

static void broadcasts(int rank, int ranks, int bytes, int message, MPI_Comm comm)
{
    unsigned char *data = malloc((size_t)bytes);
    memset(data, 0xee, (size_t)bytes);
    if (rank == message % ranks) fill_block(data, bytes, message, 0);
    int error = broadleaf_bcast(data, bytes, MPI_BYTE, message % ranks, comm);
    REQUIRE(error == MPI_SUCCESS, "error %d", error);
    compare_block(data, bytes, message, 0);
    free(data);
}

/* Calls that Broadleaf does not plan go to the MPI's own, with its return codes. */
static void passed(int rank, int ranks)
{
    int one = rank, all[64];
    REQUIRE(broadleaf_allgather(&one, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD) == MPI_SUCCESS, "small");
    for (int other = 0; other < ranks; other++) REQUIRE(all[other] == other, "int %d is %d", other, all[other]);
    REQUIRE(broadleaf_scatter(all, 1, MPI_INT, &one, 1, MPI_INT, 0, MPI_COMM_WORLD) == MPI_SUCCESS, "small");
    REQUIRE(one == rank, "%d", one);
    REQUIRE(broadleaf_allgather(&one, 0, MPI_INT, all, 0, MPI_INT, MPI_COMM_WORLD) == MPI_SUCCESS, "nothing");
    REQUIRE(broadleaf_allgather(&one, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_SELF) == MPI_SUCCESS, "alone");
    REQUIRE(all[0] == rank, "%d", all[0]);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int kind;
    int error = broadleaf_scatter(all, 1, MPI_INT, &one, 1, MPI_INT, ranks, MPI_COMM_WORLD);
    MPI_Error_class(error, &kind);
    REQUIRE(kind == MPI_ERR_ROOT, "class %d", kind);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, ranks, largest = argc > 1 ? atoi(argv[1]) : 100000;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    uint64_t state = 5;
    for (int message = 0; message < 12; message++) {
        int bytes = 1 + (int)(draw(&state) % (uint64_t)(message % 3 ? largest : 5000));
        scatters(rank, ranks, bytes, message, MPI_COMM_WORLD);
        allgathers(rank, ranks, bytes, message, MPI_COMM_WORLD);
        broadcasts(rank, ranks, bytes, message, MPI_COMM_WORLD);
    }
    strided(rank, ranks, largest / 8 + 1, MPI_COMM_WORLD);
    /* Ranks in reverse, so that their order is not the nodes'. */
    MPI_Comm reversed;
    MPI_Comm_split(MPI_COMM_WORLD, 0, ranks - rank, &reversed);
    scatters(ranks - 1 - rank, ranks, largest, 3, reversed);
    allgathers(ranks - 1 - rank, ranks, largest, 4, reversed);
    MPI_Comm_free(&reversed);
    passed(rank, ranks);
    MPI_Finalize();
    if (rank == 0) printf("ok\n");
    return 0;
}
