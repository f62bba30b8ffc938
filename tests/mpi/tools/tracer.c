/* A tracer: it times each call, and uses MPI itself: a separate communicator, broadcasts of its settings at the
 * start, and a reduction at the end. Rank 0 writes the calls of all ranks and the longest time. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { SETTINGS_BYTES = 300000 };

static MPI_Comm own;
static char settings[SETTINGS_BYTES];
static int calls;
static double longest_s;

static int begin(int error)
{
    int rank;
    PMPI_Comm_dup(MPI_COMM_WORLD, &own);
    PMPI_Comm_rank(own, &rank);
    if (rank == 0) memset(settings, 7, sizeof settings);
    PMPI_Bcast(settings, SETTINGS_BYTES, MPI_BYTE, 0, own);
    if (settings[0] != 7 || settings[SETTINGS_BYTES - 1] != 7) PMPI_Abort(own, 1);
    return error;
}

int MPI_Init(int *argc, char ***argv)
{
    return begin(PMPI_Init(argc, argv));
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    return begin(PMPI_Init_thread(argc, argv, required, provided));
}

int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    const double start_s = PMPI_Wtime();
    const int error = PMPI_Bcast(data, count, type, root, comm);
    const double took_s = PMPI_Wtime() - start_s;
    if (took_s > longest_s) longest_s = took_s;
    calls++;
    return error;
}

int MPI_Finalize(void)
{
    int rank, all;
    double all_s;
    PMPI_Comm_rank(own, &rank);
    PMPI_Reduce(&calls, &all, 1, MPI_INT, MPI_SUM, 0, own);
    PMPI_Reduce(&longest_s, &all_s, 1, MPI_DOUBLE, MPI_MAX, 0, own);
    if (rank == 0) fprintf(stderr, "tracer: %d calls, longest %.9f s\n", all, all_s);
    PMPI_Comm_free(&own);
    return PMPI_Finalize();
}
