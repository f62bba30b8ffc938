/* Preloaded: the time of day jumps by hours and days, back and forth, as on machines whose clock is being set.
 * Not in a process's first second, since UCX gives up where it cannot time the processor. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <sys/time.h>
#include <time.h>

typedef int (*clock_function)(clockid_t, struct timespec *);

static int is_young(clock_function real)
{
    static int64_t born;
    struct timespec now;
    if (real(CLOCK_MONOTONIC, &now) != 0) return 1;
    int64_t ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    if (born == 0) born = ms;
    return ms < born + 1000;
}

static void jump(int64_t *seconds)
{
    static unsigned calls;
    const int64_t jumps[] = {0, 86400, -7200, 3, -864000, 31536000};
    *seconds += jumps[__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED) % 6];
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    static clock_function real;
    if (real == NULL) {
        /* ISO C has no cast from an object to a function. */
        void *found = dlsym(RTLD_NEXT, "clock_gettime");
        __builtin_memcpy(&real, &found, sizeof real);
    }
    int result = real(clock, time);
    if (clock == CLOCK_REALTIME && result == 0 && !is_young(real)) {
        int64_t seconds = time->tv_sec;
        jump(&seconds);
        time->tv_sec = seconds;
    }
    return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
    (void)zone;
    struct timespec now;
    int result = clock_gettime(CLOCK_REALTIME, &now);
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return result;
}
