/* Which calls go to the MPI's own broadcast: the threshold below which all do, and counts of those that did. */
#ifndef BROADLEAF_PASSED_H
#define BROADLEAF_PASSED_H

#include <stdatomic.h>
#include <stdint.h>

#include "engine.h"

/* Why a call went to the MPI's own broadcast. Counted per process; the names stand in BROADLEAF_STATS. */
#define BL_REASONS(X)                         \
    X(DISABLED, "disabled")                   \
    X(BAD_VALUE, "bad-value")                 \
    X(NOT_STARTED, "outside-init-finalize")   \
    X(NOT_EVERYWHERE, "not-on-all-ranks")     \
    X(NOT_LISTED, "not-listed")               \
    X(SMALL, "under-threshold")               \
    X(EMPTY, "zero-bytes")                    \
    X(INVALID, "invalid-arguments")           \
    X(NESTED, "nested-call")                  \
    X(COMPARED, "compared")                   \
    X(OBSERVED, "observed")                   \
    X(ONE_RANK, "one-rank")                   \
    X(INTERCOMM, "intercommunicator")         \
    X(SEVERAL_WORLDS, "spans-several-worlds") \
    X(NO_TAGS, "no-tags-left")                \
    X(NO_PLAN, "no-plan")

typedef enum {
#define BL_ENUM(id, name) BL_PASSED_##id,
    BL_REASONS(BL_ENUM)
#undef BL_ENUM
        BL_REASON_COUNT
} bl_reason;

/* Messages under this many bytes are passed through. UINT64_MAX: all are, for bl_all_passed_for(); so it is until
 * MPI_Init has agreed on the settings, and again from MPI_Finalize on. */
extern _Atomic uint64_t bl_threshold;

static inline uint64_t bl_threshold_bytes(void)
{
    return atomic_load_explicit(&bl_threshold, memory_order_acquire);
}

/* Which collectives are planned, a bit for each bl_collective, and BL_BY_NAME; 0 as long as all are passed through. */
#define BL_BY_NAME (1u << 31)
extern _Atomic uint32_t bl_listed;

static inline int bl_is_listed(int collective)
{
    return atomic_load_explicit(&bl_listed, memory_order_acquire) >> collective & 1;
}

static inline int bl_is_any_listed_but(int collective)
{
    return (atomic_load_explicit(&bl_listed, memory_order_acquire) & ~(BL_BY_NAME | 1u << collective)) != 0;
}

/* Set in a caller that is in one of this library's collectives: calls that the MPI makes in it are not the program's. */
extern _Thread_local int bl_inside;

/* With the collectives of `listed`; broadcasts where BL_BCAST is among them. */
void bl_plan_from(uint64_t bytes, uint32_t listed);
void bl_pass_all(bl_reason reason);
bl_reason bl_all_passed_for(void);

void bl_count_passed(bl_reason reason);
void bl_passed_counts(uint64_t counts[BL_REASON_COUNT]);

/* Counts of planned calls, and of MPI_Bcast calls that were handed to a tool, whether or not the tool called
 * PMPI_Bcast. */
void bl_count_planned(void);
void bl_count_handed_on(void);
/* Whether any broadcast has been intercepted, planned or passed through. */
int bl_is_any_seen(void);
uint64_t bl_handed_on(void);
extern const char *const bl_reason_names[BL_REASON_COUNT];

#endif
