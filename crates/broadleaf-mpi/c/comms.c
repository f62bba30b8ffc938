/* One is made when a communicator carries its first large broadcast, cached under a key that is not copied with the
 * communicator, and freed with it. The program cannot free MPI_COMM_WORLD; its private side is freed in
 * MPI_Finalize. */
#include "comms.h"

#include <stdio.h>
#include <string.h>

#include "agreed.h"
#include "tags.h"

static int keyval = MPI_KEYVAL_INVALID;

/* Shared by all communicators that are passed through for these reasons, so that they cost no memory. */
static bl_comm passed_through[BL_REASON_COUNT];

static int is_shared(const bl_comm *comm)
{
    return comm >= passed_through && comm < passed_through + BL_REASON_COUNT;
}

static void release(bl_comm *comm)
{
    bl_session_close(comm->session);
    bl_times_close(comm->times);
    if (comm->tags >= 0 && !comm->transport.is_abandoned) bl_tags_give_back(comm->tags);
    bl_transport_free(&comm->transport);
    bl_release(comm->block_sizes);
    bl_release(comm);
}

static int on_comm_free(MPI_Comm user, int key, void *value, void *extra)
{
    (void)user, (void)key, (void)extra;
    if (!is_shared(value)) release(value);
    return MPI_SUCCESS;
}

int bl_comms_start(void)
{
    for (int reason = 0; reason < BL_REASON_COUNT; reason++) passed_through[reason].reason = (bl_reason)reason;
    return bl_mpi.Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_comm_free, &keyval, NULL);
}

void bl_comms_finish(void)
{
    int found;
    void *value;
    if (keyval == MPI_KEYVAL_INVALID) return;
    if (bl_mpi.Comm_get_attr(MPI_COMM_WORLD, keyval, &value, &found) == MPI_SUCCESS && found)
        bl_mpi.Comm_delete_attr(MPI_COMM_WORLD, keyval);
    bl_mpi.Comm_free_keyval(&keyval);
}

/* Ranks are translated to MPI_COMM_WORLD in batches that fit on the stack. */
enum { AT_ONCE = 256 };

typedef struct {
    int spans_worlds; /* some of its processes are in another world */
    int is_same;      /* every rank is the same as in MPI_COMM_WORLD */
    uint64_t members; /* a hash of the ranks, the same on all of them */
} membership;

static int translate(MPI_Comm user, int size, int *world_ranks, membership *found)
{
    MPI_Group mine, world;
    *found = (membership){.is_same = 1, .members = 14695981039346656037u};
    int error = bl_mpi.Comm_group(user, &mine);
    if (error != MPI_SUCCESS) return error;
    error = bl_mpi.Comm_group(MPI_COMM_WORLD, &world);
    for (int first = 0; error == MPI_SUCCESS && first < size; first += AT_ONCE) {
        int ranks[AT_ONCE], theirs[AT_ONCE];
        const int count = size - first < AT_ONCE ? size - first : AT_ONCE;
        for (int at = 0; at < count; at++) ranks[at] = first + at;
        error = bl_mpi.Group_translate_ranks(mine, count, ranks, world, theirs);
        for (int at = 0; error == MPI_SUCCESS && at < count; at++) {
            found->spans_worlds |= theirs[at] == MPI_UNDEFINED;
            found->is_same &= theirs[at] == first + at;
            found->members = (found->members ^ (uint32_t)theirs[at]) * 1099511628211u;
            if (world_ranks != NULL) world_ranks[first + at] = theirs[at];
        }
    }
    if (error == MPI_SUCCESS) error = bl_mpi.Group_free(&world);
    bl_mpi.Group_free(&mine);
    return error;
}

/* Memory for the private side, or null. */
static bl_comm *allocate(int size, int is_same)
{
    bl_comm *comm = bl_resize(NULL, sizeof *comm);
    if (comm == NULL) return NULL;
    memset(comm, 0, sizeof *comm);
    const int has_blocks = bl_is_any_listed_but(BL_BCAST);
    if (has_blocks) comm->block_sizes = bl_resize(NULL, (size_t)size * sizeof *comm->block_sizes);
    if (!is_same) comm->transport.world_ranks = bl_resize(NULL, (size_t)size * sizeof *comm->transport.world_ranks);
    if ((!has_blocks || comm->block_sizes != NULL) && (is_same || comm->transport.world_ranks != NULL)) return comm;
    bl_release(comm->transport.world_ranks);
    bl_release(comm->block_sizes);
    bl_release(comm);
    return NULL;
}

/* Calls are timed in every mode except plain planning. */
static int open_times(MPI_Comm user, uint64_t members, bl_comm *comm)
{
    char name[MPI_MAX_OBJECT_NAME + 1] = {0};
    int length;
    if (!bl_agreed_config()->disabled && bl_agreed_config()->mode == BL_MODE_PLAN) return MPI_SUCCESS;
    const int error = bl_mpi.Comm_get_name(user, name, &length);
    if (error != MPI_SUCCESS) return error;
    comm->times = bl_times_open(members, name, comm->rank, comm->size, comm->session, bl_agreed_config());
    return comm->times != NULL ? MPI_SUCCESS : MPI_ERR_INTERN;
}

