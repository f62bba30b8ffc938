/* A program that would notice any message but its own: collectives of every length, and receives from any rank with
 * any tag, from the first call after MPI_Init on. Some ranks may run without the library. */
#include "check.h"

#define BYTES 300000

static unsigned char bytes[BYTES];

/* Every other rank sends one message, which rank 0 takes from whom it likes. */
static void take_any(int rank, int size, uint64_t message)
{
    for (int other = 1; rank == 0 && other < size; other++) {
        MPI_Status status;
        int count;
        MPI_Recv(bytes, BYTES, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        REQUIRE(count == 100 + status.MPI_SOURCE, "%d bytes from rank %d", count, status.MPI_SOURCE);
        compare(bytes, (uint64_t)count, message + (uint64_t)status.MPI_SOURCE);
    }
    if (rank == 0) return;
    fill(bytes, (uint64_t)(100 + rank), message + (uint64_t)rank);
    MPI_Send(bytes, 100 + rank, MPI_BYTE, 0, rank, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int lengths[] = {4, 40, 8, 1, BYTES, 1000, 100000, BYTES};
    for (int at = 0; at < 8; at++) {
        broadcast(bytes, lengths[at], at % size, MPI_COMM_WORLD, (uint64_t)at);
        take_any(rank, size, 1000 * (uint64_t)at);
        /* The next round's messages must not come into this one. */
        MPI_Barrier(MPI_COMM_WORLD);
    }
    int sum, one = 1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    REQUIRE(sum == size, "sum %d", sum);
    if (rank == 0) printf("ok\n");
    MPI_Finalize();
    return 0;
}
