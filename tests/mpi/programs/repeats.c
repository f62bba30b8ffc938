/* Runs of broadcasts of one length, in which calls may go unannounced, with other lengths, roots and communicators in
 * between; communicators are made and freed meanwhile.
 *
 *   repeats ROUNDS SEED */
#include "check.h"

#define LARGEST 1200000

static unsigned char bytes[LARGEST];

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const int rounds = argc > 1 ? atoi(argv[1]) : 50;
    uint64_t shared = argc > 2 ? strtoull(argv[2], NULL, 10) : 1, message = 0;
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm comms[2] = {MPI_COMM_WORLD, MPI_COMM_NULL};
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    const int lengths[] = {65536, 65537, 70000, LARGEST};
    for (int round = 0; round < rounds; round++) {
        MPI_Comm comm = comms[draw(&shared) % 2];
        int length = lengths[draw(&shared) % 4], root = (int)(draw(&shared) % (uint64_t)size);
        for (uint64_t left = draw(&shared) % 20; left > 0; left--) {
            broadcast(bytes, length, root, comm, ++message);
            if (draw(&shared) % 8 == 0) root = (int)(draw(&shared) % (uint64_t)size);
        }
        if (draw(&shared) % 16 == 0) {
            MPI_Comm_free(&comms[1]);
            MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
        }
    }
    MPI_Comm_free(&comms[1]);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) printf("ok\n");
    MPI_Finalize();
    return 0;
}
