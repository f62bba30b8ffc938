/* What the programs of the test beds share: one clock, a start that all ranks have in common, and messages that every
 * byte can be told apart in. */
#ifndef BROADLEAF_COMMON_START_H
#define BROADLEAF_COMMON_START_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

static inline double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Agrees on a start `ahead_s` from now, waits for it and says when it was, s. All ranks must see one clock: one machine,
 * or simulated time. */
static inline double wait_for_common_start(double ahead_s)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double mine = now_s() + ahead_s, start;
    MPI_Allreduce(&mine, &start, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    double left = start - now_s();
    if (left > 0) {
        /* Sleeping, not spinning: simulated time does not pass while a program computes. */
        struct timespec pause = {(time_t)left, (long)((left - (double)(time_t)left) * 1e9)};
        nanosleep(&pause, NULL);
    }
    return start;
}

/* What byte `at` of a repetition's message is: every position and repetition differs from its neighbours. */
static inline unsigned char expected(size_t at, int repetition)
{
    uint64_t mixed = ((uint64_t)at + ((uint64_t)repetition << 40) + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return (unsigned char)(mixed >> 56);
}

#endif
