/* One caught function for each name, under MPI_ and under PMPI_. Only the number of arguments matters: arguments of
 * collectives are integers and addresses, and are passed as machine words. Calls of listed collectives are planned;
 * the others are counted. */
#include "counted.h"

#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>

#include "bound.h"
#include "collectives.h"
#include "narrow.h"
#include "passed.h"
#include "simulated.h"

/* Collectives with the number of their arguments and the positions of one or two counts; each has a variant in _c
 * that takes large counts. */
#define WITH_COUNTS(X)                                                                                       \
    X(6, C, Allreduce) X(6, C, Exscan) X(6, C, Reduce_scatter_block) X(6, C, Scan) X(6, B, Ibcast)           \
    X(7, B_AND_E, Allgather) X(7, B_AND_E, Alltoall) X(7, C, Reduce) X(7, C, Iallreduce) X(7, C, Iexscan)    \
    X(7, C, Ireduce_scatter_block) X(7, C, Iscan) X(7, B, Bcast_init) X(7, B_AND_E, Neighbor_allgather)      \
    X(7, B_AND_E, Neighbor_alltoall) X(8, B_AND_E, Gather) X(8, B_AND_E, Scatter) X(8, B_AND_E, Iallgather)  \
    X(8, B_AND_E, Ialltoall) X(8, C, Ireduce) X(8, C, Allreduce_init) X(8, C, Exscan_init)                   \
    X(8, C, Reduce_scatter_block_init) X(8, C, Scan_init) X(8, B_AND_E, Ineighbor_allgather)                 \
    X(8, B_AND_E, Ineighbor_alltoall) X(9, B_AND_E, Igather) X(9, B_AND_E, Iscatter)                         \
    X(9, B_AND_E, Allgather_init) X(9, B_AND_E, Alltoall_init) X(9, C, Reduce_init)                          \
    X(9, B_AND_E, Neighbor_allgather_init) X(9, B_AND_E, Neighbor_alltoall_init) X(10, B_AND_E, Gather_init) \
    X(10, B_AND_E, Scatter_init)
/* Those with arrays of counts, and which arguments these are. */
#define REDUCED {{-1, -1}, {2, -1}, -1, 5}
#define TO_ALL {{-1, -1}, {4, 5}, 1, 7}
#define TO_ROOT {{-1, -1}, {4, 5}, 1, 8}
#define FROM_ROOT {{1, 2}, {-1, -1}, 5, 8}
#define BOTH_WAYS {{1, 2}, {5, 6}, -1, 8}
#define BOTH_WAYS_BY_ADDRESS {{1, -1}, {5, -1}, -1, 8}
#define WITH_ARRAYS(X)                                                                                       \
    X(6, REDUCED, Reduce_scatter) X(7, REDUCED, Ireduce_scatter) X(8, REDUCED, Reduce_scatter_init)          \
    X(8, TO_ALL, Allgatherv) X(9, TO_ALL, Iallgatherv) X(10, TO_ALL, Allgatherv_init)                        \
    X(8, TO_ALL, Neighbor_allgatherv) X(9, TO_ALL, Ineighbor_allgatherv)                                     \
    X(10, TO_ALL, Neighbor_allgatherv_init) X(9, TO_ROOT, Gatherv) X(10, TO_ROOT, Igatherv)                  \
    X(11, TO_ROOT, Gatherv_init) X(9, FROM_ROOT, Scatterv) X(10, FROM_ROOT, Iscatterv)                       \
    X(11, FROM_ROOT, Scatterv_init) X(9, BOTH_WAYS, Alltoallv) X(10, BOTH_WAYS, Ialltoallv)                  \
    X(11, BOTH_WAYS, Alltoallv_init) X(9, BOTH_WAYS, Alltoallw) X(10, BOTH_WAYS, Ialltoallw)                 \
    X(11, BOTH_WAYS, Alltoallw_init) X(9, BOTH_WAYS, Neighbor_alltoallv)                                     \
    X(10, BOTH_WAYS, Ineighbor_alltoallv) X(11, BOTH_WAYS, Neighbor_alltoallv_init)                          \
    X(9, BOTH_WAYS_BY_ADDRESS, Neighbor_alltoallw) X(10, BOTH_WAYS_BY_ADDRESS, Ineighbor_alltoallw)          \
    X(11, BOTH_WAYS_BY_ADDRESS, Neighbor_alltoallw_init)
#define WITHOUT_COUNTS(X) X(1, Barrier) X(2, Ibarrier) X(3, Barrier_init)

