/* Clears its environment and leaves its folder between two broadcasts. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char message[1 << 20];

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Bcast(message, sizeof message, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (clearenv() != 0 || chdir("/") != 0) return 1;
    MPI_Bcast(message, sizeof message, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    if (rank == 0) puts("ok");
    return 0;
}
