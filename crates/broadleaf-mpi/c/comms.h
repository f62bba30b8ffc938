/* The private side of the program's communicators. */
#ifndef BROADLEAF_COMMS_H
#define BROADLEAF_COMMS_H

#include "bound.h"
#include "engine.h"
#include "passed.h"
#include "transport.h"

typedef struct bl_comm {
    bl_session *session; /* null: calls are passed through for `reason` */
    bl_times *times;     /* null: calls are not timed */
    bl_reason reason;
    uint64_t threshold; /* smaller messages go to the MPI's own broadcast */
    uint64_t exchange_threshold; /* the same for the bytes of all blocks of other collectives */
    int rank, size;
    bl_transport transport;
    int tags; /* the range of its messages */
    /* Of the call under way, by rank; null where only broadcasts are planned. */
    uint64_t *block_sizes;
} bl_comm;

int bl_comms_start(void);
void bl_comms_finish(void);
/* At BL_NO_COMM the program's error handler has been called, and the program's call returns *error. */
typedef enum { BL_NO_COMM = -1, BL_INTRACOMM = 0, BL_INTERCOMM = 1 } bl_comm_kind;
bl_comm_kind bl_kind_of_comm(MPI_Comm user, int *error);
/* Collective over a communicator's ranks at its first call. */
int bl_comm_of(MPI_Comm user, bl_comm **found);

#endif
