/* A rank is killed between broadcasts; the others find out what their MPI's fault tolerance tells of it, and how soon.
 * (Open MPI: mpiexec --with-ft ulfm.)
 *
 *   survivors BYTES VICTIM */
#include "check.h"

#include <signal.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    REQUIRE(argc == 3, "bytes and a rank");
    const int length = atoi(argv[1]), victim = atoi(argv[2]);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    unsigned char *message = malloc((size_t)length);
    REQUIRE(message != NULL, "no memory");
    for (int round = 0; round < 4; round++) broadcast(message, length, round % size, MPI_COMM_WORLD, (uint64_t)round);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == victim) raise(SIGKILL);
    double start = MPI_Wtime();
    int error = MPI_SUCCESS, kind = MPI_SUCCESS;
    /* Roots take turns, so that everybody soon needs the dead one. */
    for (int round = 0; round < 2 * size && error == MPI_SUCCESS; round++)
        error = MPI_Bcast(message, length, MPI_BYTE, round % size, MPI_COMM_WORLD);
    double seconds = MPI_Wtime() - start;
    if (error != MPI_SUCCESS) MPI_Error_class(error, &kind);
#ifdef MPI_ERR_PROC_FAILED
    if (kind == MPI_ERR_PROC_FAILED) printf("rank %d process-failed after %.2f s\n", rank, seconds);
#endif
    if (error == MPI_SUCCESS) printf("rank %d saw nothing in %.2f s\n", rank, seconds);
    fflush(stdout);
    /* Nobody may end the job before all have told. */
    sleep(3);
    _exit(0);
}
