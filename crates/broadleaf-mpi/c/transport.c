/* Requests live here, because their type differs between MPIs; the Rust part refers to them by number.
 *
 * A communicator carries one collective at a time, so its state needs no lock. */
#include "transport.h"

#include <limits.h>
#include <sched.h>
#include <stdlib.h>

#include "failures.h"
#include "simulated.h"

/* Fruitless polls before the rank yields its core: ranks may outnumber cores, and MPICH's own waits would then use up
 * the time slices of the ranks that they wait for. */
#define POLLS_BEFORE_YIELD 32

/* Fruitless polls between two looks for a failed process: a look takes 0.2 us, as long as a poll. */
#define POLLS_PER_LOOK 64

/* No message has this tag. */
#define PROGRESS_TAG 0x3fff

/* The length from which `benches/local.py --methods` is ahead of the MPI's own broadcast, with 2, 4 and 8 ranks on
 * two cores. */
#if defined(MPICH_VERSION)
#define BL_INTRANODE_FROM (64 << 10)
#else
#define BL_INTRANODE_FROM (512 << 10)
#endif

#if defined(MPI_ERR_PROC_FAILED)
#define BL_PROCESS_FAILED MPI_ERR_PROC_FAILED
#elif defined(MPIX_ERR_PROC_FAILED)
#define BL_PROCESS_FAILED MPIX_ERR_PROC_FAILED
#else
#define BL_PROCESS_FAILED MPI_ERR_OTHER
#endif

/* Bytes of one element of the types for lengths beyond an int count. */
#define BIG_ELEMENT (1 << 20)

/* `bytes` bytes as one count of one type; *made: the type must be freed. */
static int byte_type(uint64_t bytes, MPI_Datatype *type, int *count, int *made)
{
    *made = 0;
    *type = MPI_BYTE;
    *count = (int)bytes;
    if (bytes <= INT_MAX) return MPI_SUCCESS;
    MPI_Datatype element;
    int error = bl_mpi.Type_contiguous(BIG_ELEMENT, MPI_BYTE, &element);
    if (error != MPI_SUCCESS) return error;
    int lengths[2] = {(int)(bytes / BIG_ELEMENT), (int)(bytes % BIG_ELEMENT)};
    MPI_Aint offsets[2] = {0, (MPI_Aint)(bytes - bytes % BIG_ELEMENT)};
    MPI_Datatype types[2] = {element, MPI_BYTE};
    error = bl_mpi.Type_create_struct(2, lengths, offsets, types, type);
    if (error == MPI_SUCCESS) {
        *made = 1;
        *count = 1;
        error = bl_mpi.Type_commit(type);
        if (error != MPI_SUCCESS) bl_mpi.Type_free(type);
    }
    bl_mpi.Type_free(&element);
    return error;
}

/* Requests that a communicator has room for from its first message on, at 60 bytes each: a program may have thousands of
 * communicators, and inside a host none needs more. */
enum { FEW_REQUESTS = 8 };

static int grow(bl_transport *transport)
{
    uint32_t capacity = transport->capacity == 0 ? FEW_REQUESTS : 2 * transport->capacity;
    void *requests = bl_resize(transport->requests, capacity * sizeof *transport->requests);
    if (requests != NULL) transport->requests = requests;
    void *tickets = bl_resize(transport->tickets, capacity * sizeof *transport->tickets);
    if (tickets != NULL) transport->tickets = tickets;
    void *indices = bl_resize(transport->indices, capacity * sizeof *transport->indices);
    if (indices != NULL) transport->indices = indices;
    void *statuses = bl_resize(transport->statuses, capacity * sizeof *transport->statuses);
    if (statuses != NULL) transport->statuses = statuses;
    void *done = bl_resize(transport->done, capacity * sizeof *transport->done);
    if (done != NULL) transport->done = done;
    if (!requests || !tickets || !indices || !statuses || !done) return MPI_ERR_NO_MEM;
    transport->capacity = capacity;
    return MPI_SUCCESS;
}

void bl_transport_free(bl_transport *transport)
{
    bl_release(transport->world_ranks);
    bl_release(transport->requests);
    bl_release(transport->tickets);
    bl_release(transport->indices);
    bl_release(transport->statuses);
    bl_release(transport->done);
}

static int world_rank(const bl_transport *transport, int rank)
{
    if (rank == BL_ANY_RANK) return MPI_ANY_SOURCE;
    return transport->world_ranks != NULL ? transport->world_ranks[rank] : rank;
}

