/* The MPI operations that the engine asks for, on one private communicator. Requests live here, because their
 * type differs between MPIs; the engine knows them by number.
 *
 * A communicator carries one collective at a time, so its state needs no lock. */
#include "runtime.h"

#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

/* Fruitless polls before the core is offered to others: ranks may outnumber cores, and MPICH's own waits then
 * burn the time slices of the ranks they wait for. */
#define POLLS_BEFORE_YIELD 32

/* No message has this tag. */
#define PROGRESS_TAG 0x3fff

/* Under SMPI a small send is done before it has begun, which tells nothing of when the NIC is free again. There a
 * synchronous send takes no longer, and is done when the data is there. */
#ifdef SMPI_H
#define BL_ISEND PMPI_Issend
#else
#define BL_ISEND PMPI_Isend
#endif

/* Bytes of one element of the types that stand for more bytes than a count can. */
#define BIG_ELEMENT (1 << 20)

/* `bytes` bytes as one count of one type; *made tells that the type must be freed. */
static int byte_type(uint64_t bytes, MPI_Datatype *type, int *count, int *made)
{
    *made = 0;
    *type = MPI_BYTE;
    *count = (int)bytes;
    if (bytes <= INT_MAX) return MPI_SUCCESS;
    MPI_Datatype element;
    int error = PMPI_Type_contiguous(BIG_ELEMENT, MPI_BYTE, &element);
    if (error != MPI_SUCCESS) return error;
    int lengths[2] = {(int)(bytes / BIG_ELEMENT), (int)(bytes % BIG_ELEMENT)};
    MPI_Aint offsets[2] = {0, (MPI_Aint)(bytes - bytes % BIG_ELEMENT)};
    MPI_Datatype types[2] = {element, MPI_BYTE};
    error = PMPI_Type_create_struct(2, lengths, offsets, types, type);
    if (error == MPI_SUCCESS) {
        *made = 1;
        *count = 1;
        error = PMPI_Type_commit(type);
        if (error != MPI_SUCCESS) PMPI_Type_free(type);
    }
    PMPI_Type_free(&element);
    return error;
}

static int grow(bl_comm *comm)
{
    uint32_t capacity = comm->capacity == 0 ? 64 : 2 * comm->capacity;
    void *requests = realloc(comm->requests, capacity * sizeof *comm->requests);
    if (requests != NULL) comm->requests = requests;
    void *tickets = realloc(comm->tickets, capacity * sizeof *comm->tickets);
    if (tickets != NULL) comm->tickets = tickets;
    void *indices = realloc(comm->indices, capacity * sizeof *comm->indices);
    if (indices != NULL) comm->indices = indices;
    void *statuses = realloc(comm->statuses, capacity * sizeof *comm->statuses);
    if (statuses != NULL) comm->statuses = statuses;
    void *done = realloc(comm->done, capacity * sizeof *comm->done);
    if (done != NULL) comm->done = done;
    if (!requests || !tickets || !indices || !statuses || !done) return MPI_ERR_NO_MEM;
    comm->capacity = capacity;
    return MPI_SUCCESS;
}

void bl_transport_free(bl_comm *comm)
{
    free(comm->requests);
    free(comm->tickets);
    free(comm->indices);
    free(comm->statuses);
    free(comm->done);
}

static void keep(bl_comm *comm, MPI_Request request, uint32_t number, int is_receive)
{
    comm->requests[comm->count] = request;
    comm->tickets[comm->count++] = (bl_ticket){number, is_receive};
}

static int isend(void *context, const void *data, uint64_t bytes, int peer, int tag, uint32_t number)
{
    bl_comm *comm = context;
    MPI_Request request;
    MPI_Datatype type;
    int count, made;
    int error = comm->count == comm->capacity ? grow(comm) : MPI_SUCCESS;
    if (error == MPI_SUCCESS) error = byte_type(bytes, &type, &count, &made);
    if (error != MPI_SUCCESS) return error;
    error = BL_ISEND(data, count, type, peer, tag, comm->private_comm, &request);
    if (error == MPI_SUCCESS) keep(comm, request, number, 0);
    if (made) PMPI_Type_free(&type);
    return error;
}

static int irecv(void *context, void *data, uint64_t bytes, int peer, int tag, uint32_t number)
{
    bl_comm *comm = context;
    MPI_Request request;
    MPI_Datatype type;
    int count, made;
    int error = comm->count == comm->capacity ? grow(comm) : MPI_SUCCESS;
    if (error == MPI_SUCCESS) error = byte_type(bytes, &type, &count, &made);
    if (error != MPI_SUCCESS) return error;
    if (peer == BL_ANY_RANK) peer = MPI_ANY_SOURCE;
    error = PMPI_Irecv(data, count, type, peer, tag, comm->private_comm, &request);
    if (error == MPI_SUCCESS) keep(comm, request, number, 1);
    if (made) PMPI_Type_free(&type);
    return error;
}

static int received_bytes(MPI_Status *status, uint64_t *bytes)
{
    int count;
    int error = PMPI_Get_count(status, MPI_BYTE, &count);
    *bytes = (uint64_t)count;
    if (error != MPI_SUCCESS || count != MPI_UNDEFINED) return error;
    /* More than an int counts. Not asked first, since SMPI does not have it. */
    MPI_Count large;
    error = PMPI_Get_elements_x(status, MPI_BYTE, &large);
    *bytes = (uint64_t)large;
    return error;
}

