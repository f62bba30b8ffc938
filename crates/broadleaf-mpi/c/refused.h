/* Arguments that the MPI refuses. */
#ifndef BROADLEAF_REFUSED_H
#define BROADLEAF_REFUSED_H

#include <stdint.h>

#include "agreed.h"
#include "blocks.h"
#include "bound.h"
#include "engine.h"

/* Whether the handle alone shows that there is such a datatype: a predefined one of MPICH or of the standard ABI, or any
 * address but the null ones where handles are addresses, as in Open MPI and SMPI. */
static inline int bl_is_surely_type(MPI_Datatype type)
{
#if defined(OPEN_MPI) || defined(SMPI_H)
    return type != NULL && type != MPI_DATATYPE_NULL;
#elif defined(MPI_ABI_VERSION)
    return (uintptr_t)type > (uintptr_t)MPI_DATATYPE_NULL && (uintptr_t)type < 4096;
#else
    return ((unsigned)type & 0xfc000000u) == 0x4c000000u;
#endif
}

/* Whether the MPI knows the datatype. Where it does not, MPICH's calls about a datatype alone end the program, because they
 * belong to no communicator, whose error handler would be called. */
static inline int bl_is_type(MPI_Datatype type)
{
    static const char element; /* not read; with a count of 0 MPICH would not look at the type */
    return bl_is_surely_type(type) || !bl_messages_of_all.is_there ||
           bl_mpi.Send(&element, 1, type, MPI_PROC_NULL, 0, bl_messages_of_all.comm) == MPI_SUCCESS;
}

/* Likewise for an operation, by a reduction of no elements at its first use. */
int bl_is_op(MPI_Op op);
/* Whether the MPI refuses a buffer, count or datatype to send from or receive into, MPI_IN_PLACE among them. */
int bl_is_refused(const void *data, MPI_Count count, MPI_Datatype type);
/* Whether it refuses the buffers of a collective on this rank. */
int bl_are_refused(bl_collective collective, const bl_side *send, const bl_side *receive, int ranks, int is_root);
/* Whether it refuses one memory for both sides. */
int bl_is_one_refused(bl_collective collective, const bl_side *send, const bl_side *receive, int rank, int is_root);

#endif
