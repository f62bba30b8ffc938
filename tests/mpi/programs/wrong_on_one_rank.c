/* Wrong arguments at the last rank alone, which get an error there; then correct calls of the same communicator.
 *
 *   wrong_on_one_rank */
#include "check.h"

enum { COUNT = 1000, MOST = 8 };

static int rank, size, last;
static int from[MOST * COUNT], to[MOST * COUNT], counts[MOST], starts[MOST];

typedef enum { SCATTERV, GATHERV, SCATTER, GATHER, ALLGATHER, REDUCE, ALLREDUCE, CALLS } call;
static const char *const names[] = {"scatterv", "gatherv", "scatter", "gather", "allgather", "reduce", "allreduce"};

static int made(call it, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    switch (it) {
    case SCATTERV: return MPI_Scatterv(from, counts, starts, MPI_INT, to, COUNT, type, 0, comm);
    case GATHERV: return MPI_Gatherv(from, COUNT, type, to, counts, starts, MPI_INT, 0, comm);
    case SCATTER: return MPI_Scatter(from, COUNT, MPI_INT, to, COUNT, type, 0, comm);
    case GATHER: return MPI_Gather(from, COUNT, type, to, COUNT, MPI_INT, 0, comm);
    case ALLGATHER: return MPI_Allgather(from, COUNT, type, to, COUNT, MPI_INT, comm);
    case REDUCE: return MPI_Reduce(from, to, COUNT, MPI_INT, op, 0, comm);
    default: return MPI_Allreduce(from, to, COUNT, MPI_INT, op, comm);
    }
}

/* What rank `from_rank` gives to rank `to_rank` in a round; a scatter's root gives to each, others the same to all. */
static int value(int round, int from_rank, int to_rank) { return 100 * round + 10 * from_rank + to_rank; }

static void fill_round(call it, int round)
{
    const int is_scatter = it == SCATTER || it == SCATTERV;
    for (int at = 0; at < size * COUNT; at++) from[at] = value(round, rank, is_scatter ? at / COUNT : 0), to[at] = -1;
}

static void compare_round(call it, int round)
{
    if ((it == GATHER || it == GATHERV || it == REDUCE) && rank != 0) return;
    if (it == SCATTER || it == SCATTERV)
        for (int at = 0; at < COUNT; at++) REQUIRE(to[at] == value(round, 0, rank), "%s, round %d: %d", names[it], round, to[at]);
    else if (it == GATHER || it == GATHERV || it == ALLGATHER)
        for (int at = 0; at < size * COUNT; at++)
            REQUIRE(to[at] == value(round, at / COUNT, 0), "%s, round %d, element %d: %d", names[it], round, at, to[at]);
    else
        for (int at = 0; at < COUNT; at++)
            REQUIRE(to[at] == 100 * round * size + 10 * size * last / 2, "%s, round %d: %d", names[it], round, to[at]);
}

/* Where the root tells the lengths of the blocks, all ranks call, else the last one alone. */
static void go_wrong(call it, MPI_Comm comm)
{
    const int do_all_call = it <= GATHERV, is_reduction = it >= REDUCE;
    int class = MPI_SUCCESS;
    const MPI_Datatype type = rank == last ? MPI_DATATYPE_NULL : MPI_INT;
    if (!do_all_call && rank != last) return;
    fill_round(it, 9);
    MPI_Error_class(made(it, is_reduction ? MPI_INT : type, MPI_OP_NULL, comm), &class);
    if (rank == last) REQUIRE(class == (is_reduction ? MPI_ERR_OP : MPI_ERR_TYPE), "%s: class %d", names[it], class);
    /* Of a gather the root lacks a block. */
    const int fails = rank == last || (rank == 0 && it == GATHERV);
    REQUIRE((class == MPI_SUCCESS) == !fails, "%s: class %d", names[it], class);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    REQUIRE(size > 1 && size <= MOST, "%d ranks", size);
    last = size - 1;
    for (int at = 0; at < size; at++) counts[at] = COUNT, starts[at] = at * COUNT;
    for (int it = 0; it < CALLS; it++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        for (int round = 1; round <= 4; round++) {
            if (round % 2 == 1) go_wrong((call)it, comm);
            fill_round((call)it, round);
            REQUIRE(made((call)it, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS, "%s, round %d", names[it], round);
            compare_round((call)it, round);
        }
    }
    if (rank == 0) printf("ok\n");
    MPI_Finalize();
    return 0;
}
