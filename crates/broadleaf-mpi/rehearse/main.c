/* broadleaf-rehearse: times broadcasts from rank 0, for the interval of predictions. Started under mpiexec by
 * `broadleaf measure`, with the runtime preloaded, as
 *
 *     broadleaf-rehearse SECONDS UNTIMED TIMED BYTES...
 *
 * Each turn has all sizes, upwards or downwards and from another one on, since caches hold what the last one left. Rank 0
 * writes a line "BYTES SECONDS" for each timed broadcast: the longest time of any rank from the end of a barrier. UNTIMED
 * turns come first, while the runtime still plans. No turn begins after SECONDS. */
#include <stdio.h>
#include <stdlib.h>

#include "library.h"

static double broadcast_s(char *data, int bytes)
{
    double mine, last = 0;
    bl_mpi.Barrier(MPI_COMM_WORLD);
    double begin = bl_mpi.Wtime();
    bl_mpi.Bcast(data, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    mine = bl_mpi.Wtime() - begin;
    bl_mpi.Reduce(&mine, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return last;
}

int main(int argc, char **argv)
{
    if (!bl_open_mpi()) return 2;
    bl_mpi.Init(&argc, &argv);
    int rank;
    bl_mpi.Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc < 5 && rank == 0)
        fprintf(stderr, "broadleaf-rehearse: four arguments expected; start it with: broadleaf measure\n");
    long untimed = argc < 5 ? 0 : strtol(argv[2], NULL, 10), timed = argc < 5 ? 0 : strtol(argv[3], NULL, 10);
    int most = 0;
    for (int at = 4; at < argc; at++)
        if (atoi(argv[at]) > most) most = atoi(argv[at]);
    char *data = calloc((size_t)most + 1, 1);
    if (data == NULL) {
        fprintf(stderr, "broadleaf-rehearse: no memory for a message of %d bytes\n", most);
        bl_mpi.Abort(MPI_COMM_WORLD, 2);
    }
    double end = bl_mpi.Wtime() + (argc < 5 ? 0 : strtod(argv[1], NULL));
    for (long call = 0; call < untimed + timed; call++) {
        char is_over = rank == 0 && bl_mpi.Wtime() > end;
        bl_mpi.Bcast(&is_over, 1, MPI_BYTE, 0, MPI_COMM_WORLD);
        if (is_over) break;
        int sizes = argc - 4;
        for (int turn = 0; turn < sizes; turn++) {
            int at = (turn + (int)(call % sizes)) % sizes;
            const char *bytes = argv[4 + (call % 2 == 0 ? at : sizes - 1 - at)];
            double seconds = broadcast_s(data, atoi(bytes));
            if (rank == 0 && call >= untimed) printf("%s %.9f\n", bytes, seconds);
        }
    }
    free(data);
    bl_mpi.Finalize();
    return argc < 5 ? 2 : 0;
}
