/* The calls of broadleaf.h. Calls by name are planned whatever BROADLEAF_COLLECTIVES lists, except the broadcast,
 * which is MPI_Bcast. */
#include "../include/broadleaf.h"

#include "bound.h"
#include "collectives.h"
#include "interpose.h"
#include "passed.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int broadleaf_bcast(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm)
{
    return bl_bcast(buffer, count, datatype, root, comm);
}

/* Whether the call was planned; calls that a comparison leaves to the MPI are not timed here. */
static int run(const bl_exchange *call, MPI_Comm comm, int *error)
{
    int handled;
    bl_times *timed;
    uint64_t bytes;
    if (bl_listed == 0) return 0;
    *error = bl_exchange_run(call, comm, &handled, &timed, &bytes);
    return handled;
}

EXPORT int broadleaf_scatter(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                             MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    const bl_exchange call = {
        .collective = BL_SCATTER,
        .name = "broadleaf_scatter",
        .send = {(void *)sendbuf, sendcount, sendtype},
        .receive = {recvbuf, recvcount, recvtype},
        .root = root,
    };
    int error;
    if (run(&call, comm, &error)) return error;
    return bl_mpi.Scatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
}

EXPORT int broadleaf_allgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                               int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    const bl_exchange call = {
        .collective = BL_ALLGATHER,
        .name = "broadleaf_allgather",
        .send = {(void *)sendbuf, sendcount, sendtype},
        .receive = {recvbuf, recvcount, recvtype},
    };
    int error;
    if (run(&call, comm, &error)) return error;
    return bl_mpi.Allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}