/* Called only for messages received from any rank; a call has few. */
static int rank_of(const bl_transport *transport, int world_rank)
{
    if (transport->world_ranks == NULL) return world_rank;
    int rank = 0;
    while (rank < transport->size && transport->world_ranks[rank] != world_rank) rank++;
    return rank;
}

static void keep(bl_transport *transport, MPI_Request request, uint32_t number, int is_receive)
{
    transport->requests[transport->count] = request;
    transport->tickets[transport->count++] = (bl_ticket){number, is_receive};
}

static int isend(void *context, const void *data, uint64_t bytes, int peer, int tag, uint32_t number)
{
    bl_transport *transport = context;
    MPI_Request request;
    MPI_Datatype type;
    int count, made;
    int error = transport->count == transport->capacity ? grow(transport) : MPI_SUCCESS;
    if (error == MPI_SUCCESS) error = byte_type(bytes, &type, &count, &made);
    if (error != MPI_SUCCESS) return error;
    error = bl_mpi.Isend(data, count, type, world_rank(transport, peer), transport->first_tag + tag, transport->messages,
                     &request);
    if (error == MPI_SUCCESS) keep(transport, request, number, 0);
    if (made) bl_mpi.Type_free(&type);
    return error;
}

static int irecv(void *context, void *data, uint64_t bytes, int peer, int tag, uint32_t number)
{
    bl_transport *transport = context;
    MPI_Request request;
    MPI_Datatype type;
    int count, made;
    int error = transport->count == transport->capacity ? grow(transport) : MPI_SUCCESS;
    if (error == MPI_SUCCESS) error = byte_type(bytes, &type, &count, &made);
    if (error != MPI_SUCCESS) return error;
    error = bl_mpi.Irecv(data, count, type, world_rank(transport, peer), transport->first_tag + tag,
                       transport->messages, &request);
    if (error == MPI_SUCCESS) keep(transport, request, number, 1);
    if (made) bl_mpi.Type_free(&type);
    return error;
}

static int received_bytes(MPI_Status *status, uint64_t *bytes)
{
    int count;
    int error = bl_mpi.Get_count(status, MPI_BYTE, &count);
    *bytes = (uint64_t)count;
    if (error != MPI_SUCCESS || count != MPI_UNDEFINED) return error;
    /* More than an int counts. Not the first choice, since SMPI lacks the call. */
    MPI_Count large;
    error = bl_mpi.Get_elements_x(status, MPI_BYTE, &large);
    *bytes = (uint64_t)large;
    return error;
}

/* Of a send's status only the error is defined. */
static int describe(bl_transport *transport, int at, int in_status, bl_done *done)
{
    MPI_Status *status = &transport->statuses[at];
    bl_ticket ticket = transport->tickets[transport->indices[at]];
    int error = MPI_SUCCESS;
    *done = (bl_done){.request = ticket.number, .source = -1};
    if (in_status) done->error = status->MPI_ERROR;
    if (ticket.is_receive && done->error == MPI_SUCCESS) {
        done->source = rank_of(transport, status->MPI_SOURCE);
        error = received_bytes(status, &done->bytes);
    }
    return error;
}

/* Closes the gaps that finished requests left. */
static void compact(bl_transport *transport)
{
    uint32_t kept = 0;
    for (uint32_t at = 0; at < transport->count; at++) {
        if (transport->requests[at] == MPI_REQUEST_NULL) continue;
        transport->requests[kept] = transport->requests[at];
        transport->tickets[kept++] = transport->tickets[at];
    }
    transport->count = kept;
}

/* Drops results of `bl_some` that only report a failed process: those receives are still under way. A failure in this
 * communicator is found by the next look. */
static void drop_warnings(bl_transport *transport, int *finished)
{
    int kept = 0;
    for (int at = 0; at < *finished; at++) {
        if (bl_acknowledge(transport->messages, transport->statuses[at].MPI_ERROR)) continue;
        transport->statuses[kept] = transport->statuses[at];
        transport->indices[kept++] = transport->indices[at];
    }
    *finished = kept;
}

