/* Arguments that the MPI refuses. */
#ifndef BROADLEAF_REFUSED_H
#define BROADLEAF_REFUSED_H

#include "blocks.h"
#include "bound.h"
#include "engine.h"

/* Whether the MPI refuses a buffer, count or datatype to send from or receive into, MPI_IN_PLACE among them. */
int bl_is_refused(const void *data, MPI_Count count, MPI_Datatype type);
/* Whether it refuses the buffers of a collective on this rank. */
int bl_are_refused(bl_collective collective, const bl_side *send, const bl_side *receive, int ranks, int is_root);
/* Whether it refuses one memory for both sides. */
int bl_is_one_refused(bl_collective collective, const bl_side *send, const bl_side *receive, int rank, int is_root);

#endif