#define SMALL(count, counts, name) ONE(count, name)
#ifdef BROADLEAF_HAVE_BCAST_C
#define LARGE(count, counts, name) ONE(count, name##_c)
#define LARGE_COLLECTIVES WITH_COUNTS(LARGE) WITH_ARRAYS(LARGE)
#else
#define LARGE_COLLECTIVES
#endif
#define COLLECTIVES WITH_COUNTS(SMALL) WITH_ARRAYS(SMALL) WITHOUT_COUNTS(ONE) LARGE_COLLECTIVES

typedef enum {
#define ONE(count, name) CALL_##name,
    COLLECTIVES
#undef ONE
        KINDS
} kind;

static const char *const names[KINDS] = {
#define ONE(count, name) "PMPI_" #name,
    COLLECTIVES
#undef ONE
};

typedef uintptr_t word;
#define PARAMETERS_1 word a
#define PARAMETERS_2 word a, word b
#define PARAMETERS_3 word a, word b, word c
#define PARAMETERS_6 word a, word b, word c, word d, word e, word f
#define PARAMETERS_7 word a, word b, word c, word d, word e, word f, word g
#define PARAMETERS_8 word a, word b, word c, word d, word e, word f, word g, word h
#define PARAMETERS_9 word a, word b, word c, word d, word e, word f, word g, word h, word i
#define PARAMETERS_10 word a, word b, word c, word d, word e, word f, word g, word h, word i, word j
#define PARAMETERS_11 word a, word b, word c, word d, word e, word f, word g, word h, word i, word j, word k
#define ARGUMENTS_1 a
#define ARGUMENTS_2 a, b
#define ARGUMENTS_3 a, b, c
#define ARGUMENTS_6 a, b, c, d, e, f
#define ARGUMENTS_7 a, b, c, d, e, f, g
#define ARGUMENTS_8 a, b, c, d, e, f, g, h
#define ARGUMENTS_9 a, b, c, d, e, f, g, h, i
#define ARGUMENTS_10 a, b, c, d, e, f, g, h, i, j
#define ARGUMENTS_11 a, b, c, d, e, f, g, h, i, j, k
typedef void any_call(void);

/* Where the calls of a kind go next; `own` is null until it has been looked up. */
static struct {
    any_call *_Atomic own;
    any_call *tool;
    _Atomic uint64_t calls;
} lines[KINDS];

/* mpi4py, for one, has weak references to calls that an MPI may lack, and finds these here. */
static any_call *const small[KINDS];

static int absent(void)
{
    return MPI_ERR_UNSUPPORTED_OPERATION;
}

static any_call *look_up(kind kind)
{
    any_call *own = (any_call *)bl_inner(names[kind]);
    if (own == NULL) own = small[kind] != NULL ? small[kind] : (any_call *)absent;
    lines[kind].tool = (any_call *)bl_tool_behind(names[kind] + 1);
    atomic_store_explicit(&lines[kind].own, own, memory_order_release);
    return own;
}

static inline any_call *own_call(kind kind)
{
    any_call *const known = atomic_load_explicit(&lines[kind].own, memory_order_acquire);
    return known != NULL ? known : look_up(kind);
}

/* The forms of calls that can be planned: the sending side, the receiving side, in some the root, and the
 * communicator; in a reduction both buffers, their count (or the counts) and type, the operation, in some the root,
 * and the communicator. */
typedef enum {
    FORM_NONE,
    FORM_ROOTED,
    FORM_ROOTLESS,
    FORM_REDUCED,
    FORM_REDUCED_FOR_ALL,
    FORM_REDUCED_BY_COUNTS,
    FORM_FROM_ROOT_BY_COUNTS,
    FORM_TO_ROOT_BY_COUNTS,
    FORM_TO_ALL_BY_COUNTS,
} form;
typedef struct {
    form form;
    bl_collective collective;
    int is_large; /* counts are MPI_Count */
} planned_call;
static const planned_call planned[KINDS] = {
    [CALL_Scatter] = {FORM_ROOTED, BL_SCATTER, 0},
    [CALL_Gather] = {FORM_ROOTED, BL_GATHER, 0},
    [CALL_Allgather] = {FORM_ROOTLESS, BL_ALLGATHER, 0},
    [CALL_Reduce] = {FORM_REDUCED, BL_REDUCE, 0},
    [CALL_Allreduce] = {FORM_REDUCED_FOR_ALL, BL_ALLREDUCE, 0},
    [CALL_Reduce_scatter_block] = {FORM_REDUCED_FOR_ALL, BL_REDUCE_SCATTER, 0},
    [CALL_Reduce_scatter] = {FORM_REDUCED_BY_COUNTS, BL_REDUCE_SCATTER, 0},
    [CALL_Scatterv] = {FORM_FROM_ROOT_BY_COUNTS, BL_SCATTER, 0},
    [CALL_Gatherv] = {FORM_TO_ROOT_BY_COUNTS, BL_GATHER, 0},
    [CALL_Allgatherv] = {FORM_TO_ALL_BY_COUNTS, BL_ALLGATHER, 0},
#ifdef BROADLEAF_HAVE_BCAST_C
    [CALL_Scatter_c] = {FORM_ROOTED, BL_SCATTER, 1},
    [CALL_Gather_c] = {FORM_ROOTED, BL_GATHER, 1},
    [CALL_Allgather_c] = {FORM_ROOTLESS, BL_ALLGATHER, 1},
    [CALL_Reduce_c] = {FORM_REDUCED, BL_REDUCE, 1},
    [CALL_Allreduce_c] = {FORM_REDUCED_FOR_ALL, BL_ALLREDUCE, 1},
    [CALL_Reduce_scatter_block_c] = {FORM_REDUCED_FOR_ALL, BL_REDUCE_SCATTER, 1},
    [CALL_Reduce_scatter_c] = {FORM_REDUCED_BY_COUNTS, BL_REDUCE_SCATTER, 1},
    [CALL_Scatterv_c] = {FORM_FROM_ROOT_BY_COUNTS, BL_SCATTER, 1},
    [CALL_Gatherv_c] = {FORM_TO_ROOT_BY_COUNTS, BL_GATHER, 1},
    [CALL_Allgatherv_c] = {FORM_TO_ALL_BY_COUNTS, BL_ALLGATHER, 1},
#endif
};

