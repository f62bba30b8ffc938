/* The reductions of random_collectives, each with its expected result. */
#ifndef RANDOM_REDUCTIONS_H
#define RANDOM_REDUCTIONS_H

#include "check.h"

#define HOLE ((int)0xa5a5a5a5)

/* A rank's contribution at a place. */
static int value(int call, int block, int at) { return (call * 31 + block) * 1009 + at; }

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

/* Numbers of one type, all of which it represents exactly. */
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

static int reduce_scatter_by(int name, const void *from, void *to, int count, const int *counts, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm)
{
#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
    if (counts == NULL && name == 2) return MPI_Reduce_scatter_block_c(from, to, count, type, op, comm);
    if (name == 2) {
        int size;
        MPI_Count large[64];
        MPI_Comm_size(comm, &size);
        for (int rank = 0; rank < size; rank++) large[rank] = counts[rank];
        return MPI_Reduce_scatter_c(from, to, large, type, op, comm);
    }
#endif
    if (counts == NULL && name == 1) return PMPI_Reduce_scatter_block(from, to, count, type, op, comm);
    if (counts == NULL) return MPI_Reduce_scatter_block(from, to, count, type, op, comm);
    if (name == 1) return PMPI_Reduce_scatter(from, to, counts, type, op, comm);
    return MPI_Reduce_scatter(from, to, counts, type, op, comm);
}

/* Blocks of one length, and by counts, equal or not. */
static void reduce_scatters(int call, int count, uint64_t *own, MPI_Comm comm)
{
    int rank, size, counts[64], first = 0, all = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int other = 0; other < size; other++) {
        counts[other] = call % 5 == 1 ? (other + call) % 3 * count : count;
        if (other < rank) first += counts[other];
        all += counts[other];
    }
    const MPI_Datatype types[] = {MPI_INT64_T, MPI_INT, MPI_DOUBLE}, type = types[call % 7 % 3];
    const int is_sum = call % 2;
    numbers to = numbers_for(all), from = {.data = call % 3 == 0 ? NULL : numbers_for(all).data};
    for (int at = 0; at < all; at++) put_number(from.data != NULL ? from : to, type, at, value(call, rank, at));
    const int error = reduce_scatter_by((int)(draw(own) % 3), from.data == NULL ? MPI_IN_PLACE : from.data, to.data, count,
                                        call % 5 < 2 ? counts : NULL, type, is_sum ? MPI_SUM : MPI_MAX, comm);
    REQUIRE(error == MPI_SUCCESS, "reduce-scatter %d: error %d", call, error);
    for (int at = 0; at < counts[rank]; at++) {
        int64_t sum = 0;
        for (int other = 0; other < size; other++) sum += value(call, other, first + at);
        const int64_t wanted = is_sum ? sum : value(call, size - 1, first + at), got = number_of(to, type, at);
        REQUIRE(got == wanted, "reduce-scatter %d: number %d is %lld, not %lld", call, at, (long long)got, (long long)wanted);
    }
    for (int at = 0; from.data != NULL && at < all; at++)
        REQUIRE(number_of(from, type, at) == value(call, rank, at), "what a reduce-scatter sends: number %d", at);
    free(from.data);
    free(to.data);
}

/* Elements of two ints with a hole behind each, and their addition. */
static void add_elements(void *came, void *into, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int at = 0; at < *count; at++)
        for (int part = 0; part < 4; part += 2) ((int *)into)[4 * at + part] += ((int *)came)[4 * at + part];
}

static int *elements_of(int count)
{
    int *ints = malloc(16 * ((size_t)count + 1));
    REQUIRE(ints != NULL, "no memory");
    for (int at = 0; at < 4 * (count + 1); at++) ints[at] = HOLE;
    return ints;
}

