/* Broadleaf's collectives, for programs that call them by name.
 *
 * Each has MPI's own signature, meaning and return codes, MPI_IN_PLACE included, and moves the data by a plan for the
 * network (BROADLEAF_PLATFORM and the other variables set how). Other calls go to the MPI's own collective: small
 * messages, intercommunicators, one rank, anything outside MPI_Init and MPI_Finalize.
 *
 * Link with libbroadleaf_mpi_<abi>.so, named before the MPI's own library (mpicc puts that last), or preload it.
 * MPI_Bcast itself is then planned as well, so broadleaf_bcast is that call under another name. */
#ifndef BROADLEAF_H
#define BROADLEAF_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

int broadleaf_bcast(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm);

int broadleaf_scatter(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                      MPI_Datatype recvtype, int root, MPI_Comm comm);

int broadleaf_allgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                        MPI_Datatype recvtype, MPI_Comm comm);

#ifdef __cplusplus
}
#endif

#endif
