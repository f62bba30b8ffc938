/* Times MPI_Bcast from a common start and compares every byte. Builds with mpicc and with SimGrid's smpicc.
 *
 *     bcast BYTES[,BYTES...] [REPETITIONS [ROOT [shared]]]
 *
 * prints, for each broadcast, the time until the last rank held the message:
 *
 *     bcast ranks=8 bytes=1048576 repetition=0 seconds=0.001234567 wrong_bytes=0
 *
 * "shared" (SMPI only) folds all ranks' buffers into one, so that large messages fit in memory; contents mean
 * nothing then, and wrong_bytes is -1. All ranks must read one clock: one machine, or simulated time. */
#define _GNU_SOURCE
#include "common_start.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ranks agree on a start this far ahead, more than the agreement takes on a slow network. */
#define START_AHEAD_S 0.5

static void broadcast(unsigned char *message, size_t bytes, int repetition, int root, int shared)
{
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!shared) {
        if (rank == root)
            for (size_t at = 0; at < bytes; at++)
                message[at] = expected(at, repetition);
        else
            memset(message, 0xee, bytes);
    }
    double start = wait_for_common_start(START_AHEAD_S);
    MPI_Bcast(message, (int)bytes, MPI_BYTE, root, MPI_COMM_WORLD);
    double mine = now_s() - start, last;
    long wrong = 0, all_wrong;
    for (size_t at = 0; !shared && at < bytes; at++)
        wrong += message[at] != expected(at, repetition);
    MPI_Reduce(&mine, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&wrong, &all_wrong, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("bcast ranks=%d bytes=%zu repetition=%d seconds=%.9f wrong_bytes=%ld\n", ranks, bytes, repetition,
               last, shared ? -1L : all_wrong);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int repetitions = argc > 2 ? atoi(argv[2]) : 1, root = argc > 3 ? atoi(argv[3]) : 0, shared = argc > 4;
    if (argc < 2 || repetitions < 1 || root < 0 || root >= ranks) {
        fprintf(stderr, "usage: bcast BYTES[,BYTES...] [REPETITIONS [ROOT below %d [shared]]]\n", ranks);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (char *list = argv[1], *end; *list; list = *end ? end + 1 : end) {
        unsigned long long bytes = strtoull(list, &end, 10);
        if (end == list || (*end && *end != ',') || bytes > INT_MAX) {
            fprintf(stderr, "bcast: \"%s\" is not a list of sizes up to %d\n", list, INT_MAX);
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
        unsigned char *message;
#ifdef SMPI_SHARED_MALLOC
        if (shared)
            message = SMPI_SHARED_MALLOC(bytes + 1);
        else
#endif
            message = malloc(bytes + 1);
        if (!message) {
            fprintf(stderr, "bcast: no memory for %llu bytes\n", bytes);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        for (int repetition = 0; repetition < repetitions; repetition++)
            broadcast(message, bytes, repetition, root, shared);
#ifdef SMPI_SHARED_FREE
        if (shared)
            SMPI_SHARED_FREE(message);
        else
#endif
            free(message);
    }
    MPI_Finalize();
    return 0;
}
