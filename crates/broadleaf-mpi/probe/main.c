/* broadleaf-probe: measures the network between its ranks. Started under mpiexec by `broadleaf measure`, with the
 * settings as its one argument; rank 0 writes results and errors to standard output as lines of JSON.
 * All ranks end in order then: launchers may lose lines of a job that is aborted.
 *
 * MPI's errors stay fatal here: a probe that has lost a rank has no result, and the launcher ends the rest. */
#define _DEFAULT_SOURCE /* getloadavg */
#include "probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

MPI_Comm bl_orders, bl_data;
int bl_one_clock;

int main(int argc, char **argv)
{
    if (!bl_open_mpi()) return 2;
    bl_mpi.Init(&argc, &argv);
    int rank, ranks, length;
    bl_mpi.Comm_rank(MPI_COMM_WORLD, &rank);
    bl_mpi.Comm_size(MPI_COMM_WORLD, &ranks);
    bl_mpi.Comm_dup(MPI_COMM_WORLD, &bl_orders);
    bl_mpi.Comm_dup(MPI_COMM_WORLD, &bl_data);
    int *is_global, is_known;
    bl_mpi.Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &is_global, &is_known);
    bl_one_clock = is_known && *is_global;

    char name[MPI_MAX_PROCESSOR_NAME + 1] = {0};
    bl_mpi.Get_processor_name(name, &length);
    bl_seat mine;
    memset(&mine, 0, sizeof mine);
    snprintf(mine.host, BL_HOST_BYTES, "%.*s", BL_HOST_BYTES - 1, name);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    mine.cores = cores > 0 ? (uint32_t)cores : 1;
    if (getloadavg(&mine.load, 1) != 1) mine.load = -1;
    bl_seat *seats = rank == 0 ? bl_memory((size_t)ranks * sizeof mine) : NULL;
    bl_mpi.Gather(&mine, sizeof mine, MPI_BYTE, seats, sizeof mine, MPI_BYTE, 0, MPI_COMM_WORLD);

    if (rank != 0) {
        bl_follow();
    } else {
        if (argc == 2) bl_lead(ranks, argv[1], seats);
        else
            fprintf(stderr,
                    "broadleaf-probe: one argument expected, the settings; start it with: broadleaf measure\n");
        bl_end(ranks);
    }
    bl_mpi.Finalize();
    return argc == 2 ? 0 : 2;
}
