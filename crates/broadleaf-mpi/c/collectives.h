/* One planned collective call of the program, other than a broadcast. */
#ifndef BROADLEAF_COLLECTIVES_H
#define BROADLEAF_COLLECTIVES_H

#include "blocks.h"
#include "bound.h"
#include "engine.h"

/* The arguments, but for the communicator. */
typedef struct {
    bl_collective collective;
    const char *name; /* of the MPI's call */
    bl_side send, receive;
    int root;  /* 0 where the collective has none */
    MPI_Op op; /* of a reduction, whose sides have the same type; a reduce-scatter's count is that of a block */
    int has_counts; /* the blocks may differ; those of a scatter and a gather only the root knows */
} bl_exchange;

/* *handled = 0: the MPI's own call is to be made; *timed, if set, takes the time and the bytes of that call. The
 * communicator's error handler has been called. */
int bl_exchange_run(const bl_exchange *call, MPI_Comm comm, int *handled, bl_times **timed, uint64_t *bytes);

#endif
