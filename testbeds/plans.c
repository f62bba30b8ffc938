/* Runs broadcasts and scatters along given trees with plain MPI messages, and times them from a common start.
 * Builds with mpicc and with SimGrid's smpicc. It shares no code with Broadleaf's executor: a direct implementation of
 * paper 4's techniques, for comparison with the predictions.
 *
 *     plans FILE [REPETITIONS [START_AHEAD_SECONDS]]
 *
 * FILE has a line for each plan: COLLECTIVE PROTOCOL BYTES SEGMENT_BYTES EDGES, e.g.
 *
 *     bcast eager 1048576 8192 0>1,1>2,1>3
 *     scatter eager 1000 1000 0>2,0>1,2>3
 *
 * EDGES are sender>receiver by rank, from rank 0, a sender's edges in the order in which it serves. A broadcast
 * goes segment by segment, each to all children; a scatter's bytes are one rank's block, and a transfer carries
 * the blocks of the receiver's subtree. With "rendezvous" a node sends a request to all its children (one byte each) and
 * the data to each when that child has answered (one byte). Prints, for each plan and repetition, when the last rank held
 * all its data:
 *
 *     plan 0 repetition 0 seconds=0.001234567 wrong_bytes=0 */
#define _GNU_SOURCE
#include "common_start.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Under SMPI all ranks' memory is this machine's: above this many bytes their buffers are folded into one, contents
 * mean nothing, and wrong_bytes is -1. */
#define FOLDED_ABOVE (256u << 20)

/* Sends in flight from a rank at most: more than latency x rate needs where a message takes a 60th of the latency. */
#define WINDOW 64

/* Receives posted ahead, more than a sender may have in flight, so that none waits for its receive. Not all of a
 * message's: SMPI searches all posted ones at every match, which made long pipelines quadratic. */
#define RECEIVES (2 * WINDOW)

enum { TAG_DATA = 1, TAG_REQUEST, TAG_READY };

typedef struct {
    int is_scatter, is_rendezvous;
    size_t bytes, segment_bytes;
    int *parent;      /* by rank; -1 for the root */
    int *child_count; /* by rank */
    int **children;   /* by rank, in serving order */
    int *below;       /* ranks in the subtree, its own included */
    size_t *place;    /* a rank's block in the root's buffer: depth first, so that subtrees are one run */
} plan;

static int rank, ranks;

static void refuse(const char *what, const char *text)
{
    if (rank == 0)
        fprintf(stderr, "plans: %s: %.60s\n", what, text);
    MPI_Abort(MPI_COMM_WORLD, 2);
    exit(2);
}

static void *reserve(size_t bytes)
{
    void *memory = calloc(bytes ? bytes : 1, 1);
    if (!memory)
        refuse("no memory", "");
    return memory;
}

/* Sizes of subtrees, and places of blocks, depth first. */
static size_t lay_out(plan *p, int node, size_t place)
{
    p->place[node] = place;
    p->below[node] = 1;
    size_t next = place + 1;
    for (int i = 0; i < p->child_count[node]; i++) {
        int child = p->children[node][i];
        next = lay_out(p, child, next);
        p->below[node] += p->below[child];
    }
    return next;
}

static plan read_plan(char *line)
{
    plan p = {0};
    char collective[16], protocol[16];
    unsigned long long bytes, segment;
    int at = 0;
    if (sscanf(line, "%15s %15s %llu %llu %n", collective, protocol, &bytes, &segment, &at) < 4 || !at || !segment)
        refuse("no plan", line);
    p.is_scatter = !strcmp(collective, "scatter");
    p.is_rendezvous = !strcmp(protocol, "rendezvous");
    p.bytes = bytes;
    p.segment_bytes = segment;
    p.parent = reserve((size_t)ranks * sizeof *p.parent);
    p.child_count = reserve((size_t)ranks * sizeof *p.child_count);
    p.children = reserve((size_t)ranks * sizeof *p.children);
    p.below = reserve((size_t)ranks * sizeof *p.below);
    p.place = reserve((size_t)ranks * sizeof *p.place);
    for (int node = 0; node < ranks; node++)
        p.parent[node] = -1;
    for (char *edge = line + at; *edge && *edge != '\n';) {
        char *end;
        long from = strtol(edge, &end, 10), to = *end == '>' ? strtol(end + 1, &end, 10) : -1;
        if (from < 0 || to <= 0 || from >= ranks || to >= ranks || p.parent[to] >= 0)
            refuse("no edge between two of the ranks, or a second one into a rank", edge);
        p.parent[to] = (int)from;
        int **list = &p.children[from];
        *list = realloc(*list, (size_t)(p.child_count[from] + 1) * sizeof **list);
        (*list)[p.child_count[from]++] = (int)to;
        edge = *end == ',' ? end + 1 : end;
    }
    if (lay_out(&p, 0, 0) != (size_t)ranks)
        refuse("the edges do not reach every rank", line);
    return p;
}

