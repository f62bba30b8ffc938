/* Rank 0: asks for rounds, has them performed, takes part in its own tasks, and hands the samples back. */
#include "probe.h"

#include <stdlib.h>
#include <string.h>

static void order(const bl_task *task, uint32_t rank)
{
    if (rank != 0) bl_mpi.Send(task, sizeof *task, MPI_BYTE, (int)rank, BL_TAG_ORDER, bl_orders);
}

/* Receives one message from the sender of each task, all posted before the first is waited for: where messages are not
 * sent ahead, their times would add up. `samples` is NULL for empty ones. */
static void receive_from_senders(const bl_task *tasks, int count, int tag, double **samples)
{
    MPI_Request *requests = bl_memory((size_t)count * sizeof *requests);
    for (int t = 0; t < count; t++) {
        int length = samples == NULL ? 0 : (int)bl_sample_count(&tasks[t]);
        if (tasks[t].from != 0)
            bl_mpi.Irecv(samples == NULL ? NULL : samples[t], length, MPI_DOUBLE, (int)tasks[t].from, tag, bl_orders,
                         &requests[t]);
    }
    for (int t = 0; t < count; t++)
        if (tasks[t].from != 0) bl_await(&requests[t]);
    free(requests);
}

static void perform_round(const bl_task *tasks, int count, double **samples)
{
    const bl_task *mine = NULL;
    double **my_samples = NULL;
    for (int t = 0; t < count; t++) {
        order(&tasks[t], tasks[t].from);
        order(&tasks[t], tasks[t].to);
        if (mine == NULL && (tasks[t].from == 0 || tasks[t].to == 0)) {
            mine = &tasks[t];
            my_samples = &samples[t];
        }
    }
    uint32_t my_count = mine != NULL && mine->from == 0 ? mine->fan : 1;
    for (uint32_t t = 0; mine != NULL && t < my_count; t++) bl_meet(&mine[t], 0);
    if (tasks[0].together) {
        receive_from_senders(tasks, count, BL_TAG_READY, NULL);
        for (int t = 0; t < count; t++)
            if (tasks[t].from != 0)
                bl_mpi.Send(NULL, 0, MPI_BYTE, (int)tasks[t].from, BL_TAG_GO, bl_orders);
    }
    if (mine != NULL) bl_perform(mine, 0, my_samples);
    receive_from_senders(tasks, count, BL_TAG_SAMPLES, samples);
}

void bl_end(int ranks)
{
    bl_task end;
    memset(&end, 0, sizeof end);
    for (int rank = 1; rank < ranks; rank++) order(&end, (uint32_t)rank);
}

void bl_lead(int ranks, const char *settings, const bl_seat *seats)
{
    bl_survey *survey = bl_survey_open(settings, seats, (uint32_t)ranks);
    if (survey == NULL) return;
    size_t most = (size_t)ranks;
    bl_task *tasks = bl_memory(most * sizeof *tasks);
    double **samples = bl_memory(most * sizeof *samples);
    double started = bl_mpi.Wtime();
    int count = 0, taken = 0;
    while (taken == 0 && (count = bl_survey_next(survey, bl_mpi.Wtime() - started, tasks)) > 0) {
        for (int t = 0; t < count; t++) samples[t] = bl_memory(bl_sample_count(&tasks[t]) * sizeof **samples);
        perform_round(tasks, count, samples);
        taken = bl_survey_take(survey, bl_mpi.Wtime() - started, (const double *const *)samples);
        for (int t = 0; t < count; t++) free(samples[t]);
    }
    free(samples);
    free(tasks);
    if (taken == 0 && count == 0) (void)bl_survey_close(survey);
}
