/* The collectives of random_collectives whose blocks differ: counts with zeros among them, displacements with holes and out
 * of order, datatypes of each side's own; the counts of a scatter and a gather are given at the root alone. */
#ifndef RANDOM_UNEQUAL_H
#define RANDOM_UNEQUAL_H

#include "check.h"
#include "random_reductions.h"

#define MOST_RANKS 64

/* Blocks in memory: element `at` of a block is the int at (displs[block] + at) * step. */
typedef struct {
    MPI_Datatype type;
    int step, ranks, elements; /* that all blocks span, holes included */
    int counts[MOST_RANKS], displs[MOST_RANKS];
} uneven;

static uneven lay_unevenly(const int *counts, int ranks, uint64_t *own)
{
    const int order = (int)(draw(own) % 3), is_spread = (int)(draw(own) % 2);
    uneven it = {.type = MPI_INT, .step = is_spread ? 4 : 1, .ranks = ranks};
    if (is_spread) {
        MPI_Type_create_resized(MPI_INT, 0, 16, &it.type);
        MPI_Type_commit(&it.type);
    }
    for (int place = 0; place < ranks; place++) {
        const int block = order == 2 ? ranks - 1 - place : place;
        if (order > 0) it.elements += place % 3;
        it.counts[block] = counts[block];
        it.displs[block] = it.elements;
        it.elements += counts[block];
    }
    return it;
}

static void forget_uneven(uneven *it)
{
    if (it->step > 1) MPI_Type_free(&it->type);
}

/* Holes, but for the blocks from `first` up to `last`. */
static int *uneven_memory(const uneven *it, int first, int last, int call)
{
    const size_t room = (size_t)it->elements * (size_t)it->step + 1;
    int *ints = malloc(room * sizeof *ints);
    REQUIRE(ints != NULL, "no memory");
    for (size_t at = 0; at < room; at++) ints[at] = HOLE;
    for (int block = first; block < last; block++)
        for (int at = 0; at < it->counts[block]; at++) ints[(it->displs[block] + at) * it->step] = value(call, block, at);
    return ints;
}

static void check_uneven(const int *ints, const uneven *it, int call, const char *what)
{
    int *wanted = uneven_memory(it, 0, it->ranks, call);
    for (int at = 0; at <= it->elements * it->step; at++)
        REQUIRE(ints[at] == wanted[at], "%s %d: int %d is %d, not %d", what, call, at, ints[at], wanted[at]);
    free(wanted);
}

/* Counts and displacements in the form of the _c calls. */
typedef struct {
    MPI_Count counts[MOST_RANKS];
    MPI_Aint displs[MOST_RANKS];
} large_arrays;

static inline large_arrays enlarged(const uneven *it)
{
    large_arrays large;
    for (int rank = 0; rank < it->ranks; rank++) large.counts[rank] = it->counts[rank], large.displs[rank] = it->displs[rank];
    return large;
}

/* One rank's own block, alone. */
static uneven own_block(const int *counts, int rank, uint64_t *own)
{
    int none[MOST_RANKS] = {0};
    none[0] = counts[rank];
    return lay_unevenly(none, 1, own);
}

static int *own_memory(const uneven *it, int is_filled, int rank, int call)
{
    int *ints = uneven_memory(it, 0, 0, call);
    for (int at = 0; is_filled && at < it->counts[0]; at++) ints[at * it->step] = value(call, rank, at);
    return ints;
}

static void check_own(const int *ints, const uneven *it, int rank, int call, const char *what)
{
    for (int at = 0; at <= it->elements * it->step; at++) {
        const int is_data = at % it->step == 0 && at / it->step < it->counts[0];
        const int wanted = is_data ? value(call, rank, at / it->step) : HOLE;
        REQUIRE(ints[at] == wanted, "%s %d: int %d is %d, not %d", what, call, at, ints[at], wanted);
    }
}

static void scattervs(int call, const int *counts, int root, uint64_t *own, MPI_Comm comm)
{
    int rank, size, error;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    uneven sent = lay_unevenly(counts, size, own), got = own_block(counts, rank, own);
    const int is_root = rank == root;
    int *from = is_root ? uneven_memory(&sent, 0, size, call) : NULL;
    int *to = is_root && draw(own) % 3 == 0 ? NULL : own_memory(&got, 0, rank, call);
    void *in = to == NULL ? MPI_IN_PLACE : (void *)to;
    const int *given = is_root ? sent.counts : NULL, *places = is_root ? sent.displs : NULL;
    const int name = (int)(draw(own) % 3);
#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
    const large_arrays large = enlarged(&sent);
    if (name == 2)
        error = MPI_Scatterv_c(from, is_root ? large.counts : NULL, is_root ? large.displs : NULL, sent.type, in, got.counts[0],
                               got.type, root, comm);
    else
#endif
        error = (name == 1 ? PMPI_Scatterv : MPI_Scatterv)(from, given, places, sent.type, in, got.counts[0], got.type, root,
                                                           comm);
    REQUIRE(error == MPI_SUCCESS, "scatterv %d: error %d", call, error);
    if (to != NULL) check_own(to, &got, rank, call, "scatterv");
    if (from != NULL) check_uneven(from, &sent, call, "the root of a scatterv");
    free(from);
    free(to);
    forget_uneven(&sent);
    forget_uneven(&got);
}

