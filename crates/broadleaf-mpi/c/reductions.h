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

/* Whether elements of the type lie so that they can be cut apart between any two and sent as they are: not where more
 * than half of them is gaps. */
int bl_reduction_of(MPI_Datatype type, bl_reduction *reduction);
/* Whether they may be combined by the operation in any order. Else the MPI combines them, or refuses the operation: among
 * these are operations of the program's own that do not commute. Both answers are the same on all ranks, which MPI requires
 * to pass the same type and operation. */
int bl_may_combine(MPI_Datatype type, MPI_Op op);

#endif
