/* Scatters, gathers, all-gathers and reductions at random: roots, lengths, equal and unequal blocks, datatypes of each side,
 * communicators, in-place forms, names of the call, the program's own operations; and on two threads at once. Every int
 * arrives, nothing beside it is touched, and sums of floats have the same bits when the same call is made again.
 *
 *     random_collectives CALLS MOST-INTS SEED */
#include "check.h"
#include "random_reductions.h"
#include "random_unequal.h"

#include <pthread.h>

#define COMMS 4
#define KINDS 4

/* Blocks of ints in memory: int `at` of block `block` is at place(). */
typedef struct {
    int kind, ints, count;
    MPI_Datatype type;
} layout;

static size_t place(const layout *it, int block, int at)
{
    const size_t index = (size_t)block * (size_t)it->ints + (size_t)at;
    return it->kind == 2 ? 2 * index : it->kind == 3 ? 4 * index : index;
}

static size_t room(const layout *it, int blocks) { return 4 * (size_t)it->ints * (size_t)blocks + 1; }

static layout lay_out(int kind, int ints)
{
    layout it = {kind, ints, ints, MPI_INT};
    MPI_Datatype inner;
    if (kind == 1) MPI_Type_contiguous(ints, MPI_INT, &it.type), it.count = 1;
    if (kind == 2) { /* every second int */
        MPI_Type_vector(ints, 1, 2, MPI_INT, &inner);
        MPI_Type_create_resized(inner, 0, 8 * (MPI_Aint)ints, &it.type), it.count = 1;
        MPI_Type_free(&inner);
    }
    if (kind == 3) MPI_Type_create_resized(MPI_INT, 0, 16, &it.type);
    if (kind > 0) MPI_Type_commit(&it.type);
    return it;
}

static void forget(layout *it)
{
    if (it->kind > 0) MPI_Type_free(&it->type);
}

static int *memory(const layout *it, int blocks)
{
    int *ints = malloc(room(it, blocks) * sizeof *ints);
    REQUIRE(ints != NULL, "no memory");
    for (size_t at = 0; at < room(it, blocks); at++) ints[at] = HOLE;
    return ints;
}

static void put(int *ints, const layout *it, int first, int blocks, int call, int from)
{
    for (int block = 0; block < blocks; block++)
        for (int at = 0; at < it->ints; at++) ints[place(it, first + block, at)] = value(call, from + block, at);
}

/* Blocks as put, and holes between. */
static void check_blocks(const int *ints, const layout *it, int blocks, int call, int from, const char *what)
{
    size_t next = 0;
    for (int block = 0; block < blocks; block++)
        for (int at = 0; at < it->ints; at++) {
            for (; next < place(it, block, at); next++) REQUIRE(ints[next] == HOLE, "%s: a hole is written", what);
            REQUIRE(ints[next] == value(call, from + block, at), "%s %d: int %d of block %d is %d", what, call, at,
                    block, ints[next]);
            next++;
        }
    for (; next < room(it, blocks); next++) REQUIRE(ints[next] == HOLE, "%s: written beyond the end", what);
}

static int scatter_by(int name, const int *from, const layout *sent, int *to, const layout *got, int root, MPI_Comm comm)
{
    void *in = to == NULL ? MPI_IN_PLACE : (void *)to;
#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
    if (name == 2) return MPI_Scatter_c(from, sent->count, sent->type, in, got->count, got->type, root, comm);
#endif
    if (name == 1) return PMPI_Scatter(from, sent->count, sent->type, in, got->count, got->type, root, comm);
    return MPI_Scatter(from, sent->count, sent->type, in, got->count, got->type, root, comm);
}

static int allgather_by(int name, const int *from, const layout *sent, int *to, const layout *got, MPI_Comm comm)
{
    const void *out = from == NULL ? MPI_IN_PLACE : (const void *)from;
#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
    if (name == 2) return MPI_Allgather_c(out, sent->count, sent->type, to, got->count, got->type, comm);
#endif
    if (name == 1) return PMPI_Allgather(out, sent->count, sent->type, to, got->count, got->type, comm);
    return MPI_Allgather(out, sent->count, sent->type, to, got->count, got->type, comm);
}

