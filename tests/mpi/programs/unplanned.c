/* Calls that the runtime passes through: broadcasts below the threshold, or all-reduces, which are off by default.
 *
 *   unplanned bcast|allreduce CALLS BYTES */
#include "check.h"

int main(int argc, char **argv)
{
    REQUIRE(argc == 4, "usage: unplanned bcast|allreduce CALLS BYTES");
    MPI_Init(&argc, &argv);
    const long calls = atol(argv[2]);
    const int bytes = atoi(argv[3]), reduces = strcmp(argv[1], "allreduce") == 0;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *message = calloc(2, (size_t)bytes);
    REQUIRE(message != NULL, "no memory");
    for (long call = 0; call < calls; call++) {
        if (reduces)
            MPI_Allreduce(message, message + bytes, bytes, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
        else
            MPI_Bcast(message, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    }
    if (rank == 0) printf("ok %ld calls\n", calls);
    free(message);
    MPI_Finalize();
    return 0;
}
