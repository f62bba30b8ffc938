/* Threads whose first broadcasts on many communicators fall together, in another order on every rank.
 *
 *   rivals COMMUNICATORS_A_THREAD */
#define _DEFAULT_SOURCE /* usleep */
#include "check.h"

#include <pthread.h>
#include <unistd.h>

#define THREADS 4
#define BYTES 70000
#define MOST 256

static MPI_Comm comms[THREADS][MOST];
static int wanted, rank;

static void *work(void *argument)
{
    const int thread = (int)(intptr_t)argument;
    unsigned char *bytes = malloc(BYTES);
    uint64_t state = (uint64_t)(rank * THREADS + thread);
    for (int at = 0; at < wanted; at++) {
        usleep((unsigned)(draw(&state) % 500));
        broadcast(bytes, BYTES, at % 2, comms[thread][at], (uint64_t)(thread * MOST + at));
    }
    free(bytes);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    wanted = argc > 1 ? atoi(argv[1]) : 20;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int thread = 0; thread < THREADS; thread++)
        for (int at = 0; at < wanted; at++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[thread][at]);
    pthread_t threads[THREADS];
    for (int thread = 0; thread < THREADS; thread++)
        pthread_create(&threads[thread], NULL, work, (void *)(intptr_t)thread);
    for (int thread = 0; thread < THREADS; thread++) pthread_join(threads[thread], NULL);
    for (int thread = 0; thread < THREADS; thread++)
        for (int at = 0; at < wanted; at++) MPI_Comm_free(&comms[thread][at]);
    if (rank == 0) printf("ok\n");
    MPI_Finalize();
    return 0;
}
