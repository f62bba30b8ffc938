/* Broadcasts without end: memory stays flat, and every byte of each is right.
 *
 *   soak CALLS BYTES */
#include "check.h"

int main(int argc, char **argv)
{
    REQUIRE(argc == 3, "usage: soak CALLS BYTES");
    MPI_Init(&argc, &argv);
    const long calls = atol(argv[1]);
    const size_t bytes = (size_t)atol(argv[2]), words = bytes / sizeof(uint64_t);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    uint64_t *message = malloc(bytes);
    REQUIRE(message != NULL, "no memory");
    long before = 0;
    for (long call = 0; call < calls; call++) {
        /* By then the trials of ways and the search for plans have allocated their memory. */
        if (call == calls / 2) before = resident_kib();
        const int root = (int)(call / 64 % size);
        for (size_t at = 0; at < words; at++) message[at] = rank == root ? (uint64_t)call * 1000003 + at : 0;
        MPI_Bcast(message, (int)bytes, MPI_BYTE, root, MPI_COMM_WORLD);
        for (size_t at = 0; at < words; at++)
            REQUIRE(message[at] == (uint64_t)call * 1000003 + at, "call %ld, word %zu", call, at);
    }
    const long grown = resident_kib() - before;
    REQUIRE(grown < 4 << 10, "memory grew by %ld KiB in %ld calls", grown, calls - calls / 2);
    if (rank == 0) printf("ok %ld calls, %ld KiB more\n", calls, grown);
    free(message);
    MPI_Finalize();
    return 0;
}
