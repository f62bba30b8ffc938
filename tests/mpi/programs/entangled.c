/* Sends in flight across a broadcast: a rank receives before it comes to the broadcast what another sends, who is
 * in the broadcast already. So a rank that waits in a broadcast must let the MPI progress.
 *
 *   entangled ROUNDS */
#include "check.h"

#define BYTES 3000000

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const int rounds = argc > 1 ? atoi(argv[1]) : 10;
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    unsigned char *message = malloc(BYTES), *sent = malloc(BYTES), *received = malloc(BYTES);
    REQUIRE(message && sent && received, "no memory");
    for (int round = 0; round < rounds; round++) {
        const int root = round % size, next = (rank + 1) % size, before = (rank + size - 1) % size;
        MPI_Request request;
        fill(sent, BYTES, 1000 + (uint64_t)(round * size + rank));
        MPI_Isend(sent, BYTES, MPI_BYTE, next, 5, MPI_COMM_WORLD, &request);
        /* The odd ones receive first, from even ones that wait in the broadcast. */
        if (rank % 2 == 1) MPI_Recv(received, BYTES, MPI_BYTE, before, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == root) fill(message, BYTES, (uint64_t)round);
        MPI_Bcast(message, BYTES, MPI_BYTE, root, MPI_COMM_WORLD);
        compare(message, BYTES, (uint64_t)round);
        if (rank % 2 == 0) MPI_Recv(received, BYTES, MPI_BYTE, before, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        compare(received, BYTES, 1000 + (uint64_t)(round * size + before));
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (rank == 0) printf("ok %d rounds\n", rounds);
    MPI_Finalize();
    return 0;
}
