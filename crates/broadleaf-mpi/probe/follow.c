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

static void receive_order(bl_task *task)
{
    MPI_Request order;
    bl_mpi.Irecv(task, sizeof *task, MPI_BYTE, 0, BL_TAG_ORDER, bl_orders, &order);
    bl_await(&order);
}

void bl_follow(void)
{
    int rank;
    bl_mpi.Comm_rank(bl_orders, &rank);
    for (;;) {
        bl_task tasks[BL_MOST_FAN];
        double *samples[BL_MOST_FAN];
        receive_order(&tasks[0]);
        if (tasks[0].trial_count == 0) return;
        int sends = rank == (int)tasks[0].from;
        uint32_t count = sends ? tasks[0].fan : 1;
        for (uint32_t t = 1; t < count; t++) receive_order(&tasks[t]);
        for (uint32_t t = 0; t < count; t++) {
            samples[t] = bl_memory(bl_sample_count(&tasks[t]) * sizeof **samples);
            bl_meet(&tasks[t], rank);
        }
        if (tasks[0].together && sends) start_together();
        bl_perform(tasks, rank, samples);
        for (uint32_t t = 0; t < count; t++) {
            if (sends)
                bl_mpi.Send(samples[t], (int)bl_sample_count(&tasks[t]), MPI_DOUBLE, 0, BL_TAG_SAMPLES, bl_orders);
            free(samples[t]);
        }
    }
}
