/* Times one broadcast after the other between the ranks of one machine.
 *
 *   adapt_overhead BYTES REPETITIONS WARM_UP_SECONDS
 *
 * Rank 0 prints the seconds of every repetition after the warm-up, from one barrier to the next. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    if (argc != 4) MPI_Abort(MPI_COMM_WORLD, 2);
    const int bytes = atoi(argv[1]), repetitions = atoi(argv[2]);
    const double warm_up_s = atof(argv[3]);
    int rank, cold = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *message = malloc((size_t)bytes);
    double *seconds = calloc((size_t)repetitions, sizeof *seconds);
    if (message == NULL || seconds == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
    memset(message, rank == 0, (size_t)bytes);
    const double begin = MPI_Wtime();
    while (cold) {
        MPI_Bcast(message, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
        cold = MPI_Wtime() - begin < warm_up_s;
        MPI_Bcast(&cold, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    for (int at = 0; at < repetitions; at++) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double start = MPI_Wtime();
        MPI_Bcast(message, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        seconds[at] = MPI_Wtime() - start;
    }
    for (int at = 0; rank == 0 && at < repetitions; at++) printf("%.9f\n", seconds[at]);
    free(seconds);
    free(message);
    MPI_Finalize();
    return 0;
}
