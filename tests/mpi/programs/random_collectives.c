/* Scatters, gathers, all-gathers and reductions at random: roots, lengths, datatypes of each side, communicators, in-place forms, names
 * of the call; and on two threads at once. Every int arrives, nothing beside it is touched, and sums of floats have the same
 * bits when the same call is made again.
 *
 *     random_collectives CALLS MOST-INTS SEED */
#include "check.h"

#include <pthread.h>

#define COMMS 4
#define KINDS 4
#define HOLE ((int)0xa5a5a5a5)

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

static int value(int call, int block, int at) { return (call * 31 + block) * 1009 + at; }

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

static int reduce_by(int name, const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm)
{
#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
    if (name == 2) return MPI_Reduce_c(from, to, count, type, op, root, comm);
#endif
    if (name == 1) return PMPI_Reduce(from, to, count, type, op, root, comm);
    return MPI_Reduce(from, to, count, type, op, root, comm);
}

static int allreduce_by(int name, const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
    if (name == 2) return MPI_Allreduce_c(from, to, count, type, op, comm);
#endif
    if (name == 1) return PMPI_Allreduce(from, to, count, type, op, comm);
    return MPI_Allreduce(from, to, count, type, op, comm);
}

/* Numbers of one type, all of which it holds as they are. */
typedef union {
    int *ints;
    int64_t *longs;
    double *doubles;
    void *data;
} numbers;

static void put_number(numbers all, MPI_Datatype type, int at, int64_t number)
{
    if (type == MPI_INT) all.ints[at] = (int)number;
    else if (type == MPI_DOUBLE) all.doubles[at] = (double)number;
    else all.longs[at] = number;
}

static int64_t number_of(numbers all, MPI_Datatype type, int at)
{
    return type == MPI_INT ? all.ints[at] : type == MPI_DOUBLE ? (int64_t)all.doubles[at] : all.longs[at];
}

static numbers numbers_for(int count)
{
    numbers all = {.data = malloc(((size_t)count + 1) * sizeof(int64_t))};
    REQUIRE(all.data != NULL, "no memory");
    memset(all.data, 0xa5, ((size_t)count + 1) * sizeof(int64_t));
    return all;
}

/* Sums and maxima, known beforehand, to one root or to all. */
static void reduces(int call, int count, int root, int is_for_all, uint64_t *own, MPI_Comm comm)
{
    int rank, size, bytes;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const MPI_Datatype types[] = {MPI_INT64_T, MPI_INT, MPI_DOUBLE}, type = types[call % 5 % 3];
    const int is_sum = call % 2, has_result = is_for_all || rank == root;
    const MPI_Op op = is_sum ? MPI_SUM : MPI_MAX;
    MPI_Type_size(type, &bytes);
    numbers to = {.data = NULL}, from = {.data = NULL};
    if (has_result) to = numbers_for(count);
    if (is_for_all ? call % 3 != 0 : rank != root || draw(own) % 3 != 0) from = numbers_for(count);
    for (int at = 0; at < count; at++) put_number(from.data != NULL ? from : to, type, at, value(call, rank, at));
    const void *out = from.data == NULL ? MPI_IN_PLACE : from.data;
    const int name = (int)(draw(own) % 3);
    const int error = is_for_all ? allreduce_by(name, out, to.data, count, type, op, comm)
                                 : reduce_by(name, out, to.data, count, type, op, root, comm);
    REQUIRE(error == MPI_SUCCESS, "reduction %d: error %d", call, error);
    for (int at = 0; has_result && at < count; at++) {
        int64_t sum = 0;
        for (int other = 0; other < size; other++) sum += value(call, other, at);
        const int64_t wanted = is_sum ? sum : value(call, size - 1, at), got = number_of(to, type, at);
        REQUIRE(got == wanted, "reduction %d: number %d is %lld, not %lld", call, at, (long long)got, (long long)wanted);
    }
    for (int at = 0; from.data != NULL && at < count; at++)
        REQUIRE(number_of(from, type, at) == value(call, rank, at), "what a reduction sends: number %d", at);
    for (size_t at = 0; has_result && at < sizeof(int64_t); at++)
        REQUIRE(((unsigned char *)to.data)[(size_t)count * (size_t)bytes + at] == 0xa5, "written beyond the end");
    free(from.data);
    free(to.data);
}

/* Whose last bits depend on the order in which they are added. */
static float *inexact(int call, int count, int rank)
{
    float *from = malloc((size_t)count * sizeof *from);
    REQUIRE(from != NULL, "no memory");
    uint64_t state = (uint64_t)(call * 100 + rank);
    for (int at = 0; at < count; at++) from[at] = (float)(draw(&state) % 1000003) / 7;
    return from;
}

