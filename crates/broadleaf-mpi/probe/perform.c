/* One task, from the sender's side and from the receiver's. In the end the sender has all samples, and for each how
 * long either side waited for a processor. */
#include "probe.h"

#include <stdlib.h>

static size_t samples_of(const bl_trial *trial)
{
    return (trial->kind == BL_PING_PONG ? 4 : 2) * (size_t)trial->repeats;
}

size_t bl_sample_count(const bl_task *task)
{
    size_t count = 0;
    for (uint32_t t = 0; t < task->trial_count; t++) count += samples_of(&task->trials[t]);
    return count;
}

/* Returns when both sides are awake. */
void bl_meet(const bl_task *task, int rank)
{
    int other = rank == (int)task->from ? (int)task->to : (int)task->from;
    bl_mpi.Sendrecv(NULL, 0, MPI_BYTE, other, BL_TAG_MEET, NULL, 0, MPI_BYTE, other, BL_TAG_MEET, bl_data,
                    MPI_STATUS_IGNORE);
}

static void send_data(size_t bytes, int to)
{
    bl_mpi.Send(bl_buffer_next(bytes), (int)bytes, MPI_BYTE, to, BL_TAG_DATA, bl_data);
}

static void receive_data(size_t bytes, int from)
{
    bl_mpi.Recv(bl_buffer_next(bytes), (int)bytes, MPI_BYTE, from, BL_TAG_DATA, bl_data, MPI_STATUS_IGNORE);
}

static void send_answer(int to)
{
    bl_mpi.Send(NULL, 0, MPI_BYTE, to, BL_TAG_ANSWER, bl_data);
}

static void receive_answer(int from)
{
    bl_mpi.Recv(NULL, 0, MPI_BYTE, from, BL_TAG_ANSWER, bl_data, MPI_STATUS_IGNORE);
}

static bl_account waiting_begins(void)
{
    bl_account now = {0, 0};
    bl_waited_since(&now);
    return now;
}

/* Meanwhile the other side looks once, and is ready for the next message when this one has looked twice. */
static double sender_waited_since(bl_account *before)
{
    double waited = bl_waited_since(before);
    return waited + bl_waited_since(before);
}

/* The receiver's own waiting, at the end of a trial, and when the messages came where `came` has room for that. */
static void add_waited(const bl_trial *trial, int receiver, double *waited, double *came)
{
    size_t count = (came == NULL ? 1 : 2) * (size_t)trial->repeats;
    double *others = bl_memory(count * sizeof *others);
    bl_mpi.Recv(others, (int)count, MPI_DOUBLE, receiver, BL_TAG_ANSWER, bl_data, MPI_STATUS_IGNORE);
    for (uint32_t r = 0; r < trial->repeats; r++) waited[r] += others[r];
    for (uint32_t r = 0; came != NULL && r < trial->repeats; r++) came[r] = others[trial->repeats + r];
    free(others);
}

static void tell_waited(double *waited, size_t count, int sender)
{
    bl_mpi.Send(waited, (int)count, MPI_DOUBLE, sender, BL_TAG_ANSWER, bl_data);
    free(waited);
}

static void ping_pong_from(const bl_trial *trial, int to, double *samples)
{
    double *sent_s = samples + trial->repeats, *way_s = sent_s + trial->repeats;
    double *waited = way_s + trial->repeats, *started = bl_memory(trial->repeats * sizeof *started);
    bl_account before = waiting_begins();
    for (uint32_t r = 0; r < trial->repeats; r++) {
        double start = bl_mpi.Wtime();
        send_data(trial->bytes, to);
        double sent = bl_mpi.Wtime();
        receive_answer(to);
        samples[r] = bl_mpi.Wtime() - start;
        sent_s[r] = sent - start;
        started[r] = start;
        waited[r] = sender_waited_since(&before);
    }
    add_waited(trial, to, waited, way_s);
    /* Unknown without a common clock. */
    for (uint32_t r = 0; r < trial->repeats; r++) way_s[r] = bl_one_clock ? way_s[r] - started[r] : -1.0;
    free(started);
}

static void ping_pong_to(const bl_trial *trial, int from)
{
    double *waited = bl_memory(2 * trial->repeats * sizeof *waited), *came = waited + trial->repeats;
    bl_account before = waiting_begins();
    for (uint32_t r = 0; r < trial->repeats; r++) {
        receive_data(trial->bytes, from);
        came[r] = bl_mpi.Wtime();
        send_answer(from);
        waited[r] = bl_waited_since(&before);
    }
    tell_waited(waited, 2 * (size_t)trial->repeats, from);
}

static void burst_from(const bl_trial *trial, int to, double *samples)
{
    MPI_Request *requests = bl_memory(trial->window * sizeof *requests);
    double *waited = samples + trial->repeats;
    bl_account before = waiting_begins();
    for (uint32_t r = 0; r < trial->repeats; r++) {
        double start = bl_mpi.Wtime();
        for (uint32_t w = 0; w < trial->window; w++)
            bl_mpi.Isend(bl_buffer_next(trial->bytes), (int)trial->bytes, MPI_BYTE, to, BL_TAG_DATA, bl_data,
                         &requests[w]);
        bl_mpi.Waitall((int)trial->window, requests, MPI_STATUSES_IGNORE);
        receive_answer(to);
        samples[r] = bl_mpi.Wtime() - start;
        waited[r] = sender_waited_since(&before);
    }
    free(requests);
    add_waited(trial, to, waited, NULL);
}

