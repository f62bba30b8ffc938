/* Wrong calls: a length that is not the root's reaches the communicator's error handler as MPI_ERR_TRUNCATE at
 * the ranks that have it, the others get their data, and the communicator goes on working. Wrong arguments are
 * answered as by the MPI.
 *
 *   errors */
#include "check.h"

#define BYTES 300000

static unsigned char bytes[2 * BYTES];
static int handled, handled_class;
static MPI_Comm handled_comm;

static void on_error(MPI_Comm *comm, int *error, ...)
{
    handled++;
    handled_comm = *comm;
    MPI_Error_class(*error, &handled_class);
}

static int class_of(int error)
{
    int kind;
    MPI_Error_class(error, &kind);
    return kind;
}

/* All ranks but those in `wrong` pass the root's length, which is `right`; these pass `length`. */
static void mismatch(MPI_Comm comm, int root, int right, int length, int only, uint64_t message)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int wrong = rank != root && (only < 0 || rank == only);
    if (rank == root)
        fill(bytes, right, message);
    else
        memset(bytes, 0, sizeof bytes);
    handled = 0;
    int error = MPI_Bcast(bytes, wrong ? length : right, MPI_BYTE, root, comm);
    if (wrong) {
        REQUIRE(class_of(error) == MPI_ERR_TRUNCATE, "error class %d for length %d", class_of(error), length);
        REQUIRE(handled == 1 && handled_class == MPI_ERR_TRUNCATE, "handled %d times, class %d", handled,
                handled_class);
        REQUIRE(handled_comm == comm, "the handler was given another communicator");
        for (int at = length; at < 2 * BYTES; at++)
            REQUIRE(bytes[at] == 0, "byte %d lies behind the message and was written", at);
    } else {
        REQUIRE(error == MPI_SUCCESS && handled == 0, "error class %d without a reason", class_of(error));
        compare(bytes, right, message);
    }
    /* The communicator still works. */
    handled = 0;
    if (rank == root) fill(bytes, BYTES, message + 1);
    REQUIRE(MPI_Bcast(bytes, BYTES, MPI_BYTE, root, comm) == MPI_SUCCESS && handled == 0, "after an error");
    compare(bytes, BYTES, message + 1);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(comm, handler);

    uint64_t message = 0;
    /* Before any plan is known, then with plans: shorter, longer, one byte, another size class. */
    const int lengths[] = {BYTES - 1, BYTES + 1, BYTES / 2, 2 * BYTES, 70000};
    for (int at = 0; at < 5; at++)
        for (int root = 0; root < size; root += size > 2 ? size - 1 : 1) {
            mismatch(comm, root, BYTES, lengths[at], -1, message += 2);
            mismatch(comm, root, BYTES, lengths[at], (root + 1) % size, message += 2);
            /* The root's length is new. */
            mismatch(comm, root, lengths[at], BYTES, (root + 1) % size, message += 2);
        }

    /* Arguments that are wrong everywhere: the MPI's own answer, which is an error at every rank. MPICH returns success
     * once a handler of the program's has been called, so the handler's class counts. */
    handled = 0;
    MPI_Bcast(bytes, BYTES, MPI_BYTE, size, comm);
    REQUIRE(handled == 1 && handled_class == MPI_ERR_ROOT, "root %d: class %d", size, handled_class);
    MPI_Bcast(bytes, BYTES, MPI_BYTE, -1, comm);
    REQUIRE(handled == 2 && handled_class == MPI_ERR_ROOT, "root -1: class %d", handled_class);
    MPI_Bcast(bytes, -BYTES, MPI_BYTE, 0, comm);
    REQUIRE(handled == 3 && handled_class == MPI_ERR_COUNT, "negative count: class %d", handled_class);
    MPI_Bcast(bytes, BYTES, MPI_DATATYPE_NULL, 0, comm);
    REQUIRE(handled == 4 && handled_class == MPI_ERR_TYPE, "no type: class %d", handled_class);

    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&comm);
    if (rank == 0) printf("ok\n");
    MPI_Finalize();
    return 0;
}
