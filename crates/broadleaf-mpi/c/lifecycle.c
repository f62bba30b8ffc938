/* From MPI_Init to MPI_Finalize either all ranks plan or none does. */
#include "lifecycle.h"

#include <stddef.h>

#include "agreed.h"
#include "bound.h"
#include "comms.h"
#include "contiguous.h"
#include "passed.h"
#include "presence.h"
#include "simulated.h"
#include "stats.h"
#include "tags.h"
#include "trace.h"
#include "unseen.h"

static int is_spawned;
static int is_alone;
static int has_begun;

static int finish(void)
{
    /* Not with a single rank, nor where planning is disabled or was refused, which has been reported. */
    if (bl_is_listed(BL_BCAST) && bl_messages() != MPI_COMM_NULL) bl_unseen_report();
    bl_pass_all(BL_PASSED_NOT_STARTED);
    int error = bl_agreed_config()->stats ? bl_stats_finish(is_spawned, is_alone) : MPI_SUCCESS;
    if (error == MPI_SUCCESS && bl_agreed_config()->trace) error = bl_trace_finish(is_spawned);
    bl_comms_finish();
    bl_contiguous_finish();
    bl_agreed_finish();
    return error;
}

/* The threshold of MPI_COMM_WORLD, found when its private side is opened, is the lowest of all communicators: a
 * shorter message is passed through without looking up its communicator. */
static int follow_platform(void)
{
    bl_comm *world;
    int error = bl_comm_of(MPI_COMM_WORLD, &world);
    if (error == MPI_SUCCESS && world->session != NULL && world->threshold > 0) bl_agree_on_less(world->threshold);
    return error;
}

static int start(void)
{
    int rank, size;
    int error = bl_mpi.Comm_rank(MPI_COMM_WORLD, &rank);
    if (error == MPI_SUCCESS) error = bl_mpi.Comm_size(MPI_COMM_WORLD, &size);
    if (error != MPI_SUCCESS) return error;
    /* A program may disconnect from its parent, so it is looked for now. */
    error = bl_find_parent(&is_spawned);
    if (error != MPI_SUCCESS) return error;
    is_alone = !bl_all_present(rank, size, is_spawned);
    if (is_alone)
        bl_agree_alone(rank);
    else
        error = bl_agree(rank, size);
    if (error == MPI_SUCCESS) error = bl_tags_start();
    if (error == MPI_SUCCESS) error = bl_comms_start();
    if (error == MPI_SUCCESS) error = bl_contiguous_start();
    if (error == MPI_SUCCESS && !is_alone && bl_agreed_config()->follows_platform && !bl_agreed_config()->disabled)
        error = follow_platform();
    if (error == MPI_SUCCESS) error = bl_watch_finalize(finish);
    return error;
}

/* An MPI that cannot broadcast a few bytes or make a key at this point is broken, and which ranks noticed is
 * unknown; its error handler decides. */
void bl_start(void)
{
    /* An intercepted call may cause another. */
    if (has_begun) return;
    has_begun = 1;
    int error = start();
    const bl_config *agreed = bl_agreed_config();
    if (error != MPI_SUCCESS)
        bl_mpi.Comm_call_errhandler(MPI_COMM_WORLD, error);
    else if (is_alone)
        bl_pass_all(BL_PASSED_NOT_EVERYWHERE);
    else if (agreed->disabled)
        bl_pass_all(agreed->bad_value ? BL_PASSED_BAD_VALUE : BL_PASSED_DISABLED);
    else if (bl_messages() == MPI_COMM_NULL)
        bl_pass_all(BL_PASSED_ONE_RANK);
    else
        bl_plan_from(agreed->min_bytes, agreed->listed);
}