/* The program's own operation on its own datatype, by each reduction; the last element's hole is not there. */
static void own_operations(int call, int count, int root, MPI_Comm comm)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Datatype two, type;
    MPI_Op op;
    MPI_Type_vector(2, 1, 2, MPI_INT, &two);
    MPI_Type_create_resized(two, 0, 16, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(add_elements, 1, &op);
    const int kind = call % 3, blocks = kind == 2 ? size : 1, all = blocks * count, has_result = kind != 0 || rank == root;
    int *to = elements_of(all), *from = call % 4 == 0 && has_result ? NULL : elements_of(all), *mine = from == NULL ? to : from;
    for (int at = 0; at < 2 * all; at++) mine[2 * at] = value(call, rank, at);
    const void *out = from == NULL ? MPI_IN_PLACE : (const void *)from;
    int error = kind == 0   ? MPI_Reduce(out, to, count, type, op, root, comm)
                : kind == 1 ? MPI_Allreduce(out, to, count, type, op, comm)
                            : MPI_Reduce_scatter_block(out, to, count, type, op, comm);
    REQUIRE(error == MPI_SUCCESS, "own operation %d: error %d", call, error);
    for (int at = 0; has_result && at < 2 * count; at++) {
        int64_t sum = 0;
        for (int other = 0; other < size; other++) sum += value(call, other, at + (kind == 2 ? 2 * rank * count : 0));
        REQUIRE(to[2 * at] == (int)sum, "own operation %d: int %d is %d, not %d", call, at, to[2 * at], (int)sum);
        REQUIRE(to[2 * at + 1] == HOLE, "own operation %d: a hole is written", call);
    }
    for (int at = 0; from != NULL && at < 2 * all; at++) REQUIRE(from[2 * at] == value(call, rank, at), "what is sent");
    free(from);
    free(to);
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    MPI_Type_free(&two);
}

/* Pairs with a gap between and behind their parts. */
static void pairs(int call, int count, MPI_Comm comm)
{
    struct pair {
        double number;
        int at;
    } *mine = calloc((size_t)count, sizeof *mine), *most = calloc((size_t)count, sizeof *most);
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int at = 0; at < count; at++) mine[at] = (struct pair){(rank + at) % size / 2, rank};
    const int error = MPI_Allreduce(mine, most, count, MPI_DOUBLE_INT, MPI_MAXLOC, comm);
    REQUIRE(error == MPI_SUCCESS, "pairs %d: error %d", call, error);
    for (int at = 0; at < count; at++) {
        struct pair best = {-1, 0};
        for (int other = 0; other < size; other++)
            if ((other + at) % size / 2 > best.number) best = (struct pair){(other + at) % size / 2, other};
        REQUIRE(most[at].number == best.number && most[at].at == best.at, "pair %d: %g of %d", at, most[at].number, most[at].at);
    }
    free(mine);
    free(most);
}

/* Numbers whose sum depends in its last bits on the order of additions. */
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

static void keep_second(void *came, void *into, int *count, MPI_Datatype *type)
{
    (void)came, (void)into, (void)count, (void)type;
}

/* Calls that go to the MPI: operations that do not commute, and those that are not defined for a type. */
static void reductions_of_the_mpi(int rank, int ranks)
{
    MPI_Op op;
    MPI_Op_create(keep_second, 0, &op);
    int one[500], last[500];
    for (int at = 0; at < 500; at++) one[at] = rank;
    REQUIRE(MPI_Reduce(one, last, 500, MPI_INT, op, 0, MPI_COMM_WORLD) == MPI_SUCCESS, "an operation with an order");
    if (rank == 0) REQUIRE(last[499] == ranks - 1, "%d", last[499]);
    REQUIRE(MPI_Allreduce(one, last, 500, MPI_INT, op, MPI_COMM_WORLD) == MPI_SUCCESS, "an operation with an order");
    REQUIRE(last[499] == ranks - 1, "%d", last[499]);
    MPI_Op_free(&op);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    float number = 1, result;
    int kind, error = MPI_Reduce(&number, &result, 1, MPI_FLOAT, MPI_BAND, 0, MPI_COMM_WORLD);
    MPI_Error_class(error, &kind);
    REQUIRE(kind == MPI_ERR_OP, "class %d: bits of a float", kind);
    MPI_Error_class(MPI_Allreduce(&number, &result, 1, MPI_FLOAT, MPI_BAND, MPI_COMM_WORLD), &kind);
    REQUIRE(kind == MPI_ERR_OP, "class %d: bits of a float for all", kind);
    MPI_Error_class(MPI_Reduce(&number, &result, 1, MPI_FLOAT, MPI_SUM, ranks, MPI_COMM_WORLD), &kind);
    REQUIRE(kind == MPI_ERR_ROOT, "class %d: a root out of range", kind);
    MPI_Error_class(MPI_Allreduce(&number, &result, 1, MPI_FLOAT, MPI_OP_NULL, MPI_COMM_WORLD), &kind);
    REQUIRE(kind == MPI_ERR_OP, "class %d: no operation", kind);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

#endif
