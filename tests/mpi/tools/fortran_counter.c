/* A tool for Fortran programs where the MPI's Fortran layer calls PMPI functions, as Open MPI's does: it wraps Fortran's
 * names, and calls those that begin with p. */
#include <mpi.h>
#include <stdio.h>

void pmpi_init_(MPI_Fint *error);
void pmpi_bcast_(void *data, MPI_Fint *count, MPI_Fint *type, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *error);
void pmpi_finalize_(MPI_Fint *error);
void mpi_init_(MPI_Fint *error);
void mpi_bcast_(void *data, MPI_Fint *count, MPI_Fint *type, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *error);
void mpi_finalize_(MPI_Fint *error);

static int starts, broadcasts;

void mpi_init_(MPI_Fint *error)
{
    starts++;
    pmpi_init_(error);
}

void mpi_bcast_(void *data, MPI_Fint *count, MPI_Fint *type, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *error)
{
    broadcasts++;
    pmpi_bcast_(data, count, type, root, comm, error);
}

void mpi_finalize_(MPI_Fint *error)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) fprintf(stderr, "fortran counter: %d starts, %d broadcasts\n", starts, broadcasts);
    pmpi_finalize_(error);
}
