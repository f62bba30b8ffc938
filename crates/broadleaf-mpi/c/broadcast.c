/* All ranks must make the same decision, so it depends only on values that the ranks of a communicator agree on: the
 * communicator, the packed bytes of the message, and the settings agreed at MPI_Init. Only a call that the MPI itself
 * refuses on this rank goes to the MPI without the others, as it would without Broadleaf. */
#include "broadcast.h"

#include <stdlib.h>

#include "agreed.h"
#include "comms.h"
#include "contiguous.h"
#include "datatypes.h"
#include "failures.h"
#include "passed.h"
#include "refused.h"
#include "simulated.h"

/* Runs the planned broadcast of packed bytes; *handled: whether Broadleaf ran it. */
static int run(bl_comm *private, unsigned char *packed, uint64_t bytes, int root, int *handled)
{
    bl_outcome outcome = bl_session_broadcast(private->session, packed, bytes, root);
    *handled = outcome.verdict != BL_OWN && outcome.verdict != BL_BAD_VALUE;
    if (*handled) bl_count_planned();
    switch (outcome.verdict) {
    case BL_DONE: return MPI_SUCCESS;
    case BL_OWN: bl_count_passed(BL_PASSED_NO_PLAN); return MPI_SUCCESS;
    case BL_BAD_VALUE: bl_count_passed(BL_PASSED_BAD_VALUE); return MPI_SUCCESS;
    case BL_LENGTH: return MPI_ERR_TRUNCATE;
    case BL_MPI: return outcome.mpi_error;
    default: return MPI_ERR_INTERN;
    }
}

/* Uses the message in place if it is packed already; else packs it into a buffer and unpacks it afterwards. */
static int run_typed(bl_comm *private, const bl_call *call, uint64_t bytes, int *handled)
{
    MPI_Aint first = 0;
    int in_place;
    int error = bl_in_place(call->count, call->type, &first, &in_place);
    if (error != MPI_SUCCESS) in_place = 0;
    /* Under MPI_BOTTOM `data` is null and `first` an address, so the sum is made of integers. */
    unsigned char *const start = (unsigned char *)((uintptr_t)call->data + (uintptr_t)first);
    if (in_place && start != NULL) return run(private, start, bytes, call->root, handled);
    if (in_place) {
        /* Not every MPI refuses null; the MPI's own call decides. */
        bl_count_passed(BL_PASSED_INVALID);
        *handled = 0;
        return MPI_SUCCESS;
    }
    const int is_root = private->rank == call->root;
    unsigned char *const own = malloc(bytes), *packed = own;
    if (is_root && own != NULL && bl_pack(call->data, call->count, call->type, own, bytes) != MPI_SUCCESS) packed = NULL;
    if (packed == NULL) {
        /* The other ranks depend on this one: it forwards segments that it cannot keep, and as the root it makes all
         * use the MPI's own broadcast. */
        free(own);
        error = run(private, NULL, bytes, call->root, handled);
        return error == MPI_SUCCESS && *handled ? MPI_ERR_NO_MEM : error;
    }
    error = run(private, packed, bytes, call->root, handled);
    if (error == MPI_SUCCESS && *handled && !is_root)
        error = bl_unpack(packed, bytes, call->data, call->count, call->type);
    free(packed);
    return error;
}

/* Whether the call goes to the MPI's own broadcast, to be timed. */
static int is_left(const bl_comm *private, const bl_call *call, uint64_t bytes)
{
    if (private->times == NULL || !bl_times_next_is_native(private->times, BL_BCAST, bytes, call->root)) return 0;
    bl_count_passed(bl_agreed_config()->mode == BL_MODE_COMPARE ? BL_PASSED_COMPARED : BL_PASSED_OBSERVED);
    return 1;
}

int bl_broadcast(const bl_call *call, uint64_t bytes, MPI_Comm comm, int *handled, bl_times **timed)
{
    bl_comm *private;
    const double start_s = bl_agreed_config()->mode != BL_MODE_PLAN ? bl_clock_s() : 0;
    *handled = 0;
    *timed = NULL;
    int error = bl_comm_fault(comm);
    if (error == MPI_SUCCESS) error = bl_comm_of(comm, &private);
    if (error != MPI_SUCCESS) {
        *handled = 1;
        return error;
    }
    if (private->session == NULL) {
        bl_count_passed(private->reason);
        return MPI_SUCCESS;
    }
    if (bytes < private->threshold) {
        bl_count_passed(BL_PASSED_SMALL);
        return MPI_SUCCESS;
    }
    if (call->root < 0 || call->root >= private->size || bl_is_refused(call->data, call->count, call->type)) {
        bl_count_passed(BL_PASSED_INVALID);
        return MPI_SUCCESS;
    }
    if (is_left(private, call, bytes)) {
        *timed = private->times;
        return MPI_SUCCESS;
    }
    *handled = 1;
    error = run_typed(private, call, bytes, handled);
    if (error != MPI_SUCCESS) bl_keep_messages();
    if (private->times != NULL && *handled && error == MPI_SUCCESS)
        bl_times_planned(private->times, BL_BCAST, bytes, call->root, bl_clock_s() - start_s, private->session);
    return error;
}

bl_times *bl_timed_while_disabled(const bl_call *call, MPI_Comm comm)
{
    bl_comm *private;
    if (bl_comm_of(comm, &private) != MPI_SUCCESS) return NULL;
    return call->root >= 0 && call->root < private->size ? private->times : NULL;
}
