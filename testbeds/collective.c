/* Times a collective from a common start and compares every byte of its result. Builds with mpicc and with SimGrid's
 * smpicc.
 *
 *     collective NAME BYTES [REPETITIONS]
 *
 * NAME is scatter, gather, allgather, reduce, reduce-scatter or allreduce; rank 0 is the root. BYTES is the length of a
 * rank's block, or of the vector of a reduction; a multiple of 4 where elements are added. Prints, for each repetition,
 * the time until the last rank was done:
 *
 *     scatter ranks=8 bytes=1048576 repetition=0 seconds=0.001234567 wrong_bytes=0 */
#define _GNU_SOURCE
#include "common_start.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ranks agree on a start this far ahead, more than the agreement takes on a slow network. */
#define START_AHEAD_S 0.5

typedef enum { SCATTER, GATHER, ALLGATHER, REDUCE, REDUCE_SCATTER, ALLREDUCE, NAMES } name;
static const char *const names[NAMES] = {"scatter", "gather", "allgather", "reduce", "reduce-scatter", "allreduce"};

static int rank, ranks;

static int combines(name it) { return it >= REDUCE; }

/* The blocks that this rank sends and receives: how many, and the first one's number. */
static size_t given(name it) { return it == SCATTER ? (size_t)(rank == 0 ? ranks : 0) : it == REDUCE_SCATTER ? (size_t)ranks : 1; }

static size_t got(name it)
{
    const size_t of_root = rank == 0;
    return it == GATHER ? of_root * (size_t)ranks : it == REDUCE ? of_root : it == ALLGATHER ? (size_t)ranks : 1;
}

static size_t first_given(name it) { return it == GATHER || it == ALLGATHER ? (size_t)rank : 0; }
static size_t first_got(name it) { return it == SCATTER || it == REDUCE_SCATTER ? (size_t)rank : 0; }

/* Word `at` of a rank's contribution, and of the sum of all contributions. */
static uint32_t word(size_t at, int repetition) { return expected(at, repetition) * UINT32_C(0x01010101); }
static uint32_t sum(size_t at, int repetition)
{
    return word(at, repetition) * (uint32_t)ranks + (uint32_t)ranks * ((uint32_t)ranks - 1) / 2;
}

static void fill(name it, void *from, size_t each, int repetition)
{
    const size_t start = first_given(it) * each, bytes = given(it) * each;
    if (combines(it))
        for (size_t at = 0; at < bytes / 4; at++)
            ((uint32_t *)from)[at] = word(start / 4 + at, repetition) + (uint32_t)rank;
    else
        for (size_t at = 0; at < bytes; at++)
            ((unsigned char *)from)[at] = expected(start + at, repetition);
}

static long wrong_bytes(name it, const void *to, size_t each, int repetition)
{
    const size_t start = first_got(it) * each, bytes = got(it) * each;
    long wrong = 0;
    if (combines(it))
        for (size_t at = 0; at < bytes / 4; at++)
            wrong += 4 * (((const uint32_t *)to)[at] != sum(start / 4 + at, repetition));
    else
        for (size_t at = 0; at < bytes; at++)
            wrong += ((const unsigned char *)to)[at] != expected(start + at, repetition);
    return wrong;
}

static void run(name it, void *from, void *to, size_t each)
{
    const int bytes = (int)each, words = (int)(each / 4);
    const MPI_Comm all = MPI_COMM_WORLD;
    switch (it) {
    case SCATTER: MPI_Scatter(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, 0, all); break;
    case GATHER: MPI_Gather(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, 0, all); break;
    case ALLGATHER: MPI_Allgather(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, all); break;
    case REDUCE: MPI_Reduce(from, to, words, MPI_UINT32_T, MPI_SUM, 0, all); break;
    case REDUCE_SCATTER: {
        /* SMPI simulates the algorithms of this one only in the form with counts. */
        int *counts = malloc((size_t)ranks * sizeof *counts);
        for (int at = 0; at < ranks; at++)
            counts[at] = words;
        MPI_Reduce_scatter(from, to, counts, MPI_UINT32_T, MPI_SUM, all);
        free(counts);
        break;
    }
    default: MPI_Allreduce(from, to, words, MPI_UINT32_T, MPI_SUM, all);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    name it = 0;
    while (it < NAMES && (argc < 2 || strcmp(argv[1], names[it])))
        it++;
    const long bytes = argc > 2 ? atol(argv[2]) : 0;
    const int repetitions = argc > 3 ? atoi(argv[3]) : 1;
    if (it == NAMES || bytes < 1 || bytes > INT_MAX || (combines(it) && bytes % 4) || repetitions < 1) {
        fprintf(stderr, "usage: collective NAME BYTES [REPETITIONS], from 1 to %d bytes\n", INT_MAX);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const size_t each = (size_t)bytes;
    /* Never null: some algorithms fail on null where a rank sends or receives nothing. */
    void *from = malloc(given(it) * each + 1), *to = malloc(got(it) * each + 1);
    if (!from || !to) {
        fprintf(stderr, "collective: no memory for %zu bytes\n", (given(it) + got(it)) * each);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int repetition = 0; repetition < repetitions; repetition++) {
        fill(it, from, each, repetition);
        memset(to, 0xee, got(it) * each);
        double start = wait_for_common_start(START_AHEAD_S);
        run(it, from, to, each);
        double taken = now_s() - start, last;
        long wrong = wrong_bytes(it, to, each, repetition), all_wrong;
        MPI_Reduce(&taken, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        MPI_Reduce(&wrong, &all_wrong, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
        if (rank == 0) {
            printf("%s ranks=%d bytes=%ld repetition=%d seconds=%.9f wrong_bytes=%ld\n", names[it], ranks, bytes,
                   repetition, last, all_wrong);
            fflush(stdout);
        }
    }
    free(from);
    free(to);
    MPI_Finalize();
    return 0;
}
