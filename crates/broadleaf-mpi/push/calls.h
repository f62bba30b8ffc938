/* The MPI functions that the push uses (program/library.h), under MPI names, so that a preloaded runtime plans the
 * broadcasts. */
#ifndef BROADLEAF_CALLS_H
#define BROADLEAF_CALLS_H

#define BL_PROGRAM "broadleaf-push"
#define BL_PREFIX "MPI_"
#define BL_SCOPE(library) RTLD_DEFAULT

#define BL_CALLS(X) \
    X(Abort) X(Bcast) X(Comm_rank) X(Comm_size) X(Comm_split) X(Finalize) X(Gather) X(Get_processor_name) X(Init_thread) \
    X(Iprobe) X(Recv) X(Send)

#define BL_HANDLES(X) X(ompi_mpi_comm_world) X(ompi_mpi_comm_null) X(ompi_mpi_byte)

#endif
