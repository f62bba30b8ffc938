/* The border between the probe's C part, which calls MPI, and the measuring logic in Rust (src/ffi/survey.rs):
 * rank 0 asks for a round of tasks, the ranks perform it, rank 0 hands the samples back. */
#ifndef BROADLEAF_SURVEY_H
#define BROADLEAF_SURVEY_H

#include <stdint.h>

#define BL_HOST_BYTES 256
#define BL_MOST_TRIALS 5
#define BL_MOST_FAN 8

/* Where a rank runs. */
typedef struct {
    char host[BL_HOST_BYTES]; /* zero-terminated */
    uint32_t cores;
    double load; /* of the last minute, before the probe adds to it; negative where unknown */
} bl_seat;

typedef enum { BL_PING_PONG = 0, BL_BURST = 1, BL_LATE_RECEIVE = 2 } bl_trial_kind;

/* One timed experiment of a pair; see measure/experiment.rs. */
typedef struct {
    uint32_t kind;
    uint32_t repeats;
    uint32_t window;
    uint32_t reserved;
    uint64_t bytes;
    double pause_s;
} bl_trial;

/* Trials of one pair, one after the other. */
typedef struct {
    uint32_t from, to;
    uint32_t trial_count;
    uint32_t together; /* other pairs are measured at the same time: begin together */
    uint32_t fan;      /* the number of tasks with this sender in the round; several are one burst each, at once */
    uint32_t reserved;
    bl_trial trials[BL_MOST_TRIALS];
} bl_task;

typedef struct bl_survey bl_survey;

/* Null when the settings (a JSON document) are refused; that has then been reported on standard output. */
bl_survey *bl_survey_open(const char *settings, const bl_seat *seats, uint32_t count);

/* Fills `tasks`, of which there are fewer than ranks, or one, and gives their number; 0 when the
 * measurement is finished, negative when it failed, which has then been reported. */
int bl_survey_next(bl_survey *survey, double now_s, bl_task *tasks);

/* `samples[i]` are the samples of task i, of its trials one after the other: the round trips, then the send calls
 * and then the ways there of a ping-pong (negative without a common clock), the bursts, the receive calls, and at the
 * end of each trial how long the two sides waited for a processor in each repeat; seconds. */
int bl_survey_take(bl_survey *survey, double now_s, const double *const *samples);

/* Reports the measured platform on standard output and frees the survey; 0 if that went well. */
int bl_survey_close(bl_survey *survey);

#endif