static void scatters(int call, int ints, int root, uint64_t *own, MPI_Comm comm)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    layout sent = lay_out((int)(draw(own) % KINDS), ints), got = lay_out((int)(draw(own) % KINDS), ints);
    int *from = rank == root ? memory(&sent, size) : NULL;
    int *to = rank == root && draw(own) % 3 == 0 ? NULL : memory(&got, 1);
    if (from != NULL) put(from, &sent, 0, size, call, 0);
    const int error = scatter_by((int)(draw(own) % 3), from, &sent, to, &got, root, comm);
    REQUIRE(error == MPI_SUCCESS, "scatter %d: error %d", call, error);
    if (to != NULL) check_blocks(to, &got, 1, call, rank, "scatter");
    if (from != NULL) check_blocks(from, &sent, size, call, 0, "the root of a scatter");
    free(from);
    free(to);
    forget(&sent);
    forget(&got);
}

static int gather_by(int name, const int *from, const layout *sent, int *to, const layout *got, int root, MPI_Comm comm)
{
    const void *out = from == NULL ? MPI_IN_PLACE : (const void *)from;
#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
    if (name == 2) return MPI_Gather_c(out, sent->count, sent->type, to, got->count, got->type, root, comm);
#endif
    if (name == 1) return PMPI_Gather(out, sent->count, sent->type, to, got->count, got->type, root, comm);
    return MPI_Gather(out, sent->count, sent->type, to, got->count, got->type, root, comm);
}

static void gathers(int call, int ints, int root, uint64_t *own, MPI_Comm comm)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    layout sent = lay_out((int)(draw(own) % KINDS), ints), got = lay_out((int)(draw(own) % KINDS), ints);
    int *to = rank == root ? memory(&got, size) : NULL;
    int *from = rank == root && draw(own) % 3 == 0 ? NULL : memory(&sent, 1);
    put(from == NULL ? to : from, from == NULL ? &got : &sent, from == NULL ? rank : 0, 1, call, rank);
    const int error = gather_by((int)(draw(own) % 3), from, &sent, to, &got, root, comm);
    REQUIRE(error == MPI_SUCCESS, "gather %d: error %d", call, error);
    if (to != NULL) check_blocks(to, &got, size, call, 0, "gather");
    if (from != NULL) check_blocks(from, &sent, 1, call, rank, "what a gather sends");
    free(from);
    free(to);
    forget(&sent);
    forget(&got);
}

static void allgathers(int call, int ints, uint64_t *own, MPI_Comm comm)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    layout sent = lay_out((int)(draw(own) % KINDS), ints), got = lay_out((int)(draw(own) % KINDS), ints);
    int *to = memory(&got, size), *from = call % 3 == 0 ? NULL : memory(&sent, 1);
    put(from == NULL ? to : from, from == NULL ? &got : &sent, from == NULL ? rank : 0, 1, call, rank);
    const int error = allgather_by((int)(draw(own) % 3), from, &sent, to, &got, comm);
    REQUIRE(error == MPI_SUCCESS, "all-gather %d: error %d", call, error);
    check_blocks(to, &got, size, call, 0, "all-gather");
    if (from != NULL) check_blocks(from, &sent, 1, call, rank, "what an all-gather sends");
    free(from);
    free(to);
    forget(&sent);
    forget(&got);
}

typedef struct {
    MPI_Comm comms[COMMS];
    int calls, most;
    uint64_t seed;
    int rank;
} work;

