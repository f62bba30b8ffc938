/* The MPI functions that the rehearsal uses (program/library.h), under MPI names, so that a preloaded runtime plans the
 * broadcasts. */
#ifndef BROADLEAF_CALLS_H
#define BROADLEAF_CALLS_H

#define BL_PROGRAM "broadleaf-rehearse"
#define BL_PREFIX "MPI_"
#define BL_SCOPE(library) RTLD_DEFAULT

#define BL_CALLS(X) X(Abort) X(Barrier) X(Bcast) X(Comm_rank) X(Finalize) X(Init) X(Reduce) X(Wtime)

#define BL_HANDLES(X) X(ompi_mpi_comm_world) X(ompi_mpi_byte) X(ompi_mpi_double) X(ompi_mpi_op_max)

#endif