static void bits(int call, int count, int root, MPI_Comm comm)
{
    int rank;
    MPI_Comm_rank(comm, &rank);
    float *from = inexact(call, count, rank), *to = malloc(2 * (size_t)count * sizeof *to);
    MPI_Reduce(from, to, count, MPI_FLOAT, MPI_SUM, root, comm);
    MPI_Reduce(from, to + count, count, MPI_FLOAT, MPI_SUM, root, comm);
    if (rank == root)
        REQUIRE(memcmp(to, to + count, (size_t)count * sizeof *to) == 0, "reduction %d: other bits the second time", call);
    free(from);
    free(to);
}

/* The same on all ranks, and in the next call. */
static void bits_of_all(int call, int count, MPI_Comm comm)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    float *from = inexact(call, count, rank), *to = malloc(2 * (size_t)count * sizeof *to);
    const size_t bytes = (size_t)count * sizeof *to;
    MPI_Allreduce(from, to, count, MPI_FLOAT, MPI_SUM, comm);
    memcpy(to + count, from, bytes);
    MPI_Allreduce(MPI_IN_PLACE, to + count, count, MPI_FLOAT, MPI_SUM, comm);
    REQUIRE(memcmp(to, to + count, bytes) == 0, "all-reduce %d: other bits the second time", call);
    for (int other = 1; rank == 0 && other < size; other++) MPI_Send(to, count, MPI_FLOAT, other, 1, comm);
    if (rank > 0) MPI_Recv(to + count, count, MPI_FLOAT, 0, 1, comm, MPI_STATUS_IGNORE);
    REQUIRE(memcmp(to, to + count, bytes) == 0, "all-reduce %d: other bits than rank 0", call);
    free(from);
    free(to);
}

static void reverse(void *came, void *into, int *count, MPI_Datatype *type)
{
    (void)came, (void)into, (void)count, (void)type;
}

/* What the MPI knows and a plan does not: operations of the program's own, pairs. */
static void reductions_of_the_mpi(int rank, int ranks)
{
    struct {
        double number;
        int at;
    } mine = {rank == ranks - 1 ? 9 : 1, rank}, most;
    REQUIRE(MPI_Reduce(&mine, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, 0, MPI_COMM_WORLD) == MPI_SUCCESS, "a pair");
    if (rank == 0) REQUIRE(most.at == ranks - 1, "%d", most.at);
    MPI_Op op;
    MPI_Op_create(reverse, 0, &op);
    int one = rank, kept;
    REQUIRE(MPI_Reduce(&one, &kept, 1, MPI_INT, op, 0, MPI_COMM_WORLD) == MPI_SUCCESS, "an operation of one's own");
    REQUIRE(MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD) == MPI_SUCCESS, "a pair");
    REQUIRE(most.at == ranks - 1, "%d", most.at);
    REQUIRE(MPI_Allreduce(&one, &kept, 1, MPI_INT, op, MPI_COMM_WORLD) == MPI_SUCCESS, "an operation of one's own");
    MPI_Op_free(&op);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    float number = 1, result;
    int kind, error = MPI_Reduce(&number, &result, 1, MPI_FLOAT, MPI_BAND, 0, MPI_COMM_WORLD);
    MPI_Error_class(error, &kind);
    REQUIRE(kind == MPI_ERR_OP, "class %d: bits of a float", kind);
    MPI_Error_class(MPI_Allreduce(&number, &result, 1, MPI_FLOAT, MPI_BAND, MPI_COMM_WORLD), &kind);
    REQUIRE(kind == MPI_ERR_OP, "class %d: bits of a float for all", kind);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
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
    /* What all ranks draw alike, and what each draws for itself. */
    uint64_t all = it->seed, own = it->seed * 1000 + (uint64_t)it->rank + 1;
    for (int call = 0; call < it->calls; call++) {
        MPI_Comm comm = it->comms[draw(&all) % COMMS];
        const int ints = (int)(draw(&all) % (uint64_t)(call % 4 ? it->most : 40));
        const uint64_t collective = draw(&all) % 5;
        const uint64_t root = draw(&all);
        int size;
        if (comm == MPI_COMM_NULL) continue;
        MPI_Comm_size(comm, &size);
        if (ints == 0) continue; /* a datatype of no ints has no extent */
        const int to = (int)(root % (uint64_t)size);
        if (collective == 0) scatters(call, ints, to, &own, comm);
        if (collective == 1) gathers(call, ints, to, &own, comm);
        if (collective == 2) allgathers(call, ints, &own, comm);
        if (collective >= 3) reduces(call, ints, to, collective == 4, &own, comm);
        if (collective == 3 && call % 3 == 0) bits(call, ints, to, comm);
        if (collective == 4 && call % 3 == 0) bits_of_all(call, ints, comm);
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
