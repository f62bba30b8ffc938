/* Large and small broadcasts on two communicators, every byte compared, and collectives that are not planned.
 *
 *   beside [init|init-thread]
 *
 * On MPI_COMM_WORLD 5 large ones and 3 small ones, on a duplicate 2 large ones; 4 of MPI_Ibcast, 6 of MPI_Allreduce. */
#include "check.h"

#define BYTES 300000

int main(int argc, char **argv)
{
    static unsigned char bytes[BYTES];
    int provided;
    if (argc > 1 && strcmp(argv[1], "init-thread") == 0)
        MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    else
        MPI_Init(&argc, &argv);
    int rank, size, sum, one = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int call = 0; call < 5; call++) broadcast(bytes, BYTES - call, call % size, MPI_COMM_WORLD, (uint64_t)call);
    for (int call = 0; call < 3; call++) broadcast(bytes, 1000, call % size, MPI_COMM_WORLD, 100 + (uint64_t)call);
    MPI_Comm other;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    for (int call = 0; call < 2; call++) broadcast(bytes, BYTES, 0, other, 200 + (uint64_t)call);
    for (int call = 0; call < 4; call++) {
        MPI_Request request;
        if (rank == 0) fill(bytes, BYTES, 300 + (uint64_t)call);
        MPI_Ibcast(bytes, BYTES, MPI_BYTE, 0, other, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        compare(bytes, BYTES, 300 + (uint64_t)call);
    }
    for (int call = 0; call < 6; call++) {
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, other);
        REQUIRE(sum == size, "sum %d", sum);
    }
    MPI_Comm_free(&other);
    if (rank == 0) printf("ok\n");
    MPI_Finalize();
    return 0;
}
