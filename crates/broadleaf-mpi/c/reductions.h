/* Which reductions a plan may serve. */
#ifndef BROADLEAF_REDUCTIONS_H
#define BROADLEAF_REDUCTIONS_H

#include "bound.h"

/* Whether elements of the type may be combined in any order and cut apart between any two; the same on all ranks, which
 * MPI requires to pass the same type and operation. What is not known here, the MPI knows. */
int bl_is_reducible(MPI_Datatype type, MPI_Op op);

#endif
