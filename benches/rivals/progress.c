/* MPICH's requests and progress in terms of public MPI calls; see mpiimpl.h. */
#if !defined(BINE)
#include "mpiimpl.h"

#include "circ_graph.h"

MPIDU_genq_private_pool_t MPIR_cga_chunk_pool;

/* Requests that the queue holds at once, at most. */
enum { MOST = MPIR_CVAR_CIRC_GRAPH_Q_LEN };
static MPIR_Request *held[MOST];
static int held_count;
/* Since the last poll: a request was asked for and was not complete; one was, or one was made. */
static bool is_waited_for, has_changed;

static MPIR_Request *hold(void)
{
    MPIR_Request *made = calloc(1, sizeof *made);
    MPIR_Assert(made != NULL && held_count < MOST);
    made->status.MPI_ERROR = MPI_SUCCESS;
    held[held_count++] = made;
    has_changed = true;
    return made;
}

int MPIC_Isend(const void *buf, MPI_Aint count, MPI_Datatype type, int to, int tag, MPIR_Comm *of, MPIR_Request **made,
               int attr)
{
    (void)attr;
    *made = hold();
    return MPI_Isend(buf, (int)count, type, to, tag, of->comm, &(*made)->request);
}

int MPIC_Irecv(void *buf, MPI_Aint count, MPI_Datatype type, int from, int tag, MPIR_Comm *of, MPIR_Request **made)
{
    *made = hold();
    return MPI_Irecv(buf, (int)count, type, from, tag, of->comm, &(*made)->request);
}

bool MPIR_Request_is_complete(MPIR_Request *request)
{
    if (request->is_complete)
        has_changed = true;
    else
        is_waited_for = true;
    return request->is_complete;
}

void MPIR_Request_free(MPIR_Request *request)
{
    int at = 0;
    while (held[at] != request)
        at++;
    held[at] = held[--held_count];
    free(request);
}

int MPID_Progress_test(void *state)
{
    MPI_Request requests[MOST];
    MPIR_Request *whose[MOST];
    int count = 0, done = MPI_UNDEFINED, is_done = 1;
    (void)state;
    for (int at = 0; at < held_count; at++)
        if (!held[at]->is_complete) {
            requests[count] = held[at]->request;
            whose[count++] = held[at];
        }
    if (is_waited_for && !has_changed)
        MPI_Waitany(count, requests, &done, MPI_STATUS_IGNORE);
    else
        MPI_Testany(count, requests, &done, &is_done, MPI_STATUS_IGNORE);
    if (is_done && done != MPI_UNDEFINED)
        whose[done]->is_complete = true;
    is_waited_for = has_changed = false;
    return MPI_SUCCESS;
}
#endif