static int wait_some(void *context, const bl_done **done, uint32_t *count, int patient)
{
    bl_transport *transport = context;
    int finished = 0, in_status = 0;
    for (unsigned polls = 0; finished == 0 && (patient || polls == 0); polls++) {
        int error = bl_some((int)transport->count, transport->requests, &finished, transport->indices, transport->statuses);
        if (error != MPI_SUCCESS) {
            int kind;
            if (bl_mpi.Error_class(error, &kind) != MPI_SUCCESS || kind != MPI_ERR_IN_STATUS) return error;
            in_status = 1;
            drop_warnings(transport, &finished);
        }
        /* Without any request the wait would never end. */
        if (finished == MPI_UNDEFINED) return MPI_ERR_INTERN;
        if (finished == 0 && polls >= POLLS_BEFORE_YIELD) sched_yield();
        /* Counted across calls: a leader that waits for its host's ranks polls once a call. */
        if (finished == 0 && transport->fruitless_polls++ % POLLS_PER_LOOK == POLLS_PER_LOOK - 1) {
            const int fault = bl_comm_fault(transport->user);
            if (fault != MPI_SUCCESS) return fault;
        }
    }
    *done = transport->done;
    *count = (uint32_t)finished;
    if (finished == 0) return MPI_SUCCESS;
    for (int at = 0; at < finished; at++) {
        int error = describe(transport, at, in_status, &transport->done[at]);
        if (error != MPI_SUCCESS) return error;
    }
    compact(transport);
    return MPI_SUCCESS;
}

static int withdraw(void *context, uint32_t number, int *has_come)
{
    bl_transport *transport = context;
    for (uint32_t at = 0; at < transport->count; at++) {
        if (transport->tickets[at].number != number) continue;
        MPI_Status status;
        int withdrawn = 0;
        int error = bl_mpi.Cancel(&transport->requests[at]);
        if (error == MPI_SUCCESS) error = bl_mpi.Wait(&transport->requests[at], &status);
        if (error == MPI_SUCCESS) error = bl_mpi.Test_cancelled(&status, &withdrawn);
        *has_come = !withdrawn;
        compact(transport);
        return error;
    }
    return MPI_ERR_INTERN;
}

/* Probing for a message that never comes drives the progress of every MPI. */
static int progress(void *context)
{
    bl_transport *transport = context;
    int found;
    const int fault = bl_comm_fault(transport->user);
    if (fault != MPI_SUCCESS) return fault;
    return bl_mpi.Iprobe(world_rank(transport, transport->rank), transport->first_tag + PROGRESS_TAG, transport->messages,
                       &found, MPI_STATUS_IGNORE);
}

static int combine(void *context, const void *came, void *into, uint64_t bytes)
{
    const bl_transport *transport = context;
    const uint64_t most = INT_MAX / transport->element * transport->element;
    int error = MPI_SUCCESS;
    for (uint64_t at = 0; error == MPI_SUCCESS && at < bytes; at += most) {
        const uint64_t now = bytes - at < most ? bytes - at : most;
        error = bl_mpi.Reduce_local((const char *)came + at, (char *)into + at, (int)(now / transport->element),
                                    transport->type, transport->op);
    }
    return error;
}

static void abandon(void *context)
{
    bl_transport *transport = context;
    for (uint32_t at = 0; at < transport->count; at++) {
        /* A failure here as well cannot be handled. */
        (void)bl_mpi.Cancel(&transport->requests[at]);
        (void)bl_mpi.Request_free(&transport->requests[at]);
    }
    transport->is_abandoned = 1;
    transport->count = 0;
}

static int gather(void *context, const void *mine, uint64_t bytes, void *all)
{
    bl_transport *transport = context;
    return bl_mpi.Gather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, 0, transport->user);
}

static int share(void *context, void *data, uint64_t bytes, int root)
{
    bl_transport *transport = context;
    MPI_Datatype type;
    int count, made;
    int error = byte_type(bytes, &type, &count, &made);
    if (error != MPI_SUCCESS) return error;
    error = bl_mpi.Bcast(data, count, type, root, transport->user);
    if (made) bl_mpi.Type_free(&type);
    return error;
}

const bl_ops bl_mpi_ops = {
    .gather = gather,
    .share = share,
    .isend = isend,
    .irecv = irecv,
    .wait_some = wait_some,
    .withdraw = withdraw,
    .progress = progress,
    .wait_until = bl_wait_until,
    .combine = combine,
    .abandon = abandon,
    .intranode_from = BL_INTRANODE_FROM,
    .process_failed = BL_PROCESS_FAILED,
};
