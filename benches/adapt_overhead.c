/* Times consecutive broadcasts between the ranks of one machine.
 *
 *   adapt_overhead BYTES SECONDS WARM_UP_SECONDS
 *
 * Rank 0 prints the barrier-to-barrier seconds of every broadcast after the warm-up. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 17 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    if (argc != 4) MPI_Abort(MPI_COMM_WORLD, 2);
    const int bytes = atoi(argv[1]);
    const double measured_s = atof(argv[2]), warm_up_s = atof(argv[3]);
    int rank, count = 0, goes_on = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *message = malloc((size_t)bytes);
    double *seconds = calloc(MOST, sizeof *seconds);
    if (message == NULL || seconds == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
    memset(message, rank == 0, (size_t)bytes);
    const double begin = MPI_Wtime();
    while (goes_on) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double start = MPI_Wtime();
        MPI_Bcast(message, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        const double now = MPI_Wtime();
        if (start - begin >= warm_up_s) seconds[count++] = now - start;
        goes_on = now - begin < warm_up_s + measured_s && count < MOST;
        MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    for (int at = 0; rank == 0 && at < count; at++) printf("%.9f\n", seconds[at]);
    free(seconds);
    free(message);
    MPI_Finalize();
    return 0;
}
