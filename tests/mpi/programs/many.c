/* Many broadcasts one after the other, of drawn sizes and roots, on several communicators, while ranks come and
 * go late: whatever one rank is ahead of another must not mix two broadcasts.
 *
 *   many ROUNDS LARGEST_BYTES SEED */
#define _POSIX_C_SOURCE 199309L
#include "check.h"

#include <time.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const int rounds = argc > 1 ? atoi(argv[1]) : 200;
    const uint64_t largest = argc > 2 ? strtoull(argv[2], NULL, 10) : 1 << 20;
    uint64_t shared = argc > 3 ? strtoull(argv[3], NULL, 10) : 1, own;
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    own = shared ^ (uint64_t)rank << 32;

    /* The world, its ranks in reverse, and the odd and the even ones. */
    MPI_Comm comms[3];
    comms[0] = MPI_COMM_WORLD;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comms[2]);
    unsigned char *bytes = malloc(largest);
    REQUIRE(bytes != NULL, "no memory");

    for (int round = 1; round <= rounds; round++) {
        MPI_Comm comm = comms[draw(&shared) % 3];
        /* As many sizes below a power of two as above it, down to far below the threshold. */
        uint64_t count = draw(&shared) % (largest >> draw(&shared) % 12) + 1;
        uint64_t who = draw(&shared);
        int me, ranks;
        MPI_Comm_rank(comm, &me);
        MPI_Comm_size(comm, &ranks);
        int root = (int)(who % (uint64_t)ranks);
        /* The two halves get different messages. */
        uint64_t message = (uint64_t)round << 8 | (comm == comms[2] ? rank % 2 : 2);
        if (me == root)
            fill(bytes, count, message);
        else
            memset(bytes, 0, count);
        if (draw(&own) % 8 == 0) {
            struct timespec late = {0, (long)(draw(&own) % 2000000)};
            nanosleep(&late, NULL);
        }
        MPI_Bcast(bytes, (int)count, MPI_BYTE, root, comm);
        compare(bytes, count, message);
    }
    free(bytes);
    MPI_Comm_free(&comms[1]);
    MPI_Comm_free(&comms[2]);
    if (rank == 0) printf("ok %d broadcasts\n", rounds);
    MPI_Finalize();
    return 0;
}
