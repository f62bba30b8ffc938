/* Broadcasts of these lengths from rank 0, each as often as said.
 *
 *   lengths TIMES BYTES... */
#include "check.h"

int main(int argc, char **argv)
{
    int rank;
    uint64_t message = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int times = argc > 1 ? atoi(argv[1]) : 1;
    for (int at = 2; at < argc; at++) {
        const int length = atoi(argv[at]);
        unsigned char *bytes = malloc((size_t)length);
        REQUIRE(bytes != NULL, "no memory");
        for (int time = 0; time < times; time++) broadcast(bytes, length, 0, MPI_COMM_WORLD, ++message);
        free(bytes);
    }
    if (rank == 0) printf("ok\n");
    MPI_Finalize();
    return 0;
}
