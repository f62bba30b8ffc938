/* Shared by the programs of the test beds: one clock, a common start of all ranks, and messages in which every byte
 * differs from its neighbours. */
#ifndef BROADLEAF_COMMON_START_H
#define BROADLEAF_COMMON_START_H

#include <mpi.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

static inline double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* The last part of the wait polls the clock, s: several wake-ups. */
#define SPIN_S 1e-3

static inline void sleep_for(double seconds)
{
    if (seconds <= 0)
        return;
    struct timespec pause = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&pause, NULL);
}

/* Agrees on a start `ahead_s` from now, waits for it and returns its time, s. All ranks must read one clock: one machine,
 * or simulated time. */
static inline double wait_for_common_start(double ahead_s)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double mine = now_s() + ahead_s, start;
    MPI_Allreduce(&mine, &start, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
#ifdef SMPI_H
    /* Simulated time does not pass while a program computes. */
    sleep_for(start - now_s());
#else
    /* A wake-up takes some 90 us, twenty times as long as a short message. Ranks that wait on one core yield to each
     * other. */
    sleep_for(start - now_s() - SPIN_S);
    while (now_s() < start)
        sched_yield();
#endif
    return start;
}

/* Byte `at` of a repetition's message: every position and repetition differs from its neighbours. */
static inline unsigned char expected(size_t at, int repetition)
{
    uint64_t mixed = ((uint64_t)at + ((uint64_t)repetition << 40) + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return (unsigned char)(mixed >> 56);
}

#endif
