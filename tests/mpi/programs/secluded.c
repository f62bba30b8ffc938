/* While the runtime tries the ways into other ranks' memory, the ranks make theirs unreadable, as far as the system
 * permits: messages then have to take another way.
 *
 *   secluded ROUNDS */
#define _GNU_SOURCE
#include "check.h"

#include <sys/prctl.h>
#include <unistd.h>

#define BYTES 300000

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const int rounds = argc > 1 ? atoi(argv[1]) : 60;
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    static unsigned char message[BYTES];
    for (int round = 0; round < rounds; round++) {
        /* Copying straight out of the root's memory is tried in rounds 4 to 7. */
        if (round == 6) {
            prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
            /* Root may read every process; another user may not. */
            if (geteuid() == 0 && rank > 0 && seteuid(65534) != 0) perror("seteuid");
        }
        broadcast(message, BYTES, round % size, MPI_COMM_WORLD, (uint64_t)round);
    }
    if (geteuid() != 0 && getuid() == 0 && seteuid(0) != 0) perror("seteuid");
    if (rank == 0) printf("ok %d rounds\n", rounds);
    MPI_Finalize();
    return 0;
}
