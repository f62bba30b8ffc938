/* A slow disk for the push program of one host: preloaded, it lets each write of blocks take the time that a disk of
 * SLOW_DISK_BYTES_PER_S takes, on the host SLOW_DISK_HOST only. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double rate_here(void)
{
    char here[256] = "";
    const char *host = getenv("SLOW_DISK_HOST"), *rate = getenv("SLOW_DISK_BYTES_PER_S");
    gethostname(here, sizeof here - 1);
    return host != NULL && rate != NULL && strcmp(host, here) == 0 ? atof(rate) : 0;
}

ssize_t pwrite64(int file, const void *data, size_t bytes, off64_t offset)
{
    ssize_t (*next)(int, const void *, size_t, off64_t) =
        (ssize_t (*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64");
    double rate = rate_here();
    if (rate > 0) {
        double seconds = (double)bytes / rate;
        struct timespec pause = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
        nanosleep(&pause, NULL);
    }
    return next(file, data, bytes, offset);
}
