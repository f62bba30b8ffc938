/* The end of a trace: aligns the clocks of all ranks with rank 0's, and gathers their records. */
#include "trace.h"

#include <math.h>
#include <stdlib.h>

#include "agreed.h"
#include "bound.h"
#include "texts.h"
#include "transport.h"

/* Round trips per rank; the shortest gives the best estimate. */
enum { QUESTIONS = 10 };

/* How far another rank's clock is ahead of this one's, by asking it for the time. A difference below half of the
 * shortest round trip is not significant: the two count as one clock, as on one machine. */
static int ask(MPI_Comm comm, int other, double *ahead)
{
    double quickest = INFINITY;
    int error = MPI_SUCCESS;
    *ahead = 0;
    for (int question = 0; question < QUESTIONS && error == MPI_SUCCESS; question++) {
        double theirs, asked = bl_trace_clock_s();
        error = bl_mpi.Send(NULL, 0, MPI_BYTE, other, 0, comm);
        if (error == MPI_SUCCESS) error = bl_mpi.Recv(&theirs, 1, MPI_DOUBLE, other, 0, comm, MPI_STATUS_IGNORE);
        double trip = bl_trace_clock_s() - asked;
        if (error == MPI_SUCCESS && trip < quickest) {
            quickest = trip;
            *ahead = theirs - (asked + trip / 2);
        }
    }
    if (fabs(*ahead) <= quickest / 2) *ahead = 0;
    return error == MPI_SUCCESS ? bl_mpi.Send(ahead, 1, MPI_DOUBLE, other, 0, comm) : error;
}

static int answer(MPI_Comm comm, double *ahead)
{
    int error = MPI_SUCCESS;
    for (int question = 0; question < QUESTIONS && error == MPI_SUCCESS; question++) {
        error = bl_mpi.Recv(NULL, 0, MPI_BYTE, 0, 0, comm, MPI_STATUS_IGNORE);
        double mine = bl_trace_clock_s();
        if (error == MPI_SUCCESS) error = bl_mpi.Send(&mine, 1, MPI_DOUBLE, 0, 0, comm);
    }
    return error == MPI_SUCCESS ? bl_mpi.Recv(ahead, 1, MPI_DOUBLE, 0, 0, comm, MPI_STATUS_IGNORE) : error;
}

static int compare_clocks(int rank, int size, double *ahead)
{
    /* No broadcast is under way any more. With one rank there is no communicator, and no other clock. */
    const MPI_Comm comm = bl_messages();
    int error = MPI_SUCCESS;
    *ahead = 0;
    if (rank != 0) error = answer(comm, ahead);
    for (int other = 1; rank == 0 && other < size && error == MPI_SUCCESS; other++) {
        double theirs;
        error = ask(comm, other, &theirs);
    }
    return error;
}

int bl_trace_finish(int is_spawned)
{
    int rank, size, length;
    char host[MPI_MAX_PROCESSOR_NAME + 1] = {0};
    int error = bl_mpi.Comm_rank(MPI_COMM_WORLD, &rank);
    if (error == MPI_SUCCESS) error = bl_mpi.Comm_size(MPI_COMM_WORLD, &size);
    if (error == MPI_SUCCESS) error = bl_mpi.Get_processor_name(host, &length);
    double ahead = 0;
    if (error == MPI_SUCCESS) error = compare_clocks(rank, size, &ahead);
    if (error != MPI_SUCCESS) return error;
    uint64_t mine, bytes;
    const char *text = bl_trace_text(&bl_mpi_ops, rank, size, host, ahead, &mine);
    char *texts;
    error = bl_gather_texts(rank, size, text, mine, &texts, &bytes);
    if (error == MPI_SUCCESS && rank == 0) bl_trace_write(texts, bytes, is_spawned);
    free(texts);
    return error;
}