/* The status of a send holds nothing but its error. */
static int describe(bl_comm *comm, int at, int in_status, bl_done *done)
{
    MPI_Status *status = &comm->statuses[at];
    bl_ticket ticket = comm->tickets[comm->indices[at]];
    int error = MPI_SUCCESS;
    *done = (bl_done){.request = ticket.number, .source = -1};
    if (in_status) done->error = status->MPI_ERROR;
    if (ticket.is_receive && done->error == MPI_SUCCESS) {
        done->source = status->MPI_SOURCE;
        error = received_bytes(status, &done->bytes);
    }
    return error;
}

/* Closes the gaps that finished requests left. */
static void compact(bl_comm *comm)
{
    uint32_t kept = 0;
    for (uint32_t at = 0; at < comm->count; at++) {
        if (comm->requests[at] == MPI_REQUEST_NULL) continue;
        comm->requests[kept] = comm->requests[at];
        comm->tickets[kept++] = comm->tickets[at];
    }
    comm->count = kept;
}

static int some(bl_comm *comm, int *finished)
{
    int count = (int)comm->count;
#ifdef SMPI_H
    /* In simulated time there is nobody to yield to, and a poll of one request, which SMPI's PMPI_Waitsome makes
     * for each, costs more of it than most messages. */
    *finished = 1;
    int error = PMPI_Waitany(count, comm->requests, comm->indices, comm->statuses);
    if (error == MPI_SUCCESS && comm->indices[0] == MPI_UNDEFINED) *finished = MPI_UNDEFINED;
    return error;
#else
    return PMPI_Testsome(count, comm->requests, finished, comm->indices, comm->statuses);
#endif
}

static int wait_some(void *context, const bl_done **done, uint32_t *count, int patient)
{
    bl_comm *comm = context;
    int finished = 0, in_status = 0;
    for (unsigned polls = 0; finished == 0 && (patient || polls == 0); polls++) {
        int error = some(comm, &finished);
        if (error != MPI_SUCCESS) {
            int kind;
            if (PMPI_Error_class(error, &kind) != MPI_SUCCESS || kind != MPI_ERR_IN_STATUS) return error;
            in_status = 1;
        }
        /* No request at all would be a wait without end. */
        if (finished == MPI_UNDEFINED) return MPI_ERR_INTERN;
        if (finished == 0 && polls >= POLLS_BEFORE_YIELD) sched_yield();
    }
    *done = comm->done;
    *count = (uint32_t)finished;
    if (finished == 0) return MPI_SUCCESS;
    for (int at = 0; at < finished; at++) {
        int error = describe(comm, at, in_status, &comm->done[at]);
        if (error != MPI_SUCCESS) return error;
    }
    compact(comm);
    return MPI_SUCCESS;
}

static int withdraw(void *context, uint32_t number, int *has_come)
{
    bl_comm *comm = context;
    for (uint32_t at = 0; at < comm->count; at++) {
        if (comm->tickets[at].number != number) continue;
        MPI_Status status;
        int withdrawn = 0;
        int error = PMPI_Cancel(&comm->requests[at]);
        if (error == MPI_SUCCESS) error = PMPI_Wait(&comm->requests[at], &status);
        if (error == MPI_SUCCESS) error = PMPI_Test_cancelled(&status, &withdrawn);
        *has_come = !withdrawn;
        compact(comm);
        return error;
    }
    return MPI_ERR_INTERN;
}

#ifndef SMPI_H
/* Looking for a message that never comes: under every MPI that moves on what is under way. */
static int progress(void *context)
{
    bl_comm *comm = context;
    int found;
    return PMPI_Iprobe(comm->rank, PROGRESS_TAG, comm->private_comm, &found, MPI_STATUS_IGNORE);
}
#endif

static void abandon(void *context)
{
    bl_comm *comm = context;
    for (uint32_t at = 0; at < comm->count; at++) {
        /* Nothing can be done about an MPI that fails here as well. */
        (void)PMPI_Cancel(&comm->requests[at]);
        (void)PMPI_Request_free(&comm->requests[at]);
    }
    comm->count = 0;
}

static int gather(void *context, const void *mine, uint64_t bytes, void *all)
{
    bl_comm *comm = context;
    return PMPI_Gather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, 0, comm->private_comm);
}

static int share(void *context, void *data, uint64_t bytes, int root)
{
    bl_comm *comm = context;
    MPI_Datatype type;
    int count, made;
    int error = byte_type(bytes, &type, &count, &made);
    if (error != MPI_SUCCESS) return error;
    error = PMPI_Bcast(data, count, type, root, comm->private_comm);
    if (made) PMPI_Type_free(&type);
    return error;
}

#ifdef SMPI_H
static double wait_until(double seconds)
{
    double now = PMPI_Wtime();
    double left = seconds - now;
    if (left <= 0) return now;
    struct timespec span = {.tv_sec = (time_t)left, .tv_nsec = (long)((left - (double)(time_t)left) * 1e9)};
    (void)nanosleep(&span, NULL);
    return seconds;
}
#endif

const bl_ops bl_mpi_ops = {
    .gather = gather,
    .share = share,
    .isend = isend,
    .irecv = irecv,
    .wait_some = wait_some,
    .withdraw = withdraw,
#ifndef SMPI_H
    .progress = progress,
#else
    .wait_until = wait_until,
#endif
    .abandon = abandon,
};
