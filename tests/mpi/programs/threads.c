/* MPI_THREAD_MULTIPLE: each thread broadcasts on its own communicator, all at once.
 *
 *   threads ROUNDS */
#define _POSIX_C_SOURCE 200112L
#include "check.h"

#include <pthread.h>

#define THREADS 3
#define BYTES 150000

static int rounds;

typedef struct {
    MPI_Comm comm;
    uint64_t number;
} work;

static void *broadcast_all(void *given)
{
    work *mine = given;
    int size;
    unsigned char *bytes = malloc(BYTES);
    REQUIRE(bytes != NULL, "no memory");
    MPI_Comm_size(mine->comm, &size);
    for (int round = 0; round < rounds; round++) {
        const uint64_t message = mine->number << 32 | (uint64_t)round;
        const int root = (int)(mine->number + (uint64_t)round) % size;
        broadcast(bytes, BYTES - round % 7, root, mine->comm, message);
    }
    free(bytes);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, rank;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (provided < MPI_THREAD_MULTIPLE) {
        if (rank == 0) printf("ok, but this MPI has no MPI_THREAD_MULTIPLE\n");
        MPI_Finalize();
        return 0;
    }
    rounds = argc > 1 ? atoi(argv[1]) : 20;
    pthread_t threads[THREADS];
    work works[THREADS];
    for (int at = 0; at < THREADS; at++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &works[at].comm);
        works[at].number = (uint64_t)at;
    }
    for (int at = 0; at < THREADS; at++) pthread_create(&threads[at], NULL, broadcast_all, &works[at]);
    for (int at = 0; at < THREADS; at++) pthread_join(threads[at], NULL);
    for (int at = 0; at < THREADS; at++) MPI_Comm_free(&works[at].comm);
    if (rank == 0) printf("ok %d broadcasts\n", THREADS * rounds);
    MPI_Finalize();
    return 0;
}
