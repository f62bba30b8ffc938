/* Arguments that the MPI refuses, on all ranks alike: with the program's error handler, the same class and as often as
 * without the library. Prints the errors, for a comparison. With `fatal CASE` the handler stays MPI's own.
 *
 *   arguments | arguments fatal CASE */
#include "check.h"

#define BYTES 300000

static unsigned char bytes[BYTES];
static int handled, handled_class;

static void on_error(MPI_Comm *comm, int *error, ...)
{
    (void)comm;
    handled++;
    MPI_Error_class(*error, &handled_class);
}

enum { IN_PLACE, UNCOMMITTED, NO_TYPE, NEGATIVE, ROOT_HIGH, ROOT_LOW, NO_COMM, CASES };
/* MPICH does not look for MPI_IN_PLACE, and reads from the address that stands for it. */
#ifdef OPEN_MPI
enum { FIRST = IN_PLACE };
#else
enum { FIRST = UNCOMMITTED };
#endif
static const char *const names[] = {"in-place", "uncommitted", "no-type", "negative", "root-high", "root-low", "no-comm"};

static int call(int which, MPI_Comm comm, MPI_Datatype uncommitted, int size)
{
    switch (which) {
    case IN_PLACE: return MPI_Bcast(MPI_IN_PLACE, BYTES, MPI_BYTE, 0, comm);
    case UNCOMMITTED: return MPI_Bcast(bytes, 1, uncommitted, 0, comm);
    case NO_TYPE: return MPI_Bcast(bytes, BYTES, MPI_DATATYPE_NULL, 0, comm);
    case NEGATIVE: return MPI_Bcast(bytes, -BYTES, MPI_BYTE, 0, comm);
    case ROOT_HIGH: return MPI_Bcast(bytes, BYTES, MPI_BYTE, size, comm);
    case ROOT_LOW: return MPI_Bcast(bytes, BYTES, MPI_BYTE, -1, comm);
    default: return MPI_Bcast(bytes, BYTES, MPI_BYTE, 0, MPI_COMM_NULL);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Datatype uncommitted;
    MPI_Type_contiguous(BYTES, MPI_BYTE, &uncommitted);
    if (argc > 2) call(atoi(argv[2]), MPI_COMM_WORLD, uncommitted, size);

    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    uint64_t message = 0;
    for (int round = 0; round < 2; round++)
        for (int which = FIRST; which < CASES; which++) {
            handled = handled_class = 0;
            int error = call(which, MPI_COMM_WORLD, uncommitted, size), kind;
            MPI_Error_class(error, &kind);
            if (rank == 0)
                printf("%s: class %d, handled %d times with class %d\n", names[which], kind, handled, handled_class);
            /* The communicator still works. */
            handled = 0;
            broadcast(bytes, BYTES, which % size, MPI_COMM_WORLD, message++);
            REQUIRE(handled == 0, "after %s", names[which]);
        }
    MPI_Errhandler_free(&handler);
    MPI_Type_free(&uncommitted);
    MPI_Finalize();
    return 0;
}