static void free_plan(plan *p)
{
    for (int node = 0; node < ranks; node++)
        free(p->children[node]);
    free(p->parent), free(p->child_count), free(p->children), free(p->below), free(p->place);
}

/* Sends in flight; with too many, the rank waits for the oldest. */
typedef struct {
    MPI_Request requests[WINDOW];
    size_t sent;
} window;

static void send_bytes(window *w, const void *data, size_t bytes, int to, int tag)
{
    MPI_Request *slot = &w->requests[w->sent++ % WINDOW];
    MPI_Wait(slot, MPI_STATUS_IGNORE);
    MPI_Isend(data, (int)bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, slot);
}

/* Forwards one segment (a scatter's whole part) to all children. */
static void serve(const plan *p, window *w, const unsigned char *data, size_t offset, size_t bytes)
{
    static unsigned char control, *answers;
    static MPI_Request *answered;
    int count = p->child_count[rank];
    const int *children = p->children[rank];
    if (p->is_rendezvous && !answered) {
        answers = reserve((size_t)ranks);
        answered = reserve((size_t)ranks * sizeof *answered);
    }
    /* The receives of the answers are posted before the requests, or each would start only when its turn comes. */
    for (int i = 0; p->is_rendezvous && i < count; i++) {
        MPI_Irecv(&answers[i], 1, MPI_BYTE, children[i], TAG_READY, MPI_COMM_WORLD, &answered[i]);
        send_bytes(w, &control, 1, children[i], TAG_REQUEST);
    }
    for (int i = 0; i < count; i++) {
        if (p->is_rendezvous)
            MPI_Wait(&answered[i], MPI_STATUS_IGNORE);
        if (p->is_scatter)
            send_bytes(w, data + (p->place[children[i]] - p->place[rank]) * p->bytes,
                       (size_t)p->below[children[i]] * p->bytes, children[i], TAG_DATA);
        else
            send_bytes(w, data + offset, bytes, children[i], TAG_DATA);
    }
}

/* Posts the receive of part `i`. */
static void post_receive(unsigned char *data, size_t held_bytes, size_t part, size_t i, int from, MPI_Request *request)
{
    size_t bytes = i * part + part > held_bytes ? held_bytes - i * part : part;
    MPI_Irecv(data + i * part, (int)bytes, MPI_BYTE, from, TAG_DATA, MPI_COMM_WORLD, request);
}