static void *calls(void *given)
{
    work *it = given;
    /* Values that all ranks draw equally, and values that each draws for itself. */
    uint64_t all = it->seed, own = it->seed * 1000 + (uint64_t)it->rank + 1;
    for (int call = 0; call < it->calls; call++) {
        MPI_Comm comm = it->comms[draw(&all) % COMMS];
        const int ints = (int)(draw(&all) % (uint64_t)(call % 4 ? it->most : 40));
        const uint64_t collective = draw(&all) % 9;
        const uint64_t root = draw(&all);
        int size;
        if (comm == MPI_COMM_NULL) continue;
        MPI_Comm_size(comm, &size);
        if (ints == 0) continue; /* a datatype of no ints has no extent */
        const int to = (int)(root % (uint64_t)size);
        if (collective == 0) scatters(call, ints, to, &own, comm);
        if (collective == 1) gathers(call, ints, to, &own, comm);
        if (collective == 2) allgathers(call, ints, &own, comm);
        if (collective == 3 || collective == 4) reduces(call, ints, to, collective == 4, &own, comm);
        if (collective == 3 && call % 3 == 0) bits(call, ints, to, comm);
        if (collective == 4 && call % 3 == 0) bits_of_all(call, ints, comm);
        if (collective == 5) reduce_scatters(call, 1 + ints / size, &own, comm);
        if (collective == 6) own_operations(call, 1 + ints / 4 / size, to, comm);
        if (collective == 6 && call % 3 == 0) pairs(call, 1 + ints / 4, comm);
        if (collective > 6) unequal(call, ints, to, root, &own, comm);
    }
    return NULL;
}

static work prepare(int number, int rank, int calls, int most, uint64_t seed)
{
    work it = {.calls = calls, .most = most, .seed = seed + (uint64_t)number * 77, .rank = rank};
    MPI_Comm_dup(MPI_COMM_WORLD, &it.comms[0]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &it.comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &it.comms[2]);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 0, rank, &it.comms[3]);
    return it;
}

/* Nothing to send, one rank, an intercommunicator: the MPI's own. */
static void passed(int rank, int ranks)
{
    int none, one = rank, all[64], inter_all[64];
    REQUIRE(MPI_Scatter(&none, 0, MPI_INT, &none, 0, MPI_INT, 0, MPI_COMM_WORLD) == MPI_SUCCESS, "nothing");
    REQUIRE(MPI_Allgather(&one, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_SELF) == MPI_SUCCESS, "alone");
    REQUIRE(all[0] == rank, "%d", all[0]);
    const int zeros[64] = {0};
    REQUIRE(MPI_Scatterv(&none, zeros, zeros, MPI_INT, &none, 0, MPI_INT, 0, MPI_COMM_WORLD) == MPI_SUCCESS, "nothing");
    REQUIRE(MPI_Allgatherv(&none, 0, MPI_INT, &none, zeros, zeros, MPI_INT, MPI_COMM_WORLD) == MPI_SUCCESS, "nothing");
    if (ranks < 2) return;
    MPI_Comm half, inter;
    const int is_upper = rank >= ranks / 2;
    MPI_Comm_split(MPI_COMM_WORLD, is_upper, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, is_upper ? 0 : ranks / 2, 5, &inter);
    REQUIRE(MPI_Allgather(&one, 1, MPI_INT, inter_all, 1, MPI_INT, inter) == MPI_SUCCESS, "an intercommunicator");
    REQUIRE(inter_all[0] == (is_upper ? 0 : ranks / 2), "%d", inter_all[0]);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
    int rank, ranks, given;
    REQUIRE(argc == 4, "usage: random_collectives CALLS MOST-INTS SEED");
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    work both[2];
    const int threads = given == MPI_THREAD_MULTIPLE ? 2 : 1;
    for (int at = 0; at < threads; at++)
        both[at] = prepare(at, rank, atoi(argv[1]) / threads, atoi(argv[2]), (uint64_t)atoi(argv[3]));
    passed(rank, ranks);
    reductions_of_the_mpi(rank, ranks);
    refused_by_counts(rank, ranks);
    pthread_t other;
    if (threads == 2) REQUIRE(pthread_create(&other, NULL, calls, &both[1]) == 0, "no thread");
    calls(&both[0]);
    if (threads == 2) pthread_join(other, NULL);
    for (int at = 0; at < threads; at++)
        for (int comm = 0; comm < COMMS; comm++)
            if (both[at].comms[comm] != MPI_COMM_NULL) MPI_Comm_free(&both[at].comms[comm]);
    if (rank == 0) printf("ok\n");
    MPI_Finalize();
    return 0;
}
