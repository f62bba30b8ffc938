/* The calls of broadleaf.h. A decision rests only on what all ranks of a communicator agree on: the packed bytes
 * of a block, which MPI requires to be the same everywhere, the communicator and the agreed settings. */
#include "../include/broadleaf.h"

#include <stdlib.h>

#include "agreed.h"
#include "comms.h"
#include "contiguous.h"
#include "datatypes.h"
#include "interpose.h"
#include "message_size.h"

#define EXPORT __attribute__((visibility("default")))

/* One collective on packed blocks. */
typedef struct {
    int is_scatter;
    int root;
    uint64_t bytes; /* of a block */
} call;

EXPORT int broadleaf_bcast(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm)
{
    return bl_bcast(buffer, count, datatype, root, comm);
}

/* The communicator's collectives, opened at the first call; null where the MPI's own serve it. */
static int open_on(MPI_Comm user, bl_comm **comm)
{
    int error = bl_comm_of(user, comm);
    if (error != MPI_SUCCESS || (*comm)->session == NULL || (*comm)->collectives != NULL) return error;
    char host[MPI_MAX_PROCESSOR_NAME + 1] = {0};
    int length;
    error = bl_mpi.Get_processor_name(host, &length);
    if (error != MPI_SUCCESS) return error;
    bl_outcome outcome;
    (*comm)->collectives = bl_collectives_open(&bl_mpi_ops, &(*comm)->transport, (*comm)->rank, (*comm)->size, host,
                                               bl_host_index(), &outcome);
    if (outcome.verdict == BL_DONE) return MPI_SUCCESS;
    return outcome.verdict == BL_MPI ? outcome.mpi_error : MPI_ERR_INTERN;
}

static int is_planning(void)
{
    return bl_threshold_bytes() != UINT64_MAX && bl_agreed_config()->mode != BL_MODE_OBSERVE;
}

/* The size of one block where the call can be ours, else 0. */
static uint64_t block_bytes(int count, MPI_Datatype type, MPI_Comm comm)
{
    uint64_t bytes, all;
    int size;
    if (count <= 0 || type == MPI_DATATYPE_NULL || comm == MPI_COMM_NULL) return 0;
    if (bl_packed_bytes(count, type, &bytes) != MPI_SUCCESS || bl_mpi.Comm_size(comm, &size) != MPI_SUCCESS) return 0;
    return bl_size_of((int64_t)bytes, size, bl_threshold_bytes(), &all) == BL_SIZE_PLANNED ? bytes : 0;
}

static int run(bl_comm *comm, call call, unsigned char *packed, int *handled)
{
    bl_outcome outcome = call.is_scatter
                             ? bl_collectives_scatter(comm->collectives, packed, call.bytes, call.root)
                             : bl_collectives_allgather(comm->collectives, packed, call.bytes);
    *handled = outcome.verdict != BL_OWN;
    if (*handled) bl_count_planned();
    switch (outcome.verdict) {
    case BL_DONE:
    case BL_OWN: return MPI_SUCCESS;
    case BL_MPI: return outcome.mpi_error;
    default: return MPI_ERR_INTERN;
    }
}

/* The program's memory where it holds the packed bytes as they are, else null. */
static void direct(const void *data, MPI_Count count, MPI_Datatype type, unsigned char **packed)
{
    MPI_Aint first;
    int in_place;
    int error = bl_in_place(count, type, &first, &in_place);
    *packed = NULL;
    if (error == MPI_SUCCESS && in_place) *packed = (unsigned char *)((uintptr_t)data + (uintptr_t)first);
}

static int scatter(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                   MPI_Datatype recvtype, call call, bl_comm *comm, int *handled)
{
    const int is_root = comm->rank == call.root;
    const uint64_t all = call.bytes * (uint64_t)comm->size;
    const MPI_Count sent = (MPI_Count)sendcount * comm->size;
    unsigned char *packed = NULL, *own = NULL;
    if (is_root) direct(sendbuf, sent, sendtype, &packed);
    if (packed == NULL) {
        /* What others' blocks pass through is touched, the rest of it never. */
        packed = own = malloc(all);
        if (is_root && own != NULL && bl_pack(sendbuf, sent, sendtype, own, all) != MPI_SUCCESS) packed = NULL;
    }
    /* The others count on this rank, also without memory. */
    int error = run(comm, call, packed, handled);
    if (error == MPI_SUCCESS && *handled && packed == NULL) error = MPI_ERR_NO_MEM;
    if (error == MPI_SUCCESS && *handled && recvbuf != MPI_IN_PLACE)
        error = bl_unpack(packed + (uint64_t)comm->rank * call.bytes, call.bytes, recvbuf, recvcount, recvtype);
    free(own);
    return error;
}

