/* A rank without memory for its packed blocks in a collective with a count for each rank. As with equal blocks: in an
 * all-gather all ranks use the MPI's own, in a scatter that rank reports it, unless it is the root, in a gather that
 * rank and the root do, in a reduce-scatter all. No call hangs, and the next one succeeds. */
#include "check.h"
#include "starved.h"

#define COUNT 3000
#define MOST 8

typedef enum { GATHER, ALLGATHER, SCATTER, REDUCE_SCATTER, CALLS } call;
static int mine[MOST * MOST * COUNT], all[MOST * MOST * COUNT];
static int rank, size, counts[MOST], starts[MOST];

static int made(call it)
{
    const MPI_Comm world = MPI_COMM_WORLD;
    const int own = counts[rank];
    for (int at = 0; at < MOST * MOST * COUNT; at++) mine[at] = at;
    for (int at = 0; it <= ALLGATHER && at < own; at++) mine[at] = starts[rank] + at;
    memset(all, 0, sizeof all);
    switch (it) {
    case GATHER: return MPI_Gatherv(mine, own, MPI_INT, all, counts, starts, MPI_INT, 0, world);
    case ALLGATHER: return MPI_Allgatherv(mine, own, MPI_INT, all, counts, starts, MPI_INT, world);
    case SCATTER: return MPI_Scatterv(mine, counts, starts, MPI_INT, all, own, MPI_INT, 0, world);
    default: return MPI_Reduce_scatter(mine, all, counts, MPI_INT, MPI_SUM, world);
    }
}

/* The result of a call that succeeded. */
static void check(call it)
{
    if (it == GATHER && rank != 0) return;
    for (int block = 0; it <= ALLGATHER && block < size; block++)
        for (int at = starts[block]; at < starts[block] + counts[block]; at++)
            REQUIRE(all[at] == at, "call %d: int %d is %d", it, at, all[at]);
    /* There are holes between the blocks of a scatter, none between those of a reduction. */
    for (int at = 0; it > ALLGATHER && at < counts[rank]; at++) {
        const int sum = size * (starts[rank] - rank + at), int_sent = starts[rank] + at;
        REQUIRE(all[at] == (it == SCATTER ? int_sent : sum), "call %d: int %d is %d", it, at, all[at]);
    }
}

static int fails(call it, int victim)
{
    const int is_victim = rank == victim;
    return it == GATHER ? is_victim || rank == 0 : it == SCATTER ? is_victim && rank != 0 : it == REDUCE_SCATTER;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int ints = 0;
    /* An int is left between blocks, so they must be packed. */
    for (int at = 0; at < size; at++) counts[at] = (at + 1) * COUNT, starts[at] = ints + at, ints += counts[at];
    starved_bytes = (size_t)ints * sizeof(int);
    for (int victim = 0; victim < size; victim++)
        for (int it = 0; it < CALLS; it++) {
            int kind;
            is_starved = rank == victim;
            MPI_Error_class(made((call)it), &kind);
            REQUIRE(!is_starved, "call %d: no memory was asked for", it);
            const int expected_kind = fails((call)it, victim) ? MPI_ERR_NO_MEM : MPI_SUCCESS;
            REQUIRE(kind == expected_kind, "call %d: class %d where rank %d has no memory", it, kind, victim);
            if (kind == MPI_SUCCESS) check((call)it);
            REQUIRE(made((call)it) == MPI_SUCCESS, "the next call %d", it);
            check((call)it);
        }
    if (rank == 0) printf("ok\n");
    MPI_Finalize();
    return 0;
}