/* One burst to each receiver, all at the same time, until all answers are in. */
static void fan_out(const bl_task *tasks, uint32_t count, double **samples)
{
    size_t messages = 0, bytes = 0, at;
    for (uint32_t t = 0; t < count; t++) {
        messages += tasks[t].trials[0].window;
        bytes += tasks[t].trials[0].window * tasks[t].trials[0].bytes;
    }
    bl_buffer_reserve(bytes);
    uint32_t repeats = tasks[0].trials[0].repeats;
    MPI_Request *requests = bl_memory(messages * sizeof *requests);
    bl_account before = waiting_begins();
    for (uint32_t r = 0; r < repeats; r++) {
        double start = bl_mpi.Wtime();
        at = 0;
        for (uint32_t t = 0; t < count; t++) {
            const bl_trial *trial = &tasks[t].trials[0];
            for (uint32_t w = 0; w < trial->window; w++)
                bl_mpi.Isend(bl_buffer_next(trial->bytes), (int)trial->bytes, MPI_BYTE, (int)tasks[t].to, BL_TAG_DATA,
                             bl_data, &requests[at++]);
        }
        bl_mpi.Waitall((int)messages, requests, MPI_STATUSES_IGNORE);
        for (uint32_t t = 0; t < count; t++) receive_answer((int)tasks[t].to);
        double seconds = bl_mpi.Wtime() - start, waited = sender_waited_since(&before);
        for (uint32_t t = 0; t < count; t++) {
            samples[t][r] = seconds;
            samples[t][repeats + r] = waited;
        }
    }
    free(requests);
    for (uint32_t t = 0; t < count; t++)
        add_waited(&tasks[t].trials[0], (int)tasks[t].to, samples[t] + repeats, NULL);
}

static void post_burst(const bl_trial *trial, int from, MPI_Request *requests)
{
    for (uint32_t w = 0; w < trial->window; w++)
        bl_mpi.Irecv(bl_buffer_next(trial->bytes), (int)trial->bytes, MPI_BYTE, from, BL_TAG_DATA, bl_data,
                     &requests[w]);
}

/* The receives of a burst are posted before its sender can begin it, so that no message waits for one. */
static void burst_to(const bl_trial *trial, int from)
{
    MPI_Request *requests = bl_memory(trial->window * sizeof *requests);
    double *waited = bl_memory(trial->repeats * sizeof *waited);
    bl_account before = waiting_begins();
    post_burst(trial, from, requests);
    for (uint32_t r = 0; r < trial->repeats; r++) {
        bl_mpi.Waitall((int)trial->window, requests, MPI_STATUSES_IGNORE);
        if (r + 1 < trial->repeats) post_burst(trial, from, requests);
        send_answer(from);
        waited[r] = bl_waited_since(&before);
    }
    free(requests);
    tell_waited(waited, trial->repeats, from);
}

static void late_receive_from(const bl_trial *trial, int to, double *samples)
{
    for (uint32_t r = 0; r < trial->repeats; r++) {
        receive_answer(to);
        send_data(trial->bytes, to);
    }
    bl_mpi.Recv(samples, (int)samples_of(trial), MPI_DOUBLE, to, BL_TAG_ANSWER, bl_data, MPI_STATUS_IGNORE);
}

static void late_receive_to(const bl_trial *trial, int from)
{
    double *samples = bl_memory(samples_of(trial) * sizeof *samples), *waited = samples + trial->repeats;
    for (uint32_t r = 0; r < trial->repeats; r++) {
        send_answer(from);
        bl_pause(trial->pause_s);
        bl_account before = waiting_begins();
        double start = bl_mpi.Wtime();
        receive_data(trial->bytes, from);
        samples[r] = bl_mpi.Wtime() - start;
        waited[r] = bl_waited_since(&before);
    }
    bl_mpi.Send(samples, (int)samples_of(trial), MPI_DOUBLE, from, BL_TAG_ANSWER, bl_data);
    free(samples);
}

void bl_perform(const bl_task *tasks, int rank, double **of_tasks)
{
    const bl_task *task = tasks;
    double *samples = of_tasks[0];
    if (task->fan > 1 && rank == (int)task->from) {
        fan_out(tasks, task->fan, of_tasks);
        return;
    }
    for (uint32_t t = 0; t < task->trial_count; t++) {
        const bl_trial *trial = &task->trials[t];
        size_t window = trial->kind == BL_BURST ? trial->window : 1;
        bl_buffer_reserve(window * trial->bytes);
        int sends = rank == (int)task->from, other = sends ? (int)task->to : (int)task->from;
        switch (trial->kind) {
        case BL_PING_PONG:
            if (sends) ping_pong_from(trial, other, samples);
            else ping_pong_to(trial, other);
            break;
        case BL_BURST:
            if (sends) burst_from(trial, other, samples);
            else burst_to(trial, other);
            break;
        default:
            if (sends) late_receive_from(trial, other, samples);
            else late_receive_to(trial, other);
        }
        if (sends) samples += samples_of(trial);
    }
}
