/* Times broadleaf_allgather from a common start and compares every byte. Builds with mpicc and with SimGrid's smpicc, and
 * with -DPLAIN without Broadleaf's runtime, for the MPI's own MPI_Allgather.
 *
 *     allgather BYTES [REPETITIONS]
 *
 * BYTES is each rank's contribution. Prints, for each repetition, the time until the last rank held everything:
 *
 *     allgather ranks=8 bytes=1048576 repetition=0 seconds=0.001234567 wrong_bytes=0 */
#define _GNU_SOURCE
#include "common_start.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef PLAIN
#define ALLGATHER MPI_Allgather
#else
#include <broadleaf.h>
#define ALLGATHER broadleaf_allgather
#endif

/* Ranks agree on a start this far ahead, more than the agreement takes on a slow network. */
#define START_AHEAD_S 0.5

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    long bytes = argc > 1 ? atol(argv[1]) : 0;
    int repetitions = argc > 2 ? atoi(argv[2]) : 1;
    if (bytes < 1 || bytes > INT_MAX || repetitions < 1) {
        fprintf(stderr, "usage: allgather BYTES [REPETITIONS], from 1 to %d bytes\n", INT_MAX);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    size_t each = (size_t)bytes, whole = each * (size_t)ranks;
    unsigned char *mine = malloc(each), *all = malloc(whole);
    if (!mine || !all) {
        fprintf(stderr, "allgather: no memory for %zu bytes\n", whole);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int repetition = 0; repetition < repetitions; repetition++) {
        for (size_t at = 0; at < each; at++)
            mine[at] = expected((size_t)rank * each + at, repetition);
        memset(all, 0xee, whole);
        double start = wait_for_common_start(START_AHEAD_S);
        ALLGATHER(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
        double taken = now_s() - start, last;
        long wrong = 0, all_wrong;
        for (size_t at = 0; at < whole; at++)
            wrong += all[at] != expected(at, repetition);
        MPI_Reduce(&taken, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        MPI_Reduce(&wrong, &all_wrong, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
        if (rank == 0) {
            printf("allgather ranks=%d bytes=%ld repetition=%d seconds=%.9f wrong_bytes=%ld\n", ranks, bytes, repetition,
                   last, all_wrong);
            fflush(stdout);
        }
    }
    free(mine);
    free(all);
    MPI_Finalize();
    return 0;
}
