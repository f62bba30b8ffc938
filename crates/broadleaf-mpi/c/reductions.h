/* Which reductions can be planned. */
#ifndef BROADLEAF_REDUCTIONS_H
#define BROADLEAF_REDUCTIONS_H

#include <stdint.h>

#include "bound.h"

/* How a reduction's elements lie in memory. */
typedef struct {
    uint64_t element; /* bytes from one to the next */
    uint64_t last;    /* bytes of one to the end of its data */
    int is_dense;     /* without gaps */
} bl_reduction;

/* Whether elements of the type may be combined in any order and cut apart between any two; the same on all ranks, which
 * MPI requires to pass the same type and operation. Else the MPI combines them, or refuses the operation: among these are
 * operations of the program's own that do not commute. */
int bl_reduction_of(MPI_Datatype type, MPI_Op op, bl_reduction *reduction);

#endif