static int open_session(MPI_Comm user, bl_comm *comm)
{
    char host[MPI_MAX_PROCESSOR_NAME + 1] = {0}, name[MPI_MAX_OBJECT_NAME + 1] = {0};
    int length;
    int error = bl_mpi.Get_processor_name(host, &length);
    if (error == MPI_SUCCESS) error = bl_mpi.Comm_get_name(user, name, &length);
    if (error != MPI_SUCCESS) return error;
    bl_outcome outcome;
    comm->session = bl_session_open(&bl_mpi_ops, &comm->transport, name, comm->rank, comm->size, host,
                                    bl_host_index(), bl_agreed_config(), &outcome);
    if (outcome.verdict == BL_DONE) {
        comm->threshold = bl_session_threshold(comm->session);
        comm->exchange_threshold = bl_session_exchange_threshold(comm->session);
        return MPI_SUCCESS;
    }
    return outcome.verdict == BL_MPI ? outcome.mpi_error : MPI_ERR_INTERN;
}

static void report_no_tags(int rank)
{
    static _Atomic int is_reported;
    if (rank != 0 || is_reported++) return;
    fprintf(stderr, "broadleaf: no tags left for another communicator, or no memory for it; the MPI's own broadcast "
                    "is used there; free communicators that are no longer needed\n");
}

/* Communicators of several processes of one world. A rank without memory takes part in the agreement, so that all of
 * them pass the communicator's calls through. */
static int make_private(MPI_Comm user, int size, const membership *members, bl_comm **made)
{
    int rank, tags;
    membership found;
    bl_comm *comm = allocate(size, members->is_same);
    int error = bl_mpi.Comm_rank(user, &rank);
    if (error == MPI_SUCCESS && comm != NULL && !members->is_same)
        error = translate(user, size, comm->transport.world_ranks, &found);
    if (error == MPI_SUCCESS) error = bl_tags_take(user, comm != NULL, &tags);
    if (error == MPI_SUCCESS && tags < 0) {
        report_no_tags(rank);
        *made = &passed_through[BL_PASSED_NO_TAGS];
    }
    if (error != MPI_SUCCESS || tags < 0) {
        if (comm != NULL) bl_transport_free(&comm->transport);
        if (comm != NULL) bl_release(comm->block_sizes);
        bl_release(comm);
        return error;
    }
    comm->rank = comm->transport.rank = rank;
    comm->size = comm->transport.size = size;
    comm->tags = tags;
    comm->transport.first_tag = tags * BL_TAGS;
    comm->transport.user = user;
    comm->transport.messages = bl_messages();
    error = open_session(user, comm);
    if (error == MPI_SUCCESS) error = open_times(user, members->members, comm);
    if (error == MPI_SUCCESS)
        *made = comm;
    else
        release(comm);
    return error;
}

/* Where nothing is planned, each rank keeps the times of its own calls, without communication. */
static int make_timed(MPI_Comm user, int size, uint64_t members, bl_comm **made)
{
    int rank;
    int error = bl_mpi.Comm_rank(user, &rank);
    bl_comm *comm = allocate(size, 1);
    if (error == MPI_SUCCESS && comm != NULL) {
        comm->reason = BL_PASSED_DISABLED;
        comm->rank = rank;
        comm->size = size;
        comm->tags = -1;
        error = open_times(user, members, comm);
    }
    if (error == MPI_SUCCESS)
        *made = comm != NULL ? comm : &passed_through[BL_PASSED_DISABLED];
    else if (comm != NULL)
        release(comm);
    return error;
}

/* Settings are agreed inside one world. Every member of a communicator over several worlds finds a process of another
 * world in it, so all of them pass its calls through. */
static int make(MPI_Comm user, bl_comm **made)
{
    int inter, size;
    membership found;
    int error = bl_mpi.Comm_test_inter(user, &inter);
    if (error == MPI_SUCCESS) error = bl_mpi.Comm_size(user, &size);
    if (error != MPI_SUCCESS) return error;
    *made = &passed_through[inter ? BL_PASSED_INTERCOMM : BL_PASSED_ONE_RANK];
    if (inter || size == 1) return MPI_SUCCESS;
    error = translate(user, size, NULL, &found);
    if (error != MPI_SUCCESS) return error;
    *made = &passed_through[BL_PASSED_SEVERAL_WORLDS];
    if (found.spans_worlds) return MPI_SUCCESS;
    if (bl_agreed_config()->disabled) return make_timed(user, size, found.members, made);
    return make_private(user, size, &found, made);
}

/* MPICH returns success once the program's handler has returned, and leaves the result as it was. */
bl_comm_kind bl_kind_of_comm(MPI_Comm user, int *error)
{
    int is_inter = -1;
    *error = bl_mpi.Comm_test_inter(user, &is_inter);
    if (is_inter < 0) return BL_NO_COMM;
    return is_inter ? BL_INTERCOMM : BL_INTRACOMM;
}

int bl_comm_of(MPI_Comm user, bl_comm **found)
{
    int cached;
    int error = bl_mpi.Comm_get_attr(user, keyval, found, &cached);
    if (error != MPI_SUCCESS || cached) return error;
    error = make(user, found);
    return error == MPI_SUCCESS ? bl_mpi.Comm_set_attr(user, keyval, *found) : error;
}
