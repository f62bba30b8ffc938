/* Broadcasts of several kinds, ROUNDS times: two lengths from two roots of the world, the first in a datatype with gaps,
 * one in each half of it, one to oneself, one of no bytes, and one by a thread beside them.
 *
 *   kinds ROUNDS */
#define _POSIX_C_SOURCE 200112L
#include "check.h"

#include <pthread.h>

#define LONG 200000
#define SHORT 70000

static int rounds;

static void *beside(void *comm)
{
    static unsigned char bytes[SHORT];
    for (int round = 0; round < rounds; round++)
        broadcast(bytes, SHORT, 0, *(MPI_Comm *)comm, 1u << 20 | (uint64_t)round);
    return NULL;
}

int main(int argc, char **argv)
{
    static unsigned char bytes[LONG], gaps[2 * LONG];
    int provided, rank, size;
    uint64_t message = 0;
    MPI_Comm half, own;
    MPI_Datatype spaced;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    rounds = argc > 1 ? atoi(argv[1]) : 10;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    MPI_Comm_set_name(half, "half");
    MPI_Comm_set_name(own, "beside");
    MPI_Type_vector(LONG, 1, 2, MPI_BYTE, &spaced);
    MPI_Type_commit(&spaced);
    if (provided == MPI_THREAD_MULTIPLE) pthread_create(&thread, NULL, beside, &own);
    for (int round = 0; round < rounds; round++) {
        if (rank == 0)
            for (int at = 0; at < LONG; at++) gaps[2 * at] = (unsigned char)(at + round);
        MPI_Bcast(gaps, 1, spaced, 0, MPI_COMM_WORLD);
        for (int at = 0; at < LONG; at++) REQUIRE(gaps[2 * at] == (unsigned char)(at + round), "wrong byte %d", at);
        broadcast(bytes, SHORT, size - 1, MPI_COMM_WORLD, ++message);
        broadcast(bytes, SHORT, 0, half, ++message);
        MPI_Bcast(bytes, SHORT, MPI_BYTE, 0, MPI_COMM_SELF);
        MPI_Bcast(NULL, 0, MPI_BYTE, 0, MPI_COMM_WORLD);
    }
    if (provided == MPI_THREAD_MULTIPLE) pthread_join(thread, NULL);
    MPI_Type_free(&spaced);
    MPI_Comm_free(&half);
    MPI_Comm_free(&own);
    if (rank == 0) printf("ok\n");
    MPI_Finalize();
    return 0;
}
