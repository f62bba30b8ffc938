/* Repeats one broadcast, with work in between, like a program during the search for better plans. Ends after SECONDS, or
 * when the file END exists.
 *
 *   steady BYTES SECONDS [END] */
#define _POSIX_C_SOURCE 200112L
#include "check.h"

#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const int bytes = argc > 1 ? atoi(argv[1]) : 1 << 20;
    const double seconds = argc > 2 ? atof(argv[2]) : 3;
    const char *end = argc > 3 ? argv[3] : NULL;
    int rank, on = 1;
    uint64_t rounds = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    unsigned char *message = malloc((size_t)bytes);
    REQUIRE(message != NULL, "no memory");
    const double start = MPI_Wtime();
    while (on) {
        rounds++;
        broadcast(message, bytes, 0, MPI_COMM_WORLD, rounds);
        struct timespec work = {0, 20000000};
        nanosleep(&work, NULL);
        on = MPI_Wtime() - start < seconds && (end == NULL || access(end, F_OK) != 0);
        MPI_Bcast(&on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    free(message);
    if (rank == 0) printf("ok %llu broadcasts\n", (unsigned long long)rounds);
    MPI_Finalize();
    return 0;
}
