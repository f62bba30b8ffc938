/* The cost of the preloaded runtime to a broadcast that is passed through: in one run, blocks of MPI_Bcast, which is
 * intercepted, alternate with blocks of the MPI's own, which the program would call without the runtime.
 *
 *   mpi_overhead BYTES CALLS_A_BLOCK BLOCKS
 *
 * Rank 0 prints one line a block: the nanoseconds of one call of the MPI's own, then by MPI_Bcast. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "own_bcast.h"

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

static double block_ns(broadcast *call, char *bytes, int count, int calls)
{
    PMPI_Barrier(MPI_COMM_WORLD);
    const double start = now_ns();
    for (int at = 0; at < calls; at++) call(bytes, count, MPI_BYTE, 0, MPI_COMM_WORLD);
    return (now_ns() - start) / calls;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const int count = argc > 1 ? atoi(argv[1]) : 8;
    const int calls = argc > 2 ? atoi(argv[2]) : 1000;
    const int blocks = argc > 3 ? atoi(argv[3]) : 100;
    broadcast *const mpis = own_bcast();
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *bytes = calloc((size_t)count + 1, 1);
    if (bytes == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
    /* The first calls make connections. */
    block_ns(mpis, bytes, count, calls);
    block_ns(MPI_Bcast, bytes, count, calls);
    for (int block = 0; block < blocks; block++) {
        /* The two take turns in going first, so that neither profits from the other. */
        double own = 0, caught = 0;
        if (block % 2) own = block_ns(mpis, bytes, count, calls);
        caught = block_ns(MPI_Bcast, bytes, count, calls);
        if (!(block % 2)) own = block_ns(mpis, bytes, count, calls);
        if (rank == 0) printf("%.2f %.2f\n", own, caught);
    }
    free(bytes);
    MPI_Finalize();
    return 0;
}
