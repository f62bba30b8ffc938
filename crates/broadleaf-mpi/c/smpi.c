/* All that simulated time needs. Programs are linked with SimGrid's SMPI and with this runtime: no MPI to search for,
 * no tool behind; all ranks run the same program, and the clock stands still while they compute. */
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "announced.h"
#include "bound.h"
#include "presence.h"
#include "simulated.h"

/* SMPI completes a small send at once, so its end does not show when the NIC is free again. A synchronous send takes
 * no longer, and ends when the data has arrived. */
#define PMPI_Isend PMPI_Issend

/* SMPI's header makes this table a list of its functions. */
bl_mpi_table bl_mpi = {
#define BL_CALL(name) .name = PMPI_##name,
    BL_CAUGHT_CALLS(BL_CALL) BL_CALLS(BL_CALL)
};

int bl_bind(void)
{
    return 1;
}

void *bl_inner(const char *name)
{
    if (strcmp(name, "PMPI_Bcast") == 0) return (void *)PMPI_Bcast;
    if (strcmp(name, "PMPI_Init") == 0) return (void *)PMPI_Init;
    return strcmp(name, "PMPI_Init_thread") == 0 ? (void *)PMPI_Init_thread : NULL;
}

void *bl_tool_behind(const char *name)
{
    (void)name;
    return NULL;
}

/* SMPI's collectives make no intercepted calls. */
int bl_is_inside_mpi(const void *code)
{
    (void)code;
    return 0;
}

void bl_announce(void)
{
}

int bl_all_present(int rank, int size, int is_spawned)
{
    (void)rank, (void)size, (void)is_spawned;
    return 1;
}

/* SMPI spawns nothing, and aborts where it is asked for a parent. */
int bl_find_parent(int *is_spawned)
{
    *is_spawned = 0;
    return MPI_SUCCESS;
}

double bl_wait_until(double seconds)
{
    const double now = PMPI_Wtime();
    const double left = seconds - now;
    if (left <= 0) return now;
    struct timespec span = {.tv_sec = (time_t)left, .tv_nsec = (long)((left - (double)(time_t)left) * 1e9)};
    (void)nanosleep(&span, NULL);
    return seconds;
}

/* Yielding is useless here, and a poll of one request, which PMPI_Waitsome makes for each, costs more simulated time
 * than most messages. */
int bl_some(int count, MPI_Request *requests, int *finished, int *indices, MPI_Status *statuses)
{
    *finished = 1;
    const int error = PMPI_Waitany(count, requests, indices, statuses);
    if (error == MPI_SUCCESS && indices[0] == MPI_UNDEFINED) *finished = MPI_UNDEFINED;
    return error;
}

static int (*end)(void);

/* SMPI deletes attributes after it has marked itself as not initialised. */
int bl_watch_finalize(int (*finish)(void))
{
    end = finish;
    return MPI_SUCCESS;
}

__attribute__((visibility("default"))) int MPI_Finalize(void)
{
    const int error = end == NULL ? MPI_SUCCESS : end();
    return error == MPI_SUCCESS ? PMPI_Finalize() : error;
}
