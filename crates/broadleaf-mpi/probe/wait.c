/* Waiting that leaves the cores to those who measure. MPI's own waiting spins: with more ranks than cores the idle
 * ones would take turns with the pair under test, and every time would be the scheduler's. */
#include "probe.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* An idle rank looks for work that often, at first more often: what follows soon is not held up. */
static const double shortest_nap_s = 2e-5, longest_nap_s = 5e-3, nap_share = 0.1;

static void nap(double seconds)
{
    struct timespec length = {.tv_sec = (time_t)seconds};
    length.tv_nsec = (long)((seconds - (double)length.tv_sec) * 1e9);
    nanosleep(&length, NULL);
}

void bl_await(MPI_Request *request)
{
    double started = PMPI_Wtime();
    for (;;) {
        int done;
        PMPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (done) return;
        double seconds = nap_share * (PMPI_Wtime() - started);
        nap(seconds < shortest_nap_s ? shortest_nap_s : seconds > longest_nap_s ? longest_nap_s : seconds);
    }
}

/* At least that long: a nap takes some 60 us more than asked for. */
void bl_pause(double seconds)
{
    nap(seconds);
}

/* Seconds that this process has stood ready to run while others had the processors, by the scheduler's own account;
 * 0 throughout where the kernel keeps none. */
double bl_waited_s(void)
{
#ifdef SMPI_H
    /* Simulated time does not go by meanwhile. */
    return 0;
#endif
    static int account = -2;
    if (account == -2) account = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
    char line[96];
    ssize_t length = account < 0 ? -1 : pread(account, line, sizeof line - 1, 0);
    if (length <= 0) return 0;
    line[length] = '\0';
    /* Nanoseconds on a processor, then those spent waiting for one. */
    char *behind;
    strtoull(line, &behind, 10);
    return 1e-9 * (double)strtoull(behind, NULL, 10);
}

void *bl_memory(size_t bytes)
{
    void *memory = malloc(bytes > 0 ? bytes : 1);
    if (memory == NULL) {
        fprintf(stderr, "broadleaf-probe: no memory for %zu bytes; measure with fewer ranks on this host\n", bytes);
        PMPI_Abort(MPI_COMM_WORLD, 2);
    }
    return memory;
}
