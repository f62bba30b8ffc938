/* One caught function for each name, under MPI_ and under PMPI_. None needs to know a signature: arguments of
 * collectives are integers and addresses, eleven at most, and travel as machine words. */
#include "counted.h"

#include "bound.h"

#include <stdatomic.h>
#include <stddef.h>

/* Collectives on data, which have a sibling in _c that takes large counts, and those without. */
#define WITH_DATA(X)                                                                                                \
    X(Allgather) X(Allgatherv) X(Allreduce) X(Alltoall) X(Alltoallv) X(Alltoallw) X(Exscan) X(Gather) X(Gatherv)    \
    X(Reduce) X(Reduce_scatter) X(Reduce_scatter_block) X(Scan) X(Scatter) X(Scatterv)                              \
    X(Iallgather) X(Iallgatherv) X(Iallreduce) X(Ialltoall) X(Ialltoallv) X(Ialltoallw) X(Ibcast) X(Iexscan)        \
    X(Igather) X(Igatherv) X(Ireduce) X(Ireduce_scatter) X(Ireduce_scatter_block) X(Iscan) X(Iscatter)              \
    X(Iscatterv)                                                                                                    \
    X(Allgather_init) X(Allgatherv_init) X(Allreduce_init) X(Alltoall_init) X(Alltoallv_init) X(Alltoallw_init)     \
    X(Bcast_init) X(Exscan_init) X(Gather_init) X(Gatherv_init) X(Reduce_init) X(Reduce_scatter_init)               \
    X(Reduce_scatter_block_init) X(Scan_init) X(Scatter_init) X(Scatterv_init)                                      \
    X(Neighbor_allgather) X(Neighbor_allgatherv) X(Neighbor_alltoall) X(Neighbor_alltoallv) X(Neighbor_alltoallw)   \
    X(Ineighbor_allgather) X(Ineighbor_allgatherv) X(Ineighbor_alltoall) X(Ineighbor_alltoallv)                     \
    X(Ineighbor_alltoallw)                                                                                          \
    X(Neighbor_allgather_init) X(Neighbor_allgatherv_init) X(Neighbor_alltoall_init) X(Neighbor_alltoallv_init)     \
    X(Neighbor_alltoallw_init)
#define WITHOUT_DATA(X) X(Barrier) X(Ibarrier) X(Barrier_init)

#ifdef BROADLEAF_HAVE_BCAST_C
#define AND_LARGE(name) ONE(name) ONE(name##_c)
#else
#define AND_LARGE(name) ONE(name)
#endif
#define COLLECTIVES WITH_DATA(AND_LARGE) WITHOUT_DATA(ONE)

typedef enum {
#define ONE(name) CALL_##name,
    COLLECTIVES
#undef ONE
        KINDS
} kind;

static const char *const names[KINDS] = {
#define ONE(name) "PMPI_" #name,
    COLLECTIVES
#undef ONE
};

typedef uintptr_t word;
#define PARAMETERS word a, word b, word c, word d, word e, word f, word g, word h, word i, word j, word k
#define ARGUMENTS a, b, c, d, e, f, g, h, i, j, k
typedef int call(PARAMETERS);

/* Where the calls of a kind go on; `own` is null until it has been looked up. */
static struct {
    call *_Atomic own;
    call *tool;
    _Atomic uint64_t calls;
} lines[KINDS];

/* mpi4py, for one, finds out by an error whether an MPI has a call: its own reference to it is weak. */
static int absent(PARAMETERS)
{
    (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h, (void)i, (void)j, (void)k;
    return MPI_ERR_UNSUPPORTED_OPERATION;
}

static call *look_up(kind kind)
{
    call *const own = (call *)bl_inner(names[kind]);
    lines[kind].tool = (call *)bl_tool_behind(names[kind] + 1);
    atomic_store_explicit(&lines[kind].own, own != NULL ? own : absent, memory_order_release);
    return own != NULL ? own : absent;
}

static inline call *own_call(kind kind)
{
    call *const known = atomic_load_explicit(&lines[kind].own, memory_order_acquire);
    return known != NULL ? known : look_up(kind);
}

static inline call *counted(kind kind, call *own, const void *caller)
{
    if (!bl_is_inside_mpi(caller)) atomic_fetch_add_explicit(&lines[kind].calls, 1, memory_order_relaxed);
    return own;
}

/* As with broadcasts, a tool behind this library is handed the call, which comes back under PMPI_. */
static inline call *outer(kind kind, const void *caller)
{
    call *const own = own_call(kind);
    return lines[kind].tool != NULL ? lines[kind].tool : counted(kind, own, caller);
}

#define CAUGHT(name) __asm__(#name) __attribute__((visibility("default")))
#define ONE(name)                                                                                  \
    int outer_##name(PARAMETERS) CAUGHT(MPI_##name);                                               \
    int outer_##name(PARAMETERS)                                                                   \
    {                                                                                              \
        return outer(CALL_##name, __builtin_return_address(0))(ARGUMENTS);                         \
    }                                                                                              \
    int inner_##name(PARAMETERS) CAUGHT(PMPI_##name);                                              \
    int inner_##name(PARAMETERS)                                                                   \
    {                                                                                              \
        return counted(CALL_##name, own_call(CALL_##name), __builtin_return_address(0))(ARGUMENTS); \
    }
COLLECTIVES
#undef ONE

_Static_assert((int)KINDS <= (int)BL_MOST_COUNTED, "more kinds than callers have room for");

uint32_t bl_counted(const char *found[BL_MOST_COUNTED], uint64_t calls[BL_MOST_COUNTED])
{
    uint32_t count = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        const uint64_t made = atomic_load_explicit(&lines[kind].calls, memory_order_relaxed);
        if (made == 0) continue;
        found[count] = names[kind] + 1;
        calls[count++] = made;
    }
    return count;
}
