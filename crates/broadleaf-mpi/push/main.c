/* broadleaf-push: a file or a folder to every host of a job. Started under mpiexec by `broadleaf push`, with the
 * settings as its one argument, or @ and the name of their file on rank 0. Rank 0 writes progress and results to
 * standard output as lines of JSON. The logic is in crates/broadleaf-push; this file has the MPI calls for it.
 *
 * MPI's errors stay fatal: after one the launcher ends all ranks, and `broadleaf push` starts again without the host. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "library.h"
#include "push.h"

/* The most bytes of one call, far below the limit of an MPI count. */
static const uint64_t most_bytes = 1 << 30;
static const int told_tag = 1;

static MPI_Comm *groups;
static uint32_t group_count;

static void push_gather(const void *mine, uint64_t bytes, void *all)
{
    bl_mpi.Gather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void push_broadcast(uint32_t group, void *data, uint64_t bytes)
{
    MPI_Comm comm = group == 0 ? MPI_COMM_WORLD : groups[group - 1];
    for (uint64_t at = 0; at < bytes; at += most_bytes) {
        uint64_t part = bytes - at < most_bytes ? bytes - at : most_bytes;
        bl_mpi.Bcast((char *)data + at, (int)part, MPI_BYTE, 0, comm);
    }
}

static uint32_t push_group(uint32_t is_member)
{
    MPI_Comm *more = realloc(groups, (group_count + 1) * sizeof *groups);
    if (more == NULL) {
        fprintf(stderr, "broadleaf-push: no memory for a group of hosts; push fewer files at once\n");
        bl_mpi.Abort(MPI_COMM_WORLD, 2);
    }
    groups = more;
    bl_mpi.Comm_split(MPI_COMM_WORLD, is_member ? 0 : MPI_UNDEFINED, 0, &groups[group_count]);
    return ++group_count;
}

/* Short enough that the MPI sends it at once. */
static void push_tell(uint64_t number)
{
    bl_mpi.Send(&number, sizeof number, MPI_BYTE, 0, told_tag, MPI_COMM_WORLD);
}

static uint32_t push_hear(uint32_t waits, uint32_t *rank, uint64_t *number)
{
    int is_here = 1;
    MPI_Status status;
    if (!waits) bl_mpi.Iprobe(MPI_ANY_SOURCE, told_tag, MPI_COMM_WORLD, &is_here, MPI_STATUS_IGNORE);
    if (!is_here) return 0;
    bl_mpi.Recv(number, sizeof *number, MPI_BYTE, MPI_ANY_SOURCE, told_tag, MPI_COMM_WORLD, &status);
    *rank = (uint32_t)status.MPI_SOURCE;
    return 1;
}

int main(int argc, char **argv)
{
    if (!bl_open_mpi()) return 2;
    /* Files are read and written on threads of their own, which make no calls. */
    int provided, rank, ranks, length;
    bl_mpi.Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    bl_mpi.Comm_rank(MPI_COMM_WORLD, &rank);
    bl_mpi.Comm_size(MPI_COMM_WORLD, &ranks);
    char host[MPI_MAX_PROCESSOR_NAME + 1] = {0};
    bl_mpi.Get_processor_name(host, &length);
    bl_push_job job = {(uint32_t)rank, (uint32_t)ranks, host, push_gather, push_broadcast, push_group, push_tell,
                       push_hear};
    if (argc != 2 && rank == 0)
        fprintf(stderr, "broadleaf-push: one argument expected, the settings; start it with: broadleaf push\n");
    int code = argc == 2 ? bl_push_run(&job, argv[1]) : 2;
    /* A rank that stops after an internal fault would keep the others waiting. */
    if (code == BL_PUSH_LOST) bl_mpi.Abort(MPI_COMM_WORLD, code);
    bl_mpi.Finalize();
    /* A host without the file is reported on standard output: launchers take any other code for a crash. */
    return argc == 2 ? 0 : 2;
}
