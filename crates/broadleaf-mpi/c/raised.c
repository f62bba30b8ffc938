/* A fatal handler's message names MPI_Comm_call_errhandler, which the program has not called. So one line comes before. */
#include "raised.h"

#include <stdio.h>
#include <string.h>

static int is_fatal(MPI_Comm comm)
{
    MPI_Errhandler handler;
    if (bl_mpi.Comm_get_errhandler(comm, &handler) != MPI_SUCCESS) return 0;
    const int is = handler == MPI_ERRORS_ARE_FATAL;
    bl_mpi.Errhandler_free(&handler);
    return is;
}

void bl_raise(MPI_Comm comm, int error, const char *call)
{
    char text[MPI_MAX_ERROR_STRING + 1] = {0};
    int rank, length;
    if (is_fatal(comm) && bl_mpi.Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS &&
        bl_mpi.Error_string(error, text, &length) == MPI_SUCCESS) {
        text[strcspn(text, "\n")] = '\0'; /* MPICH's may go on with its call stack */
        fprintf(stderr, "broadleaf: %s failed at rank %d of MPI_COMM_WORLD: %s\n", call, rank, text);
    }
    bl_mpi.Comm_call_errhandler(comm, error);
}
