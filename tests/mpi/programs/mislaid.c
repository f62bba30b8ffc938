/* Rank 0 renames a file or a folder in the middle of broadcasts; rank 1 is the first to need it after that.
 *
 *   mislaid FROM TO */
#include "check.h"

enum { BYTES = 300000, ROUNDS = 3 };

static unsigned char message[BYTES];

static void broadcasts(int root)
{
    static uint64_t number;
    for (int round = 0; round < ROUNDS; round++) broadcast(message, BYTES, root, MPI_COMM_WORLD, ++number);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    REQUIRE(argc == 3, "mislaid FROM TO");
    broadcasts(0);
    if (rank == 0) REQUIRE(rename(argv[1], argv[2]) == 0, "%s", argv[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    broadcasts(1);
    broadcasts(0);
    if (rank == 0) printf("ok\n");
    MPI_Finalize();
    return 0;
}
