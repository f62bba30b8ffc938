/* Gathers to which the root gives its own block where it is, which the standard forbids and some MPIs accept.
 *
 *   one_memory */
#include "check.h"

enum { COUNT = 4096, MOST = 8 };

static int all[MOST * COUNT];

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    REQUIRE(size <= MOST, "%d ranks", size);
    int *own = rank == 0 ? all : all + COUNT;
    for (int round = 1; round <= 3; round++) {
        for (int at = 0; at < COUNT; at++) own[at] = round * (rank * COUNT + at);
        MPI_Gather(own, COUNT, MPI_INT, all, COUNT, MPI_INT, 0, MPI_COMM_WORLD);
        for (int at = 0; rank == 0 && at < size * COUNT; at++)
            REQUIRE(all[at] == round * at, "round %d: element %d is %d", round, at, all[at]);
    }
    if (rank == 0) printf("ok\n");
    MPI_Finalize();
    return 0;
}
