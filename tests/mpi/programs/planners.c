/* One communicator for each planner that is named, its broadcasts planned by that one: the runtime reads the
 * environment when a communicator carries its first large broadcast.
 *
 *   planners NAME... */
#define _POSIX_C_SOURCE 200112L
#include "check.h"

#define LARGEST 300000

int main(int argc, char **argv)
{
    static unsigned char bytes[LARGEST];
    MPI_Init(&argc, &argv);
    int rank, size;
    uint64_t message = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int at = 1; at < argc; at++) {
        MPI_Comm comm;
        setenv("BROADLEAF_PLANNER", argv[at], 1);
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_name(comm, argv[at]);
        const int lengths[] = {LARGEST, LARGEST - 1, 70001, 5000, LARGEST};
        for (int call = 0; call < 5; call++) {
            const int root = call % 2 == 0 ? 0 : size - 1;
            broadcast(bytes, lengths[call], root, comm, ++message);
        }
        MPI_Comm_free(&comm);
    }
    if (rank == 0) printf("ok %llu broadcasts\n", (unsigned long long)message);
    MPI_Finalize();
    return 0;
}
