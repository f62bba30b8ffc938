/* Shared by the test programs: they compare everything they receive and stop the job at the first difference. */
#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Stops the job, naming the rank, the place and the expected value. */
#define REQUIRE(condition, ...)                                                     \
    do {                                                                            \
        if (!(condition)) {                                                         \
            int rank_;                                                              \
            MPI_Comm_rank(MPI_COMM_WORLD, &rank_);                                  \
            fprintf(stderr, "rank %d, %s:%d: not %s: ", rank_, __FILE__, __LINE__, #condition); \
            fprintf(stderr, __VA_ARGS__);                                           \
            fputc('\n', stderr);                                                    \
            MPI_Abort(MPI_COMM_WORLD, 1);                                           \
        }                                                                           \
    } while (0)

/* splitmix64 (Steele, Lea, Flood 2014): the same numbers on every rank. */
static inline uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Byte `at` of the message number `message`. */
static inline unsigned char expected(uint64_t message, uint64_t at)
{
    uint64_t state = message * 0x100000001b3u + at / 8;
    return (unsigned char)(draw(&state) >> (at % 8 * 8));
}

static inline void fill(unsigned char *bytes, uint64_t count, uint64_t message)
{
    for (uint64_t at = 0; at < count; at++) bytes[at] = expected(message, at);
}

static inline void compare(const unsigned char *bytes, uint64_t count, uint64_t message)
{
    for (uint64_t at = 0; at < count; at++)
        REQUIRE(bytes[at] == expected(message, at), "message %llu: byte %llu of %llu",
                (unsigned long long)message, (unsigned long long)at, (unsigned long long)count);
}

/* Broadcasts the message of that number and compares the received bytes. */
static inline void broadcast(unsigned char *bytes, int count, int root, MPI_Comm comm, uint64_t message)
{
    int rank;
    MPI_Comm_rank(comm, &rank);
    if (rank == root)
        fill(bytes, (uint64_t)count, message);
    else
        memset(bytes, 0, (size_t)count);
    MPI_Bcast(bytes, count, MPI_BYTE, root, comm);
    compare(bytes, (uint64_t)count, message);
}

/* Memory that this process has. */
static inline long resident_kib(void)
{
    long pages = 0, resident = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (statm == NULL || fscanf(statm, "%ld %ld", &pages, &resident) != 2) resident = 0;
    if (statm != NULL) fclose(statm);
    return resident * 4;
}

#endif
