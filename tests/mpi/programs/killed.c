/* A rank dies in the middle of broadcasts; the others wait for it until their launcher ends them.
 *
 *   killed ROUNDS */
#include "check.h"

#include <signal.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const int rounds = argc > 1 ? atoi(argv[1]) : 40, bytes = 3000000;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    unsigned char *message = calloc((size_t)bytes, 1);
    REQUIRE(message != NULL, "no memory");
    for (int round = 0; round < rounds; round++) {
        if (round == rounds / 2 && rank == 2) raise(SIGKILL);
        /* Roots take turns, so that the others soon need the dead rank. */
        MPI_Bcast(message, bytes, MPI_BYTE, round % 4, MPI_COMM_WORLD);
    }
    free(message);
    if (rank == 0) printf("ok\n");
    MPI_Finalize();
    return 0;
}
