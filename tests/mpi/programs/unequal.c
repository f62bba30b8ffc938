/* Gathers, all-gathers and reduce-scatters with a count for each rank, in turn; compares every int.
 *
 *   unequal ROUNDS */
#include "check.h"

#define COUNT 3000
#define MOST 8

/* Of a rank; the first has none. */
static int count_of(int rank) { return rank * COUNT; }

static int from[MOST * MOST * COUNT], to[MOST * MOST * COUNT];

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, all = 0, counts[MOST], starts[MOST];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    REQUIRE(argc == 2 && size <= MOST, "rounds, and at most %d ranks", MOST);
    for (int at = 0; at < size; at++) counts[at] = count_of(at), starts[at] = all, all += counts[at];
    for (int round = 0; round < atoi(argv[1]); round++) {
        for (int at = 0; at < count_of(rank); at++) from[at] = starts[rank] + at + round;
        memset(to, 0, sizeof to);
        MPI_Gatherv(from, count_of(rank), MPI_INT, to, counts, starts, MPI_INT, 0, MPI_COMM_WORLD);
        for (int at = 0; rank == 0 && at < all; at++) REQUIRE(to[at] == at + round, "gathered int %d is %d", at, to[at]);
        memset(to, 0, sizeof to);
        MPI_Allgatherv(from, count_of(rank), MPI_INT, to, counts, starts, MPI_INT, MPI_COMM_WORLD);
        for (int at = 0; at < all; at++) REQUIRE(to[at] == at + round, "int %d of all is %d", at, to[at]);
        for (int at = 0; at < all; at++) from[at] = at + rank;
        memset(to, 0, sizeof to);
        MPI_Reduce_scatter(from, to, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        for (int at = 0; at < count_of(rank); at++)
            REQUIRE(to[at] == size * (starts[rank] + at) + size * (size - 1) / 2, "sum %d is %d", at, to[at]);
    }
    if (rank == 0) printf("ok\n");
    MPI_Finalize();
    return 0;
}
