/* Handles that stand for nothing, or no longer: each reaches the error handler. Prints the errors, for a comparison with the
 * MPI alone.
 *
 *   no_such_handle */
#include "check.h"

enum { COUNT = 100000, MOST = 4 };

static int from[MOST * COUNT], to[MOST * COUNT], handled;

static void on_error(MPI_Comm *comm, int *error, ...)
{
    (void)comm, (void)error;
    handled++;
}

typedef enum { TYPE_IN_BCAST, TYPE_IN_SCATTER, TYPE_IN_GATHER, TYPE_IN_ALLGATHER, OP_IN_ALLREDUCE, OP_IN_REDUCE,
               COMM_IN_BCAST, COMM_IN_ALLREDUCE, COMM_IN_GATHER, COMM_IN_SCATTERV, CASES } where;
static const char *const names[] = {
    "datatype of a bcast", "datatype of a scatter", "datatype of a gather", "datatype of an allgather",
    "operation of an allreduce", "operation of a reduce",
    "communicator of a bcast", "communicator of an allreduce", "communicator of a gather", "communicator of a scatterv",
};

/* Open MPI's handles are addresses, of which it refuses the null one for datatypes. */
#ifdef OPEN_MPI
#define NO_TYPE ((MPI_Datatype)0)
#define NO_OP MPI_OP_NULL
/* It dies of a communicator that has been freed. */
#define TRIED COMM_IN_BCAST
#else
#define NO_TYPE ((MPI_Datatype)12345)
#define NO_OP ((MPI_Op)12345)
#define TRIED CASES
#endif

static int made(where wrong, MPI_Comm comm, MPI_Comm freed)
{
    static const int counts[MOST] = {COUNT, COUNT, COUNT, COUNT}, starts[MOST];
    switch (wrong) {
    case TYPE_IN_BCAST: return MPI_Bcast(to, COUNT, NO_TYPE, 0, comm);
    case TYPE_IN_SCATTER: return MPI_Scatter(from, COUNT, NO_TYPE, to, COUNT, NO_TYPE, 0, comm);
    case TYPE_IN_GATHER: return MPI_Gather(from, COUNT, NO_TYPE, to, COUNT, NO_TYPE, 0, comm);
    case TYPE_IN_ALLGATHER: return MPI_Allgather(from, COUNT, NO_TYPE, to, COUNT, NO_TYPE, comm);
    case OP_IN_ALLREDUCE: return MPI_Allreduce(from, to, COUNT, MPI_INT, NO_OP, comm);
    case OP_IN_REDUCE: return MPI_Reduce(from, to, COUNT, MPI_INT, NO_OP, 0, comm);
    case COMM_IN_BCAST: return MPI_Bcast(to, COUNT, MPI_INT, 0, freed);
    case COMM_IN_ALLREDUCE: return MPI_Allreduce(from, to, COUNT, MPI_INT, MPI_SUM, freed);
    case COMM_IN_GATHER: return MPI_Gather(from, COUNT, MPI_INT, to, COUNT, MPI_INT, 0, freed);
    default: return MPI_Scatterv(from, counts, starts, MPI_INT, to, COUNT, MPI_INT, 0, freed);
    }
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    REQUIRE(size <= MOST, "%d ranks", size);
    MPI_Comm comm, gone, freed;
    MPI_Errhandler handler;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Comm_dup(MPI_COMM_WORLD, &gone);
    freed = gone;
    MPI_Comm_free(&gone);
    for (int wrong = 0; wrong < (int)TRIED; wrong++) {
        /* Errors of no communicator go to the handler of one of these, by the version of MPI. */
        const int is_comm = wrong >= COMM_IN_BCAST;
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, is_comm ? handler : MPI_ERRORS_ARE_FATAL);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, is_comm ? handler : MPI_ERRORS_ARE_FATAL);
        int kind;
        handled = 0;
        MPI_Error_class(made((where)wrong, comm, freed), &kind);
        printf("rank %d, %s: class %d, handled %d times\n", rank, names[wrong], kind, handled);
        fflush(stdout);
        REQUIRE(handled == 1, "%s: handled %d times", names[wrong], handled);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_free(&comm);
    MPI_Errhandler_free(&handler);
    MPI_Finalize();
    return 0;
}
