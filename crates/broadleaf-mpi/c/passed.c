/* The threshold, and counts of the calls that went to the MPI's own broadcast. */
#include "passed.h"

_Atomic uint64_t bl_threshold = UINT64_MAX;
_Atomic uint32_t bl_listed;
_Thread_local int bl_inside;
static _Atomic int reason_for_all = BL_PASSED_NOT_STARTED;
static _Atomic uint64_t passed[BL_REASON_COUNT], planned, handed_on;

const char *const bl_reason_names[BL_REASON_COUNT] = {
#define BL_NAME(id, name) name,
    BL_REASONS(BL_NAME)
#undef BL_NAME
};

void bl_plan_from(uint64_t bytes, uint32_t listed)
{
    const int plans_broadcasts = listed >> BL_BCAST & 1;
    const bl_reason reason = plans_broadcasts ? BL_PASSED_SMALL : BL_PASSED_NOT_LISTED;
    atomic_store_explicit(&reason_for_all, (int)reason, memory_order_relaxed);
    atomic_store_explicit(&bl_threshold, plans_broadcasts ? bytes : UINT64_MAX, memory_order_release);
    atomic_store_explicit(&bl_listed, listed | BL_BY_NAME, memory_order_release);
}

void bl_pass_all(bl_reason reason)
{
    atomic_store_explicit(&reason_for_all, (int)reason, memory_order_relaxed);
    atomic_store_explicit(&bl_threshold, UINT64_MAX, memory_order_release);
    atomic_store_explicit(&bl_listed, 0, memory_order_release);
}

bl_reason bl_all_passed_for(void)
{
    return (bl_reason)atomic_load_explicit(&reason_for_all, memory_order_relaxed);
}

void bl_count_passed(bl_reason reason)
{
    atomic_fetch_add_explicit(&passed[reason], 1, memory_order_relaxed);
}

void bl_passed_counts(uint64_t counts[BL_REASON_COUNT])
{
    for (int reason = 0; reason < BL_REASON_COUNT; reason++)
        counts[reason] = atomic_load_explicit(&passed[reason], memory_order_relaxed);
}

void bl_count_planned(void)
{
    atomic_fetch_add_explicit(&planned, 1, memory_order_relaxed);
}

void bl_count_handed_on(void)
{
    atomic_fetch_add_explicit(&handed_on, 1, memory_order_relaxed);
}

uint64_t bl_handed_on(void)
{
    return atomic_load_explicit(&handed_on, memory_order_relaxed);
}

int bl_is_any_seen(void)
{
    uint64_t seen = atomic_load_explicit(&planned, memory_order_relaxed);
    for (int reason = 0; reason < BL_REASON_COUNT; reason++)
        seen += atomic_load_explicit(&passed[reason], memory_order_relaxed);
    return seen > 0;
}
