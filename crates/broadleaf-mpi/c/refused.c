/* A send to MPI_PROC_NULL is the test: its arguments are checked, no data moves, and its error does not reach the
 * program's handler. */
#include "refused.h"

#include <stddef.h>

#include "agreed.h"

int bl_is_refused(const void *data, MPI_Count count, MPI_Datatype type)
{
    if (data == MPI_IN_PLACE) return 1;
#ifdef BROADLEAF_HAVE_BCAST_C
    if (bl_mpi.Send_c != NULL) return bl_mpi.Send_c(data, count, type, MPI_PROC_NULL, 0, bl_messages()) != MPI_SUCCESS;
#endif
    return bl_mpi.Send(data, (int)count, type, MPI_PROC_NULL, 0, bl_messages()) != MPI_SUCCESS;
}