/* Only the low bits of an int's word are defined. */
static bl_side side_of(word data, word count, word type, int is_large)
{
    return (bl_side){
        .data = (void *)data, .count = is_large ? (MPI_Count)count : (int)count, .type = (MPI_Datatype)type};
}

/* `words` are its buffer, counts, displacements and type. */
static bl_side side_by_counts(const word *words, int is_large)
{
    return (bl_side){
        .data = (void *)words[0],
        .type = (MPI_Datatype)words[3],
        .counts = {(const void *)words[1], is_large},
        .displacements = {(const void *)words[2], is_large},
    };
}

static bl_exchange exchange_of(const planned_call *known, const word *words, MPI_Comm *comm)
{
    const int is_large = known->is_large;
    int has_root = 0, after = 6; /* the root's argument, or the communicator's */
    bl_exchange call = {.collective = known->collective, .name = names[known - planned] + 1};
    switch (known->form) {
    case FORM_FROM_ROOT_BY_COUNTS:
        call.send = side_by_counts(words, is_large);
        call.receive = side_of(words[4], words[5], words[6], is_large);
        call.has_counts = has_root = 1, after = 7;
        break;
    case FORM_TO_ROOT_BY_COUNTS:
    case FORM_TO_ALL_BY_COUNTS:
        call.send = side_of(words[0], words[1], words[2], is_large);
        call.receive = side_by_counts(words + 3, is_large);
        call.has_counts = 1, has_root = known->form == FORM_TO_ROOT_BY_COUNTS, after = 7;
        break;
    case FORM_REDUCED_BY_COUNTS:
        call.send = side_of(words[0], 0, words[3], is_large);
        call.receive = side_of(words[1], 0, words[3], is_large);
        call.receive.counts = (bl_by_rank){(const void *)words[2], is_large};
        call.op = (MPI_Op)words[4];
        call.has_counts = 1, after = 5;
        break;
    case FORM_REDUCED:
    case FORM_REDUCED_FOR_ALL:
        call.send = side_of(words[0], words[2], words[3], is_large);
        call.receive = side_of(words[1], words[2], words[3], is_large);
        call.op = (MPI_Op)words[4];
        has_root = known->form == FORM_REDUCED, after = 5;
        break;
    default:
        call.send = side_of(words[0], words[1], words[2], is_large);
        call.receive = side_of(words[3], words[4], words[5], is_large);
        has_root = known->form == FORM_ROOTED;
    }
    if (has_root) call.root = (int)words[after];
    *comm = (MPI_Comm)words[after + has_root];
    return call;
}

/* A call that goes to the MPI while a comparison times it. */
typedef struct {
    bl_times *times;
    bl_collective collective;
    uint64_t bytes;
    int root;
    double start_s;
} timing;

/* Whether the call ran by a plan. */
static __attribute__((noinline)) int serve(kind kind, const word *words, timing *timing, int *error)
{
    MPI_Comm comm;
    const bl_exchange call = exchange_of(&planned[kind], words, &comm);
    int handled;
    timing->collective = call.collective;
    timing->root = call.root;
    *error = bl_exchange_run(&call, comm, &handled, &timing->times, &timing->bytes);
    if (timing->times != NULL) timing->start_s = bl_clock_s();
    return handled;
}

