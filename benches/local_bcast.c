/* Times MPI_Bcast between the ranks of one machine, and the copies that it cannot do without.
 *
 *   local_bcast BYTES[,BYTES...] REPETITIONS
 *
 * prints for every repetition: the kind (bcast, or copy: every rank but the root copies the message out of memory
 * that all share), the bytes, and the seconds from one barrier to the next. Every byte is compared once. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank;

static double since(double start)
{
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime() - start;
}

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
    for (int turn = -2; turn < repetitions; turn++) {
        for (size_t at = 0; turn < 0 && at < bytes; at++) message[at] = rank == 0 ? (unsigned char)(at * 31 + 7) : 0;
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        MPI_Bcast(message, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
        double bcast = since(start);
        for (size_t at = 0; turn < 0 && at < bytes; at++)
            if (message[at] != (unsigned char)(at * 31 + 7)) MPI_Abort(MPI_COMM_WORLD, 2);
        MPI_Barrier(MPI_COMM_WORLD);
        start = MPI_Wtime();
        if (rank != 0) memcpy(message, shared, bytes);
        double copy = since(start);
        if (rank == 0)
            for (size_t at = 0; at < bytes; at += 4096) shared[at]++;
        if (rank == 0 && turn >= 0) printf("bcast %zu %.9f\ncopy %zu %.9f\n", bytes, bcast, bytes, copy);
    }
    MPI_Win_free(&window);
    free(message);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 3) MPI_Abort(MPI_COMM_WORLD, 2);
    for (char *list = argv[1]; *list != '\0';) {
        size_t bytes = strtoull(list, &list, 10);
        measure(bytes, atoi(argv[2]));
        if (*list == ',') list++;
    }
    MPI_Finalize();
    return 0;
}
