/* One planned broadcast of the program's data. */
#ifndef BROADLEAF_BROADCAST_H
#define BROADLEAF_BROADCAST_H

#include <stdint.h>

#include "bound.h"
#include "engine.h"

/* The arguments of a broadcast, but for its communicator. */
typedef struct {
    void *data;
    MPI_Count count;
    MPI_Datatype type;
    int root;
} bl_call;

/* A call of `bytes` > 0 packed bytes. *handled = 0: the MPI's own call is to be made, and has been counted; *timed,
 * if set, takes the time of that call. */
int bl_broadcast(const bl_call *call, uint64_t bytes, MPI_Comm comm, int *handled, bl_times **timed);

/* Where Broadleaf is disabled, the record that takes the time of the MPI's own call of `bytes` > 0; null: it is not
 * timed. */
bl_times *bl_timed_while_disabled(const bl_call *call, MPI_Comm comm);

#endif
