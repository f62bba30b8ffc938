/* The MPI operations that the Rust part asks for, on the messages of one communicator. */
#ifndef BROADLEAF_TRANSPORT_H
#define BROADLEAF_TRANSPORT_H

#include <stdint.h>

#include "bound.h"
#include "engine.h"

/* A request as the Rust part knows it. */
typedef struct {
    uint32_t number;
    int is_receive;
} bl_ticket;

/* State of one communicator's messages and collectives; `bl_mpi_ops` take it as their `comm`. */
typedef struct {
    MPI_Comm user;     /* for collectives, which run only while all of its ranks are in a call on it */
    MPI_Comm messages; /* the duplicate of MPI_COMM_WORLD */
    int rank, size;    /* in `user` */
    int first_tag;
    /* Ranks of `user` in MPI_COMM_WORLD; null where they are the same. */
    int *world_ranks;
    /* Messages may still be in flight after an error, so its tags must not be reused. */
    int is_abandoned;
    /* Requests under way, and the Rust part's record of each. */
    MPI_Request *requests;
    bl_ticket *tickets;
    uint32_t count, capacity;
    uint32_t fruitless_polls;
    /* Type, operation and element size of the reduction under way. */
    MPI_Datatype type;
    MPI_Op op;
    uint64_t element;
    /* Results of one PMPI_Testsome, of the same capacity. */
    int *indices;
    MPI_Status *statuses;
    bl_done *done;
} bl_transport;

extern const bl_ops bl_mpi_ops;
void bl_transport_free(bl_transport *transport);

#endif