static void gathervs(int call, const int *counts, int root, uint64_t *own, MPI_Comm comm)
{
    int rank, size, error;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    uneven got = lay_unevenly(counts, size, own), sent = own_block(counts, rank, own);
    const int is_root = rank == root, is_in_place = is_root && draw(own) % 3 == 0;
    int *to = is_root ? uneven_memory(&got, rank, is_in_place ? rank + 1 : rank, call) : NULL;
    int *from = is_in_place ? NULL : own_memory(&sent, 1, rank, call);
    const void *out = from == NULL ? MPI_IN_PLACE : (const void *)from;
    const int *given = is_root ? got.counts : NULL, *places = is_root ? got.displs : NULL;
    const int name = (int)(draw(own) % 3);
#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
    const large_arrays large = enlarged(&got);
    if (name == 2)
        error = MPI_Gatherv_c(out, sent.counts[0], sent.type, to, is_root ? large.counts : NULL, is_root ? large.displs : NULL,
                              got.type, root, comm);
    else
#endif
        error = (name == 1 ? PMPI_Gatherv : MPI_Gatherv)(out, sent.counts[0], sent.type, to, given, places, got.type, root, comm);
    REQUIRE(error == MPI_SUCCESS, "gatherv %d: error %d", call, error);
    if (to != NULL) check_uneven(to, &got, call, "gatherv");
    if (from != NULL) check_own(from, &sent, rank, call, "what a gatherv sends");
    free(from);
    free(to);
    forget_uneven(&sent);
    forget_uneven(&got);
}

static void allgathervs(int call, const int *counts, uint64_t *own, MPI_Comm comm)
{
    int rank, size, error;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    uneven got = lay_unevenly(counts, size, own), sent = own_block(counts, rank, own);
    const int is_in_place = call % 3 == 0;
    int *to = uneven_memory(&got, rank, is_in_place ? rank + 1 : rank, call);
    int *from = is_in_place ? NULL : own_memory(&sent, 1, rank, call);
    const void *out = from == NULL ? MPI_IN_PLACE : (const void *)from;
    const int name = (int)(draw(own) % 3);
#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
    const large_arrays large = enlarged(&got);
    if (name == 2)
        error = MPI_Allgatherv_c(out, sent.counts[0], sent.type, to, large.counts, large.displs, got.type, comm);
    else
#endif
        error = (name == 1 ? PMPI_Allgatherv : MPI_Allgatherv)(out, sent.counts[0], sent.type, to, got.counts, got.displs,
                                                               got.type, comm);
    REQUIRE(error == MPI_SUCCESS, "allgatherv %d: error %d", call, error);
    check_uneven(to, &got, call, "allgatherv");
    if (from != NULL) check_own(from, &sent, rank, call, "what an allgatherv sends");
    free(from);
    free(to);
    forget_uneven(&sent);
    forget_uneven(&got);
}

/* Four kinds of counts: about the same, some zero, one large, all equal; drawn alike on all ranks of the communicator. */
static void unequal(int call, int ints, int root, uint64_t seed, uint64_t *own, MPI_Comm comm)
{
    int size, counts[MOST_RANKS];
    MPI_Comm_size(comm, &size);
    const int kind = (int)(draw(&seed) % 4), one = (int)(draw(&seed) % (uint64_t)size);
    for (int rank = 0; rank < size; rank++) {
        const int some = 1 + (int)(draw(&seed) % (uint64_t)(ints / size + 1));
        counts[rank] = kind == 0   ? some
                       : kind == 1 ? (rank + call) % 3 * some
                       : kind == 2 ? (rank == one ? ints : 0)
                                   : 1 + ints / size;
    }
    if (call % 3 == 0) scattervs(call, counts, root, own, comm);
    if (call % 3 == 1) gathervs(call, counts, root, own, comm);
    if (call % 3 == 2) allgathervs(call, counts, own, comm);
}

/* The MPI's error classes, with the communicator's handler returning. */
static void refused_by_counts(int rank, int ranks)
{
    int kind, counts[MOST_RANKS], displs[MOST_RANKS], *all = calloc((size_t)ranks * 500, sizeof *all);
    for (int other = 0; other < ranks; other++) counts[other] = 100 + other, displs[other] = 500 * other;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Error_class(MPI_Scatterv(all, counts, displs, MPI_INT, all, counts[rank], MPI_INT, ranks, MPI_COMM_WORLD), &kind);
    REQUIRE(kind == MPI_ERR_ROOT, "class %d: a root out of range", kind);
    MPI_Error_class(MPI_Gatherv(all, counts[rank], MPI_INT, all, counts, displs, MPI_INT, -7, MPI_COMM_WORLD), &kind);
    REQUIRE(kind == MPI_ERR_ROOT, "class %d: a negative root", kind);
    int error;
#ifndef OPEN_MPI /* Open MPI 5.0.11 does not check these counts, and writes out of bounds. */
    counts[0] = -1;
    error = MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_INT, all, counts, displs, MPI_INT, MPI_COMM_WORLD);
    MPI_Error_class(error, &kind);
    REQUIRE(kind == MPI_ERR_COUNT, "class %d: a negative count", kind);
    counts[0] = 100;
#endif
    error = MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_INT, all, counts, displs, MPI_DATATYPE_NULL, MPI_COMM_WORLD);
    MPI_Error_class(error, &kind);
    REQUIRE(kind == MPI_ERR_TYPE, "class %d: no datatype", kind);
    /* The last rank has room for less than the root sends it. */
    const int room = rank == ranks - 1 ? 50 : counts[rank];
    int *mine = calloc(500, sizeof *mine);
    error = MPI_Scatterv(all, counts, displs, MPI_INT, mine, room, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Error_class(error, &kind);
    REQUIRE(kind == (rank == ranks - 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "class %d: too little room", kind);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    free(mine);
    free(all);
}

#endif