static int allgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                     MPI_Datatype recvtype, call call, bl_comm *comm, int *handled)
{
    const uint64_t all = call.bytes * (uint64_t)comm->size;
    const MPI_Count received = (MPI_Count)recvcount * comm->size;
    unsigned char *packed, *own = NULL;
    MPI_Aint lower, extent;
    int error = bl_mpi.Type_get_extent(recvtype, &lower, &extent);
    if (error != MPI_SUCCESS) return error;
    direct(recvbuf, received, recvtype, &packed);
    if (packed == NULL) packed = own = malloc(all);
    unsigned char *mine = packed == NULL ? NULL : packed + (uint64_t)comm->rank * call.bytes;
    if (mine != NULL && sendbuf != MPI_IN_PLACE)
        error = bl_pack(sendbuf, sendcount, sendtype, mine, call.bytes);
    else if (own != NULL) {
        const MPI_Aint before = (MPI_Aint)comm->rank * recvcount * extent;
        const void *theirs = (const void *)((uintptr_t)recvbuf + (uintptr_t)before);
        error = bl_pack(theirs, recvcount, recvtype, mine, call.bytes);
    }
    /* Without this rank's block all ranks use the MPI's own. */
    error = run(comm, call, error == MPI_SUCCESS ? packed : NULL, handled);
    if (error == MPI_SUCCESS && *handled && own != NULL) error = bl_unpack(packed, all, recvbuf, received, recvtype);
    free(own);
    return error;
}

/* The communicator's error handler may never return, so it comes last. */
static int finish(MPI_Comm comm, int error)
{
    if (error != MPI_SUCCESS) bl_mpi.Comm_call_errhandler(comm, error);
    return error;
}

EXPORT int broadleaf_scatter(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                             MPI_Datatype recvtype, int root, MPI_Comm user)
{
    int rank = -1, size = 0, handled = 0, error = MPI_SUCCESS, inter = 1;
    if (is_planning() && user != MPI_COMM_NULL && bl_mpi.Comm_test_inter(user, &inter) == MPI_SUCCESS && !inter) {
        bl_mpi.Comm_rank(user, &rank);
        bl_mpi.Comm_size(user, &size);
    }
    /* The root may receive in place, and then only its sending side says how large a block is. */
    const int by_sender = rank == root && recvbuf == MPI_IN_PLACE;
    const uint64_t bytes = inter || root < 0 || root >= size ? 0
                           : by_sender                       ? block_bytes(sendcount, sendtype, user)
                                                             : block_bytes(recvcount, recvtype, user);
    bl_comm *comm;
    if (bytes > 0) {
        error = open_on(user, &comm);
        if (error == MPI_SUCCESS && comm->collectives != NULL)
            error = scatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                            (call){.is_scatter = 1, .root = root, .bytes = bytes}, comm, &handled);
        if (handled || error != MPI_SUCCESS) return finish(user, error);
    }
    return bl_mpi.Scatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, user);
}

EXPORT int broadleaf_allgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                               int recvcount, MPI_Datatype recvtype, MPI_Comm user)
{
    int handled = 0, error = MPI_SUCCESS, inter = 1;
    const int asked = is_planning() && user != MPI_COMM_NULL && bl_mpi.Comm_test_inter(user, &inter) == MPI_SUCCESS;
    const uint64_t bytes = asked && !inter ? block_bytes(recvcount, recvtype, user) : 0;
    bl_comm *comm;
    if (bytes > 0) {
        error = open_on(user, &comm);
        if (error == MPI_SUCCESS && comm->collectives != NULL)
            error = allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, (call){.bytes = bytes}, comm,
                              &handled);
        if (handled || error != MPI_SUCCESS) return finish(user, error);
    }
    return bl_mpi.Allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, user);
}
