/* Private communicators: our messages never meet the program's.
 *
 * One is made when a user communicator carries its first large broadcast, cached under a key that is not copied
 * with the communicator, and freed with it. MPI_COMM_WORLD cannot be freed by the program; its private side
 * goes in MPI_Finalize. */
#include "runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int keyval = MPI_KEYVAL_INVALID;

/* Shared by all communicators that are passed through for these reasons, so that they cost no memory. */
static bl_comm passed_through[BL_REASON_COUNT];

static int is_shared(const bl_comm *comm)
{
    return comm >= passed_through && comm < passed_through + BL_REASON_COUNT;
}

static int release(bl_comm *comm)
{
    if (is_shared(comm)) return MPI_SUCCESS;
    bl_collectives_close(comm->collectives);
    bl_session_close(comm->session);
    int error = MPI_SUCCESS;
    if (comm->private_comm != MPI_COMM_NULL) error = PMPI_Comm_free(&comm->private_comm);
    bl_transport_free(comm);
    free(comm);
    return error;
}

static int on_comm_free(MPI_Comm user, int key, void *value, void *extra)
{
    (void)user, (void)key, (void)extra;
    return release(value);
}

int bl_comms_start(void)
{
    for (int reason = 0; reason < BL_REASON_COUNT; reason++) {
        passed_through[reason].private_comm = MPI_COMM_NULL;
        passed_through[reason].reason = (bl_reason)reason;
    }
    return PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_comm_free, &keyval, NULL);
}

void bl_comms_finish(void)
{
    int found;
    void *value;
    if (keyval == MPI_KEYVAL_INVALID) return;
    if (PMPI_Comm_get_attr(MPI_COMM_WORLD, keyval, &value, &found) == MPI_SUCCESS && found)
        PMPI_Comm_delete_attr(MPI_COMM_WORLD, keyval);
    PMPI_Comm_free_keyval(&keyval);
}

/* Settings are agreed inside one world. Every member of a communicator over several worlds sees a stranger in
 * it, so all of them pass its calls through. */
static int spans_worlds(MPI_Comm comm, int size, int *spans)
{
    *spans = 0;
    if (comm == MPI_COMM_WORLD) return MPI_SUCCESS;
    MPI_Group mine, world;
    int error = PMPI_Comm_group(comm, &mine);
    if (error != MPI_SUCCESS) return error;
    error = PMPI_Comm_group(MPI_COMM_WORLD, &world);
    int *ranks = malloc(2 * (size_t)size * sizeof *ranks);
    if (error == MPI_SUCCESS && ranks == NULL) error = MPI_ERR_NO_MEM;
    if (error == MPI_SUCCESS) {
        for (int rank = 0; rank < size; rank++) ranks[rank] = rank;
        error = PMPI_Group_translate_ranks(mine, size, ranks, world, ranks + size);
        for (int rank = 0; error == MPI_SUCCESS && rank < size; rank++)
            *spans |= ranks[size + rank] == MPI_UNDEFINED;
        PMPI_Group_free(&world);
    }
    free(ranks);
    PMPI_Group_free(&mine);
    return error;
}

/* A communicator of the same ranks. PMPI_Comm_dup would run the program's copy callbacks. The program's error
 * handler must not see a failure that it would not have had without us (an MPI has only so many communicators). */
static int make_private(MPI_Comm comm, MPI_Comm *private)
{
    MPI_Errhandler theirs;
    MPI_Group group;
    *private = MPI_COMM_NULL;
    int error = PMPI_Comm_group(comm, &group);
    if (error != MPI_SUCCESS) return error;
    error = PMPI_Comm_get_errhandler(comm, &theirs);
    if (error == MPI_SUCCESS) {
        error = PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        if (error == MPI_SUCCESS) error = PMPI_Comm_create(comm, group, private);
        /* SMPI has none until one is set. */
        if (theirs != MPI_ERRHANDLER_NULL) {
            int restored = PMPI_Comm_set_errhandler(comm, theirs);
            if (error == MPI_SUCCESS) error = restored;
            PMPI_Errhandler_free(&theirs);
        }
    }
    PMPI_Group_free(&group);
    return error == MPI_SUCCESS ? PMPI_Comm_set_errhandler(*private, MPI_ERRORS_RETURN) : error;
}

static int open_session(MPI_Comm user, bl_comm *comm)
{
    char host[MPI_MAX_PROCESSOR_NAME + 1] = {0}, name[MPI_MAX_OBJECT_NAME + 1] = {0};
    int length;
    int error = PMPI_Get_processor_name(host, &length);
    if (error == MPI_SUCCESS) error = PMPI_Comm_get_name(user, name, &length);
    if (error != MPI_SUCCESS) return error;
    bl_outcome outcome;
    comm->session = bl_session_open(&bl_mpi_ops, comm, name, comm->rank, comm->size, host, bl_host_index(),
                                    bl_agreed_config(), &outcome);
    if (outcome.verdict == BL_DONE) return MPI_SUCCESS;
    return outcome.verdict == BL_MPI ? outcome.mpi_error : MPI_ERR_INTERN;
}

static int report_no_comm(int rank, int error)
{
    char text[MPI_MAX_ERROR_STRING + 1] = {0};
    int length;
    if (rank == 0 && PMPI_Error_string(error, text, &length) == MPI_SUCCESS) {
        text[strcspn(text, "\n")] = '\0';
        fprintf(stderr, "broadleaf: no private communicator (%s); the MPI's own broadcast is used there\n", text);
    }
    return MPI_SUCCESS;
}

static int make(MPI_Comm user, bl_comm **made)
{
    int inter, size, spans;
    int error = PMPI_Comm_test_inter(user, &inter);
    if (error == MPI_SUCCESS) error = PMPI_Comm_size(user, &size);
    if (error != MPI_SUCCESS) return error;
    *made = &passed_through[inter ? BL_PASSED_INTERCOMM : BL_PASSED_ONE_RANK];
    if (inter || size == 1) return MPI_SUCCESS;
    error = spans_worlds(user, size, &spans);
    if (error != MPI_SUCCESS) return error;
    *made = &passed_through[BL_PASSED_SEVERAL_WORLDS];
    if (spans) return MPI_SUCCESS;

    bl_comm *comm = calloc(1, sizeof *comm);
    if (comm == NULL) return MPI_ERR_NO_MEM;
    comm->size = size;
    error = PMPI_Comm_rank(user, &comm->rank);
    if (error == MPI_SUCCESS) {
        error = make_private(user, &comm->private_comm);
        if (error != MPI_SUCCESS && comm->private_comm == MPI_COMM_NULL) {
            /* Making a communicator is collective and fails on all ranks alike. */
            error = report_no_comm(comm->rank, error);
            free(comm);
            *made = &passed_through[BL_PASSED_NO_COMM];
            return error;
        }
    }
    if (error == MPI_SUCCESS) error = open_session(user, comm);
    if (error != MPI_SUCCESS) release(comm);
    *made = comm;
    return error;
}

int bl_comm_of(MPI_Comm user, bl_comm **found)
{
    int cached;
    int error = PMPI_Comm_get_attr(user, keyval, found, &cached);
    if (error != MPI_SUCCESS || cached) return error;
    error = make(user, found);
    return error == MPI_SUCCESS ? PMPI_Comm_set_attr(user, keyval, *found) : error;
}