static inline int is_listed(kind kind)
{
    return planned[kind].form != FORM_NONE && bl_is_listed((int)planned[kind].collective);
}

static inline void count(kind kind, const void *caller)
{
    if (!bl_is_inside_mpi(caller)) atomic_fetch_add_explicit(&lines[kind].calls, 1, memory_order_relaxed);
}

/* Counted, and timed where a comparison has left it to the MPI. */
static void note(kind kind, const void *caller, const timing *timing, int error)
{
    if (timing->times == NULL)
        count(kind, caller);
    else if (error == MPI_SUCCESS)
        bl_times_native(timing->times, timing->collective, timing->bytes, timing->root, bl_clock_s() - timing->start_s);
}

/* As with broadcasts, the call is handed to a tool behind this library, and comes back as PMPI_. */
#define CAUGHT(name) __asm__(#name) __attribute__((visibility("default")))
#define ONE(count, name)                                                                                  \
    typedef int call_##name(PARAMETERS_##count);                                                          \
    static inline int own_##name(PARAMETERS_##count, any_call *own, const void *caller)                   \
    {                                                                                                     \
        timing timing = {.times = NULL};                                                                  \
        int error;                                                                                        \
        if (is_listed(CALL_##name) && !bl_is_inside_mpi(caller)) {                                        \
            const word words[] = {ARGUMENTS_##count};                                                     \
            if (serve(CALL_##name, words, &timing, &error)) return error;                                 \
        }                                                                                                 \
        error = ((call_##name *)own)(ARGUMENTS_##count);                                                  \
        note(CALL_##name, caller, &timing, error);                                                        \
        return error;                                                                                     \
    }                                                                                                     \
    int outer_##name(PARAMETERS_##count) CAUGHT(MPI_##name);                                              \
    int outer_##name(PARAMETERS_##count)                                                                  \
    {                                                                                                     \
        any_call *const own = own_call(CALL_##name), *const tool = lines[CALL_##name].tool;               \
        if (tool != NULL) return ((call_##name *)tool)(ARGUMENTS_##count);                                \
        return own_##name(ARGUMENTS_##count, own, __builtin_return_address(0));                           \
    }                                                                                                     \
    int inner_##name(PARAMETERS_##count) CAUGHT(PMPI_##name);                                             \
    int inner_##name(PARAMETERS_##count)                                                                  \
    {                                                                                                     \
        return own_##name(ARGUMENTS_##count, own_call(CALL_##name), __builtin_return_address(0));         \
    }
COLLECTIVES
#undef ONE

/* In place of a call in _c that the MPI lacks: the call without _c. */
#define FITS_B (b <= INT_MAX)
#define FITS_C (c <= INT_MAX)
#define FITS_B_AND_E (b <= INT_MAX && e <= INT_MAX)
#ifdef BROADLEAF_HAVE_BCAST_C
#define SMALL_OF(count, counts, name)                                                               \
    static int small_##name(PARAMETERS_##count)                                                     \
    {                                                                                               \
        call_##name *const other = (call_##name *)bl_outermost("MPI_" #name);                       \
        return FITS_##counts && other != NULL ? other(ARGUMENTS_##count) : MPI_ERR_COUNT;           \
    }
WITH_COUNTS(SMALL_OF)

#define WORDS_6 words[0], words[1], words[2], words[3], words[4], words[5]
#define WORDS_7 WORDS_6, words[6]
#define WORDS_8 WORDS_7, words[7]
#define WORDS_9 WORDS_8, words[8]
#define WORDS_10 WORDS_9, words[9]
#define WORDS_11 WORDS_10, words[10]
#define SMALL_OF_ARRAYS(count, counts, name)                                     \
    static int small_##name(PARAMETERS_##count)                                  \
    {                                                                            \
        static const bl_counts arrays = counts;                                  \
        call_##name *const other = (call_##name *)bl_outermost("MPI_" #name);    \
        if (other == NULL) return absent();                                      \
        word words[] = {ARGUMENTS_##count};                                      \
        bl_narrowed narrowed;                                                    \
        int error = bl_narrow(&narrowed, words, &arrays, "MPI_" #name);          \
        if (error == MPI_SUCCESS) error = other(WORDS_##count);                  \
        bl_narrow_end(&narrowed);                                                \
        return error;                                                            \
    }
WITH_ARRAYS(SMALL_OF_ARRAYS)
#endif

static any_call *const small[KINDS] = {
#ifdef BROADLEAF_HAVE_BCAST_C
#define SMALL_OF_LARGE(count, counts, name) [CALL_##name##_c] = (any_call *)small_##name,
    WITH_COUNTS(SMALL_OF_LARGE) WITH_ARRAYS(SMALL_OF_LARGE)
#else
    NULL,
#endif
};

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
