/* The MPI that the probe runs with. The probe is linked with none: it opens the library by its name, as the linker of
 * the machine finds it, so that one file fits every release of a kind of MPI, wherever that lies. */
#ifndef BROADLEAF_LIBRARY_H
#define BROADLEAF_LIBRARY_H

#include <mpi.h>

#define BL_CALLS(X)                                                                                                  \
    X(Abort) X(Comm_dup) X(Comm_get_attr) X(Comm_rank) X(Comm_size) X(Finalize) X(Gather) X(Get_processor_name)      \
    X(Init) X(Irecv) X(Isend) X(Recv) X(Send) X(Sendrecv) X(Test) X(Waitall) X(Wtime)

/* Open MPI's handles are addresses of its variables. */
#ifdef OPEN_MPI
#define BL_HANDLES(X) X(ompi_mpi_comm_world) X(ompi_mpi_byte) X(ompi_mpi_double)
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) ((type)bl_mpi.global)
#else
#define BL_HANDLES(X)
#endif

typedef struct {
#define BL_CALL(name) __typeof__(PMPI_##name) *name;
#define BL_HANDLE(name) void *name;
    BL_CALLS(BL_CALL) BL_HANDLES(BL_HANDLE)
#undef BL_CALL
#undef BL_HANDLE
} bl_mpi_table;

extern bl_mpi_table bl_mpi;

/* Fills `bl_mpi`; 0 where there is no MPI of this kind, which has then been reported on standard error. */
int bl_open_mpi(void);

#endif
