/* All ranks but 0: perform orders until one without trials arrives. */
#include "probe.h"

#include <stdlib.h>

/* The sender of one of several pairs waits until rank 0 has seen all of them ready. */
static void start_together(void)
{
    MPI_Request go;
    bl_mpi.Irecv(NULL, 0, MPI_BYTE, 0, BL_TAG_GO, bl_orders, &go);
    bl_mpi.Send(NULL, 0, MPI_BYTE, 0, BL_TAG_READY, bl_orders);
    bl_await(&go);
}

void bl_follow(void)
{
    int rank;
    bl_mpi.Comm_rank(bl_orders, &rank);
    for (;;) {
        bl_task task;
        MPI_Request order;
        bl_mpi.Irecv(&task, sizeof task, MPI_BYTE, 0, BL_TAG_ORDER, bl_orders, &order);
        bl_await(&order);
        if (task.trial_count == 0) return;
        size_t count = bl_sample_count(&task);
        double *samples = bl_memory(count * sizeof *samples);
        bl_meet(&task, rank);
        if (task.together && rank == (int)task.from) start_together();
        bl_perform(&task, rank, samples);
        if (rank == (int)task.from)
            bl_mpi.Send(samples, (int)count, MPI_DOUBLE, 0, BL_TAG_SAMPLES, bl_orders);
        free(samples);
    }
}
