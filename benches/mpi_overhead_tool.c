/* The smallest PMPI tool. */
#include <mpi.h>

int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    return PMPI_Bcast(data, count, type, root, comm);
}
