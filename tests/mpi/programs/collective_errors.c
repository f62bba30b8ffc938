/* Wrong arguments of every collective that can be planned, each on a communicator of its own: prints the class of each
 * rank's error, for a comparison with the MPI alone.
 *
 *   collective_errors */
#include "check.h"

#define COUNT 64
#define MOST 8

static int from[MOST * COUNT + 1], to[MOST * COUNT + 1];
static double numbers[COUNT], sums[MOST * COUNT];
static int counts[MOST], negative[MOST], starts[MOST];
static int rank, size;

typedef enum { ROOT_AFTER, ROOT_BEFORE, TYPE_NULL, COUNT_NEGATIVE, NO_MEMORY, OP_NULL, OP_OF_OTHER_TYPE, MORE, LESS, ONE_MEMORY, FAULTS } fault;
static const char *const faults[] = {
    "root after the last", "root -1", "no type", "negative count", "no memory", "no operation", "operation not for the type",
    "more at the last rank", "less at the last rank", "one memory for both sides",
};
typedef enum { BCAST, SCATTER, GATHER, ALLGATHER, REDUCE, REDUCE_SCATTER, BLOCK, ALLREDUCE, SCATTERV, GATHERV, ALLGATHERV, CALLS } call;
static const char *const calls[] = {
    "bcast",           "scatter",   "gather",   "allgather", "reduce",     "reduce_scatter",
    "reduce_scatter_block", "allreduce", "scatterv", "gatherv",   "allgatherv",
};

static int has_root(call it) { return it < ALLGATHER || it == REDUCE || it == SCATTERV || it == GATHERV; }
static int combines(call it) { return it >= REDUCE && it <= ALLREDUCE; }

/* Open MPI 5 does not look at the memory of a gatherv, MPICH 5 not at the type and count of a
 * reduction: both die. Open MPI accepts one memory for both sides, or ends the program, except in a reduce. */
#ifdef OPEN_MPI
#define IS_MEMORY_CHECKED 0
#define IS_REDUCTION_CHECKED 1
#define IS_ONE_MEMORY_CHECKED(it) ((it) == REDUCE)
#else
#define IS_MEMORY_CHECKED 1
#define IS_REDUCTION_CHECKED 0
#define IS_ONE_MEMORY_CHECKED(it) 1
#endif

/* Faults that a call can have, and that the MPI alone answers by an error. */
static int can_have(call it, fault wrong)
{
    switch (wrong) {
    case ROOT_AFTER:
    case ROOT_BEFORE: return has_root(it);
    case NO_MEMORY: return it == GATHERV && IS_MEMORY_CHECKED;
    case OP_NULL:
    case OP_OF_OTHER_TYPE: return combines(it);
    case TYPE_NULL:
    case COUNT_NEGATIVE: return !combines(it) || IS_REDUCTION_CHECKED;
    /* MPIs accept a shorter block in a gatherv, a plan does not; with a longer one in an allgatherv Open MPI 5 hangs. */
    case MORE: return it == SCATTERV || it == GATHERV;
    case LESS: return it == SCATTERV;
    case ONE_MEMORY: return it != BCAST && IS_ONE_MEMORY_CHECKED(it);
    default: return 1;
    }
}

static int made(call it, fault wrong, MPI_Comm comm)
{
    const int root = wrong == ROOT_AFTER ? size : wrong == ROOT_BEFORE ? -1 : 0;
    const int other = rank < size - 1 ? 0 : wrong == MORE ? 1 : wrong == LESS ? -1 : 0;
    const int count = wrong == COUNT_NEGATIVE ? -COUNT : COUNT + other;
    const int *all = wrong == COUNT_NEGATIVE ? negative : counts;
    const int is_number = wrong == OP_OF_OTHER_TYPE;
    const MPI_Datatype type = wrong == TYPE_NULL ? MPI_DATATYPE_NULL : is_number ? MPI_DOUBLE : MPI_INT;
    const MPI_Op op = wrong == OP_NULL ? MPI_OP_NULL : is_number ? MPI_BAND : MPI_SUM;
    const void *given = is_number ? (void *)sums : from;
    void *result = is_number ? (void *)numbers : to;
    if (wrong == ONE_MEMORY) given = combines(it) || it == SCATTER || it == SCATTERV ? to : to + rank * COUNT;
    /* Only the root's error is certain, and it is the root's alone: the others need not call. */
    if (wrong == ONE_MEMORY && has_root(it) && rank != root) return MPI_SUCCESS;
    switch (it) {
    case BCAST: return MPI_Bcast(to, count, type, root, comm);
    case SCATTER: return MPI_Scatter(given, count, type, result, count, type, root, comm);
    case GATHER: return MPI_Gather(given, count, type, result, count, type, root, comm);
    case ALLGATHER: return MPI_Allgather(given, count, type, result, count, type, comm);
    case REDUCE: return MPI_Reduce(given, result, count, type, op, root, comm);
    case REDUCE_SCATTER: return MPI_Reduce_scatter(given, result, all, type, op, comm);
    case BLOCK: return MPI_Reduce_scatter_block(given, result, count, type, op, comm);
    case ALLREDUCE: return MPI_Allreduce(given, result, count, type, op, comm);
    case SCATTERV: return MPI_Scatterv(given, all, starts, type, result, count, type, root, comm);
    case GATHERV:
        if (wrong == NO_MEMORY) result = NULL;
        return MPI_Gatherv(given, count, type, result, all, starts, type, root, comm);
    default: return MPI_Allgatherv(given, count, type, result, all, starts, type, comm);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    REQUIRE(size <= MOST, "%d ranks", size);
    for (int at = 0; at < size; at++) counts[at] = COUNT, negative[at] = -COUNT, starts[at] = at * COUNT;
    for (int it = 0; it < CALLS; it++)
        for (int wrong = 0; wrong < FAULTS; wrong++) {
            if (!can_have((call)it, (fault)wrong)) continue;
            MPI_Comm comm;
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
            MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
            int class, classes[MOST];
            MPI_Error_class(made((call)it, (fault)wrong, comm), &class);
            MPI_Gather(&class, 1, MPI_INT, classes, 1, MPI_INT, 0, MPI_COMM_WORLD);
            for (int at = 0; rank == 0 && at < size; at++)
                printf("%s, %s: rank %d, class %d\n", calls[it], faults[wrong], at, classes[at]);
            if (rank == 0) fflush(stdout);
        }
    if (rank == 0) printf("ok\n");
    MPI_Finalize();
    return 0;
}