/* Runs the plan on this rank; the time after the start at which it held all its data, s. */
static double run(const plan *p, unsigned char *data, size_t held_bytes, double ahead_s)
{
    size_t part = p->is_scatter ? held_bytes : p->segment_bytes;
    size_t count = p->is_scatter ? 1 : (p->bytes + part - 1) / part;
    MPI_Request receives[RECEIVES];
    MPI_Request asked = MPI_REQUEST_NULL;
    unsigned char control = 0;
    window w = {.sent = 0};
    for (int i = 0; i < WINDOW; i++)
        w.requests[i] = MPI_REQUEST_NULL;
    int parent = p->parent[rank];
    for (size_t i = 0; parent >= 0 && i < count && i < RECEIVES; i++)
        post_receive(data, held_bytes, part, i, parent, &receives[i]);
    if (parent >= 0 && p->is_rendezvous)
        MPI_Irecv(&control, 1, MPI_BYTE, parent, TAG_REQUEST, MPI_COMM_WORLD, &asked);
    double start = wait_for_common_start(ahead_s), held_s = 0.0;
    for (size_t i = 0; i < count; i++) {
        size_t bytes = i * part + part > held_bytes ? held_bytes - i * part : part;
        if (parent >= 0 && p->is_rendezvous) {
            MPI_Wait(&asked, MPI_STATUS_IGNORE);
            send_bytes(&w, &control, 1, parent, TAG_READY);
            if (i + 1 < count)
                MPI_Irecv(&control, 1, MPI_BYTE, parent, TAG_REQUEST, MPI_COMM_WORLD, &asked);
        }
        if (parent >= 0)
            MPI_Wait(&receives[i % RECEIVES], MPI_STATUS_IGNORE);
        if (parent >= 0 && i + 1 == count)
            held_s = now_s() - start;
        if (parent >= 0 && i + RECEIVES < count)
            post_receive(data, held_bytes, part, i + RECEIVES, parent, &receives[i % RECEIVES]);
        serve(p, &w, data, i * part, bytes);
    }
    MPI_Waitall(WINDOW, w.requests, MPI_STATUSES_IGNORE);
    return held_s;
}

static int is_folded(const plan *p)
{
#ifdef SMPI_SHARED_MALLOC
    size_t all = 0;
    for (int node = 0; node < ranks; node++)
        all += p->is_scatter ? (size_t)p->below[node] * p->bytes : p->bytes;
    return all > FOLDED_ABOVE;
#else
    (void)p;
    return 0;
#endif
}

static unsigned char *take_buffer(size_t bytes, int folded)
{
#ifdef SMPI_SHARED_MALLOC
    if (folded)
        return SMPI_SHARED_MALLOC(bytes);
#endif
    (void)folded;
    return reserve(bytes);
}

static void give_buffer(unsigned char *data, int folded)
{
#ifdef SMPI_SHARED_MALLOC
    if (folded) {
        SMPI_SHARED_FREE(data);
        return;
    }
#endif
    (void)folded;
    free(data);
}

static void time_plan(const plan *p, int number, int repetition, double ahead_s)
{
    size_t held_bytes = p->is_scatter ? (size_t)p->below[rank] * p->bytes : p->bytes;
    size_t offset = p->is_scatter ? p->place[rank] * p->bytes : 0;
    int folded = is_folded(p);
    unsigned char *data = take_buffer(held_bytes, folded);
    for (size_t at = 0; rank == 0 && !folded && at < held_bytes; at++)
        data[at] = expected(at, repetition);
    /* A buffer's first use costs a page fault for every 4 KiB, which is not the network's time. */
    if (rank != 0 && !folded)
        memset(data, 0xee, held_bytes);
    double mine = run(p, data, held_bytes, ahead_s), last;
    long wrong = 0, all_wrong;
    for (size_t at = 0; !folded && at < p->bytes; at++)
        wrong += data[at] != expected(offset + at, repetition);
    give_buffer(data, folded);
    MPI_Reduce(&mine, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&wrong, &all_wrong, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("plan %d repetition %d seconds=%.9f wrong_bytes=%ld\n", number, repetition, last, folded ? -1L : all_wrong);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int repetitions = argc > 2 ? atoi(argv[2]) : 1;
    double ahead_s = argc > 3 ? atof(argv[3]) : 0.5;
    FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (!file || repetitions < 1 || ahead_s < 0)
        refuse("usage: plans FILE [REPETITIONS [START_AHEAD_SECONDS]]; cannot read", argc > 1 ? argv[1] : "no file");
    char *line = NULL;
    size_t room = 0;
    for (int number = 0; getline(&line, &room, file) > 1; number++) {
        plan p = read_plan(line);
        for (int repetition = 0; repetition < repetitions; repetition++)
            time_plan(&p, number, repetition, ahead_s);
        free_plan(&p);
    }
    free(line);
    fclose(file);
    MPI_Finalize();
    return 0;
}
