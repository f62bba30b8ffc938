/* The MPI functions that the probe uses (program/library.h), under PMPI names to bypass tools. */
#ifndef BROADLEAF_CALLS_H
#define BROADLEAF_CALLS_H

#define BL_PROGRAM "broadleaf-probe"
#define BL_PREFIX "PMPI_"
#define BL_SCOPE(library) (library)

#define BL_CALLS(X)                                                                                                  \
    X(Abort) X(Comm_dup) X(Comm_get_attr) X(Comm_rank) X(Comm_size) X(Finalize) X(Gather) X(Get_processor_name)      \
    X(Init) X(Irecv) X(Isend) X(Recv) X(Send) X(Sendrecv) X(Test) X(Waitall) X(Wtime)

#define BL_HANDLES(X) X(ompi_mpi_comm_world) X(ompi_mpi_byte) X(ompi_mpi_double)

#endif
