/* Waiting that leaves the cores to those who measure. MPI's own waiting spins: with more ranks than cores, idle ranks
 * would compete with the pair under test, and every sample would measure the scheduler. */
#include "probe.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Intervals at which an idle rank polls: short at first, so that work that follows soon is not delayed. */
static const double shortest_nap_s = 2e-5, longest_nap_s = 5e-3, nap_share = 0.1;

static void nap(double seconds)
{
    struct timespec length = {.tv_sec = (time_t)seconds};
    length.tv_nsec = (long)((seconds - (double)length.tv_sec) * 1e9);
    nanosleep(&length, NULL);
}

void bl_await(MPI_Request *request)
{
    double started = bl_mpi.Wtime();
    for (;;) {
        int done;
        bl_mpi.Test(request, &done, MPI_STATUS_IGNORE);
        if (done) return;
        double seconds = nap_share * (bl_mpi.Wtime() - started);
        nap(seconds < shortest_nap_s ? shortest_nap_s : seconds > longest_nap_s ? longest_nap_s : seconds);
    }
}

/* At least `seconds`: a sleep takes about 60 us more than requested. */
void bl_pause(double seconds)
{
    nap(seconds);
}

/* The kernel counts waking up on a free processor as waiting for it. It takes up to this long where the processor is
 * in a deep sleep state, and is part of the message's way. Waiting for other programs takes milliseconds. */
static const double waking_s = 1e-4;

/* The scheduler's own account of this process; all zero where the kernel keeps none. */
static bl_account account_now(void)
{
    bl_account now = {0, 0};
#ifndef SMPI_H
    /* In simulated time there is no waiting. */
    static int file = -2;
    if (file == -2) file = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
    char line[96];
    ssize_t length = file < 0 ? -1 : pread(file, line, sizeof line - 1, 0);
    if (length <= 0) return now;
    line[length] = '\0';
    /* Nanoseconds on a processor, those spent waiting for one, and how often it got one. */
    char *behind;
    strtoull(line, &behind, 10);
    now.waited_ns = strtoull(behind, &behind, 10);
    now.turns = strtoull(behind, NULL, 10);
#endif
    return now;
}

double bl_waited_since(bl_account *before)
{
    bl_account now = account_now();
    double waited_s = 1e-9 * (double)(now.waited_ns - before->waited_ns);
    double waking = waking_s * (double)(now.turns - before->turns);
    *before = now;
    return waited_s > waking ? waited_s - waking : 0;
}

void *bl_memory(size_t bytes)
{
    void *memory = malloc(bytes > 0 ? bytes : 1);
    if (memory == NULL) {
        fprintf(stderr, "broadleaf-probe: no memory for %zu bytes; measure with fewer ranks on this host\n", bytes);
        bl_mpi.Abort(MPI_COMM_WORLD, 2);
    }
    return memory;
}
