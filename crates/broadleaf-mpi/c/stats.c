/* Rank 0's own data in the statistics; the rows are the Rust part's. */
#include "stats.h"

#include <stdlib.h>

#include "agreed.h"
#include "bound.h"
#include "counted.h"
#include "passed.h"
#include "texts.h"

static const char *mpi_name(void)
{
#if defined(OPEN_MPI)
    return "openmpi";
#elif defined(MPICH_VERSION)
    return "mpich";
#else
    return "mpi";
#endif
}

static void write_world(const char *texts, uint64_t bytes, int size, int is_spawned)
{
    uint64_t passed[BL_REASON_COUNT], not_planned[BL_MOST_COUNTED];
    const char *others[BL_MOST_COUNTED];
    bl_passed_counts(passed);
    bl_world world = {
        .mpi = mpi_name(),
        .ranks = size,
        .is_spawned = is_spawned,
        .reasons = bl_reason_names,
        .passed = passed,
        .others = others,
        .not_planned = not_planned,
        .reason_count = BL_REASON_COUNT,
        .other_count = bl_counted(others, not_planned),
        .min_bytes = bl_agreed_config()->min_bytes,
        .config = bl_agreed_config(),
    };
    bl_stats_write(texts, bytes, &world);
}

int bl_stats_finish(int is_spawned, int alone)
{
    int rank, size;
    int error = bl_mpi.Comm_rank(MPI_COMM_WORLD, &rank);
    if (error == MPI_SUCCESS) error = bl_mpi.Comm_size(MPI_COMM_WORLD, &size);
    if (error != MPI_SUCCESS) return error;
    uint64_t length, bytes = 0;
    const char *text = bl_stats_text(&length);
    char *texts = NULL;
    if (!alone) error = bl_gather_texts(rank, size, text, length, &texts, &bytes);
    if (error == MPI_SUCCESS && rank == 0) write_world(texts, bytes, size, is_spawned);
    free(texts);
    return error;
}
