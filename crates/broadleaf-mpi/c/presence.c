/* Rank 0 posts its presence. Ranks that find this post go on: up a tree, each posts whether all ranks below it are
 * present, then rank 0 posts the verdict. A time-out can only make the verdict negative: a rank that gave up has
 * posted nothing, so its parent gives up as well, and a rank that has posted waits for the verdict, which always
 * comes. */
#include "presence.h"

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "announced.h"
#include "store.h"

/* Children of a rank. With 8, a rank looks up 8 values, and 4,096 ranks make four levels. */
enum { FAN_OUT = 8 };

/* MPI_Init ends at about the same time on all ranks; this long after its own end a rank takes another for absent. */
static const double ABSENT_S = 10;
/* A rank waits this much longer than its children, so that the lowest absent rank is named. */
static const double LEVEL_S = 1;
/* After this time, a rank without an answer tests whether it can post at all. */
static const double PROBE_S = 1;
/* After this time all ranks that miss rank 0 have posted. */
static const double SETTLE_S = 0.5;

#define HERE "here"
#define BELOW "below"
#define VERDICT "verdict"
#define ALONE "alone"
#define ALL "all"

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void sleep_s(double seconds)
{
    struct timespec span = {.tv_sec = (time_t)seconds};
    span.tv_nsec = (long)(1e9 * (seconds - (double)span.tv_sec));
    nanosleep(&span, NULL);
}

/* Polls until the value is there or `limit_s` have passed since `start_s`, at growing intervals, because all ranks
 * ask one server. */
static int wait_for(int rank, const char *key, char value[BL_VALUE_BYTES], double start_s, double limit_s)
{
    double pause_s = 50e-6;
    while (!bl_store_find(rank, key, value)) {
        const double waited_s = now_s() - start_s;
        if (waited_s >= limit_s) return 0;
        sleep_s(pause_s);
        pause_s = waited_s / 4 < 50e-6 ? 50e-6 : waited_s / 4 > 0.25 ? 0.25 : waited_s / 4;
    }
    return 1;
}

static void report(int missing)
{
    fprintf(stderr,
            "broadleaf: rank %d of MPI_COMM_WORLD runs without the library, so the MPI's own broadcast is used; "
            "have it at the same path on every host and preload it into every rank\n",
            missing);
}

static int report_no_store(void)
{
    fprintf(stderr, "broadleaf: this launcher serves neither PMIx nor MPI_Publish_name, by which ranks learn that all "
                    "run with the library, so the MPI's own broadcast is used; start the program with mpiexec\n");
    return 0;
}

/* Rank 0 is absent or late. The lowest rank that noticed prints the line. */
static int without_rank_0(int rank, double start_s)
{
    char value[BL_VALUE_BYTES];
    sleep_s(start_s + ABSENT_S + SETTLE_S - now_s() > 0 ? start_s + ABSENT_S + SETTLE_S - now_s() : 0);
    for (int lower = 1; lower < rank; lower++)
        if (bl_store_find(lower, ALONE, value)) return 0;
    report(0);
    return 0;
}

static int sees_rank_0(int rank, double start_s)
{
    char value[BL_VALUE_BYTES];
    if (wait_for(0, HERE, value, start_s, PROBE_S)) return 1;
    /* Under a launcher without a store no rank can post, and rank 0 prints that. */
    if (!bl_store_post(ALONE, ALONE)) return 0;
    return wait_for(0, HERE, value, start_s, ABSENT_S) || without_rank_0(rank, start_s);
}

/* The lowest rank known to be missing at or below this one's children, or -1. */
static int missing_below(int rank, int size, double start_s)
{
    double limit_s = ABSENT_S;
    for (long first = (long)rank * FAN_OUT + 1; first < size; first = first * FAN_OUT + 1) limit_s += LEVEL_S;
    int missing = -1;
    const long first = (long)rank * FAN_OUT + 1;
    for (long child = first; child < first + FAN_OUT && child < size; child++) {
        char value[BL_VALUE_BYTES];
        int lacking = (int)child;
        if (wait_for((int)child, BELOW, value, start_s, limit_s)) {
            if (strcmp(value, ALL) == 0) continue;
            lacking = atoi(value);
        }
        if (missing < 0 || lacking < missing) missing = lacking;
    }
    return missing;
}

static int agree(int rank, int size, int has_store)
{
    const double start_s = now_s();
    char value[BL_VALUE_BYTES] = ALL;
    if (rank == 0 && !(has_store && bl_store_post(HERE, HERE))) return report_no_store();
    if (rank != 0 && !(has_store && sees_rank_0(rank, start_s))) return 0;
    const int missing = missing_below(rank, size, start_s);
    if (missing >= 0) snprintf(value, sizeof value, "%d", missing);
    /* A rank whose post fails here counts as absent; without a verdict no rank goes on. */
    if (!bl_store_post(rank == 0 ? VERDICT : BELOW, value)) return 0;
    if (rank != 0) wait_for(0, VERDICT, value, start_s, INFINITY);
    if (rank == 0 && missing >= 0) report(missing);
    return strcmp(value, ALL) == 0;
}

static void report_unannounced(void)
{
    fprintf(stderr, "broadleaf: under flux run, ranks learn in MPI_Init that all run with the library, but this MPI does "
                    "not use PMI-1 or PMIx there, or a tool hides MPI_Init, so the MPI's own broadcast is used; use MPICH "
                    "with -opmi=simple, or Open MPI with -opmi=pmix\n");
}

/* The lowest rank with the library reports the lowest one without it. */
static int all_announced(int rank, int size)
{
    int present = -1, missing = -1;
    for (int other = 0; other < size && (present < 0 || missing < 0); other++) {
        int *const first = bl_has_announced(other) ? &present : &missing;
        if (*first < 0) *first = other;
    }
    if (missing < 0) return 1;
    if (present == rank) report(missing);
    if (present < 0 && rank == 0) report_unannounced();
    return 0;
}

int bl_all_present(int rank, int size, int is_spawned)
{
    if (size == 1) return 1;
    if (bl_is_under_flux()) return all_announced(rank, size);
    const int all = agree(rank, size, bl_store_open(rank, is_spawned));
    bl_store_close();
    return all;
}
