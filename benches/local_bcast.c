/* Times MPI_Bcast between the ranks of one machine, beside the MPI's own and the copies that neither can avoid.
 *
 *   local_bcast BYTES[,BYTES...] REPETITIONS
 *
 * prints for every repetition: the kind (bcast; native; or copy: every rank but the root copies the message out of
 * memory that all share), the bytes, and the barrier-to-barrier seconds. The three alternate in all orders equally,
 * so that the machine and its caches are in the same state for each. Every byte is compared once. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "own_bcast.h"

static int rank;
static broadcast *mpis;

static double since(double start)
{
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime() - start;
}

enum { BCAST, NATIVE, COPY, KINDS };
static const char *const names[KINDS] = {"bcast", "native", "copy"};

/* Runs one kind between two barriers; returns the seconds. */
static double run(int kind, unsigned char *message, const unsigned char *shared, size_t bytes)
{
    /* As in a program, the root has just written its message. */
    for (size_t at = 0; rank == 0 && at < bytes; at += 4096) message[at]++;
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    if (kind == BCAST)
        MPI_Bcast(message, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    else if (kind == NATIVE)
        mpis(message, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    else if (rank != 0)
        memcpy(message, shared, bytes);
    return since(start);
}

static void compare(unsigned char *message, size_t bytes)
{
    for (size_t at = 0; at < bytes; at++) message[at] = rank == 0 ? (unsigned char)(at * 31 + 7) : 0;
    MPI_Bcast(message, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    for (size_t at = 0; at < bytes; at++)
        if (message[at] != (unsigned char)(at * 31 + 7)) MPI_Abort(MPI_COMM_WORLD, 2);
}

/* Repetitions after which plans are made and memory has been touched. */
#define WARM_UP 20

static void measure(size_t bytes, int repetitions)
{
    MPI_Win window;
    MPI_Aint room;
    int unit;
    unsigned char *shared, *message = malloc(bytes);
    if (message == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Win_allocate_shared(rank == 0 ? (MPI_Aint)bytes : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &shared, &window);
    MPI_Win_shared_query(window, 0, &room, &unit, &shared);
    if (rank == 0) memset(shared, 1, bytes);
    compare(message, bytes);
    for (int turn = -WARM_UP; turn < repetitions; turn++) {
        static const int orders[6][KINDS] = {{BCAST, NATIVE, COPY}, {NATIVE, BCAST, COPY}, {COPY, BCAST, NATIVE},
                                             {COPY, NATIVE, BCAST}, {BCAST, COPY, NATIVE}, {NATIVE, COPY, BCAST}};
        for (int at = 0; at < KINDS; at++) {
            int kind = orders[(turn + WARM_UP) % 6][at];
            double seconds = run(kind, message, shared, bytes);
            if (rank == 0 && turn >= 0) printf("%s %zu %.9f\n", names[kind], bytes, seconds);
        }
    }
    MPI_Win_free(&window);
    free(message);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 3) MPI_Abort(MPI_COMM_WORLD, 2);
    mpis = own_bcast();
    for (char *list = argv[1]; *list != '\0';) {
        size_t bytes = strtoull(list, &list, 10);
        measure(bytes, atoi(argv[2]));
        if (*list == ',') list++;
    }
    MPI_Finalize();
    return 0;
}
