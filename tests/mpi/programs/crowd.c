/* As many communicators at once as asked for, each with a large broadcast, then freed and made again.
 *
 *   crowd COMMUNICATORS */
#include "check.h"

#define BYTES 70000
#define MOST 4096

static unsigned char bytes[BYTES];

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, made = 0;
    const int wanted = argc > 1 ? atoi(argv[1]) : 100;
    static MPI_Comm comms[MOST];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int round = 0; round < 2; round++) {
        for (made = 0; made < wanted && made < MOST; made++) {
            int error;
            /* The same ranks, the same in another order, and some of them. */
            if (made % 3 == 0)
                error = MPI_Comm_dup(MPI_COMM_WORLD, &comms[made]);
            else
                error = MPI_Comm_split(MPI_COMM_WORLD, made % 3 == 1 ? 0 : rank % 2, -rank, &comms[made]);
            REQUIRE(error == MPI_SUCCESS, "communicator %d of %d", made, wanted);
            broadcast(bytes, BYTES, 0, comms[made], (uint64_t)made);
        }
        /* Messages of one never come to another. */
        for (int at = made - 1; at >= 0; at -= 7) broadcast(bytes, BYTES, 0, comms[at], (uint64_t)at + 5000);
        for (int at = 0; at < made; at++) MPI_Comm_free(&comms[at]);
    }
    if (rank == 0) printf("ok %d\n", made);
    MPI_Finalize();
    return 0;
}
