/* A rank is killed between broadcasts, or revokes the communicator; the others record which error their MPI's fault
 * tolerance reports, and how soon, and go on with the survivors. (Open MPI: mpiexec --with-ft ulfm.)
 *
 *   survivors BYTES VICTIM killed|revokes */
#include "check.h"

#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif
#include <signal.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    REQUIRE(argc == 4, "bytes, a rank and its fate");
    const int length = atoi(argv[1]), victim = atoi(argv[2]), is_killed = strcmp(argv[3], "killed") == 0;
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    unsigned char *message = malloc((size_t)length);
    REQUIRE(message != NULL, "no memory");
    for (int round = 0; round < 4; round++) broadcast(message, length, round % size, MPI_COMM_WORLD, (uint64_t)round);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == victim && is_killed) raise(SIGKILL);
#ifdef OMPI_HAVE_MPI_EXT_FTMPI
    if (rank == victim) MPIX_Comm_revoke(MPI_COMM_WORLD);
#endif
    double start = MPI_Wtime();
    int error = MPI_SUCCESS, kind = MPI_SUCCESS;
    /* Roots take turns, so that every rank soon needs the dead one. */
    for (int round = 0; round < 2 * size && error == MPI_SUCCESS; round++)
        error = MPI_Bcast(message, length, MPI_BYTE, round % size, MPI_COMM_WORLD);
    double seconds = MPI_Wtime() - start;
    if (error != MPI_SUCCESS) MPI_Error_class(error, &kind);
    REQUIRE(error != MPI_SUCCESS, "nothing seen in %.2f s", seconds);
#ifdef OMPI_HAVE_MPI_EXT_FTMPI
    REQUIRE(kind == (is_killed ? MPI_ERR_PROC_FAILED : MPI_ERR_REVOKED), "class %d after %.2f s", kind, seconds);
    MPI_Comm left;
    REQUIRE(MPIX_Comm_shrink(MPI_COMM_WORLD, &left) == MPI_SUCCESS, "no communicator of those who are left");
    MPI_Comm_size(left, &size);
    for (int round = 0; round < 4; round++) broadcast(message, length, round % size, left, (uint64_t)round);
    printf("rank %d told after %.2f s\n", rank, seconds);
    fflush(stdout);
    /* No rank may end the job before all have reported. */
    MPI_Barrier(left);
#endif
    _exit(0);
}
