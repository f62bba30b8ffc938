/* The MPI that the probe or the push program runs with. The program is linked with none: it opens the library by
 * name, through the dynamic linker's search, so that one file fits every release and location of a kind of MPI. Its
 * own calls.h lists the calls, handles and names that it needs. */
#ifndef BROADLEAF_LIBRARY_H
#define BROADLEAF_LIBRARY_H

#include <mpi.h>

#include "calls.h"

/* Open MPI's handles are addresses of its variables. */
#ifdef OPEN_MPI
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) ((type)bl_mpi.global)
#else
#undef BL_HANDLES
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
