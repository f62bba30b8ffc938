/* A profiler as in the MPI standard: wraps MPI_ functions and calls PMPI_ ones. At the end rank 0 writes the number of
 * starts of MPI, of broadcasts, and of their bytes. */
#include <mpi.h>
#include <stdio.h>

static int starts, broadcasts;
static long long bytes;

int MPI_Init(int *argc, char ***argv)
{
    starts++;
    return PMPI_Init(argc, argv);
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    starts++;
    return PMPI_Init_thread(argc, argv, required, provided);
}

int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    int size;
    PMPI_Type_size(type, &size);
    broadcasts++;
    bytes += (long long)count * size;
    return PMPI_Bcast(data, count, type, root, comm);
}

int MPI_Finalize(void)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) fprintf(stderr, "counter: %d starts, %d broadcasts, %lld bytes\n", starts, broadcasts, bytes);
    return PMPI_Finalize();
}
