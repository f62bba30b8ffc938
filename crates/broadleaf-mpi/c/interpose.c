/* A program preloaded with this library calls these in place of the MPI's own; each either runs the planned
 * broadcast or passes the call through untouched and counts why.
 *
 * A tool that wraps MPI_Bcast ends in PMPI_Bcast, so both are intercepted. Calls of either are planned; if a tool
 * behind this library wraps MPI_Bcast too, the call is handed to the tool, and planned when it comes back. */
#include "interpose.h"

#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "agreed.h"
#include "announced.h"
#include "bound.h"
#include "broadcast.h"
#include "comms.h"
#include "lifecycle.h"
#include "message_size.h"
#include "passed.h"
#include "raised.h"
#include "refused.h"
#include "simulated.h"

/* Arguments travel as machine words: under an MPI of another kind, whose handles are of another size, every call must
 * go on as it came. */
typedef uintptr_t word;
typedef int bcast_call(word data, word count, word type, word root, word comm);
typedef int init_call(word argc, word argv);
typedef int init_thread_call(word argc, word argv, word required, word provided);

typedef struct {
    word data, count, type, root, comm;
} bcast_words;

#define CAUGHT(name) __asm__(#name) __attribute__((visibility("default")))

int caught_bcast(word data, word count, word type, word root, word comm) CAUGHT(MPI_Bcast);
int caught_init(word argc, word argv) CAUGHT(MPI_Init);
int caught_init_thread(word argc, word argv, word required, word provided) CAUGHT(MPI_Init_thread);
#ifdef BROADLEAF_HAVE_BCAST_C
int caught_bcast_c(word data, word count, word type, word root, word comm) CAUGHT(MPI_Bcast_c);
#endif

/* Where calls go next: to a tool behind this library, or else to the MPI. */
typedef struct {
    bcast_call *_Atomic tool;
    bcast_call *own;
} bcast_line;

/* Until the tool is known, each call of MPI_Bcast asks for it first. */
static bcast_call look_up_and_bcast;
static bcast_line line = {.tool = look_up_and_bcast};
static struct {
    init_call *tool, *own;
} init_line;
static struct {
    init_thread_call *tool, *own;
} init_thread_line;
#ifdef BROADLEAF_HAVE_BCAST_C
static bcast_call look_up_and_bcast_c;
static bcast_line line_c = {.tool = look_up_and_bcast_c};
#endif

static void look_up_bcast(bcast_line *found, const char *own, const char *outer)
{
    found->own = (bcast_call *)bl_inner(own);
    atomic_store_explicit(&found->tool, (bcast_call *)bl_tool_behind(outer), memory_order_release);
}

#ifdef BROADLEAF_HAVE_BCAST_C
/* In place of MPI_Bcast_c where the MPI lacks it: mpi4py, for example, calls it if it finds it, and it finds this
 * one. */
static int small_bcast(word data, word count, word type, word root, word comm)
{
    bcast_call *const other = (bcast_call *)bl_outermost("MPI_Bcast");
    return count <= INT_MAX && other != NULL ? other(data, count, type, root, comm) : MPI_ERR_COUNT;
}
#endif

/* Whether the MPI can be used. Threads that run this at once find the same result. */
static int look_up(void)
{
    static _Atomic int is_done;
    const int usable = bl_bind();
    if (is_done) return usable;
    init_line.own = (init_call *)bl_inner("PMPI_Init");
    init_line.tool = (init_call *)bl_tool_behind("MPI_Init");
    init_thread_line.own = (init_thread_call *)bl_inner("PMPI_Init_thread");
    init_thread_line.tool = (init_thread_call *)bl_tool_behind("MPI_Init_thread");
    look_up_bcast(&line, "PMPI_Bcast", "MPI_Bcast");
#ifdef BROADLEAF_HAVE_BCAST_C
    look_up_bcast(&line_c, "PMPI_Bcast_c", "MPI_Bcast_c");
    if (line_c.own == NULL) line_c.own = small_bcast;
#endif
    is_done = 1;
    return usable;
}

static int look_up_and_bcast(word data, word count, word type, word root, word comm)
{
    look_up();
    return caught_bcast(data, count, type, root, comm);
}

#ifdef BROADLEAF_HAVE_BCAST_C
static int look_up_and_bcast_c(word data, word count, word type, word root, word comm)
{
    look_up();
    return caught_bcast_c(data, count, type, root, comm);
}
#endif

/* The program's error handler may never return (it may jump or throw), so no Broadleaf operation is under way when it
 * runs. */
static int finish(MPI_Comm comm, int error)
{
    bl_inside = 0;
    if (error != MPI_SUCCESS) bl_raise(comm, error, "MPI_Bcast");
    return error;
}

/* Packed bytes of an element; without the slower 64-bit call where that many fit an int. Negative: no such type. */
static inline MPI_Count element_bytes(MPI_Datatype type)
{
    int size;
    MPI_Count large;
    if (!bl_is_type(type) || bl_mpi.Type_size(type, &size) != MPI_SUCCESS) return -1;
    if (size >= 0) return size;
    return bl_mpi.Type_size_x(type, &large) == MPI_SUCCESS ? large : -1;
}

/* The threshold, where all calls have been passed through so far. If MPI_Init was not intercepted, all ranks start at
 * their first broadcast on MPI_COMM_WORLD, a collective call. */
static uint64_t woken(MPI_Comm comm)
{
    int has_begun = 0, has_ended = 0;
    if (bl_all_passed_for() == BL_PASSED_NOT_STARTED && look_up() && comm == MPI_COMM_WORLD &&
        bl_mpi.Initialized(&has_begun) == MPI_SUCCESS && has_begun &&
        bl_mpi.Finalized(&has_ended) == MPI_SUCCESS && !has_ended)
        bl_start();
    return bl_threshold_bytes();
}

/* Which way a call goes. */
typedef enum {
    WAY_MPI,   /* to the MPI at once */
    WAY_TIMED, /* to the MPI, and its time is kept */
    WAY_PLAN,
} way;

/* Where Broadleaf is disabled, messages that would have been planned are timed. */
static __attribute__((noinline)) way disabled_way(const bl_call *call, MPI_Comm comm, uint64_t *bytes)
{
    const bl_config *agreed = bl_agreed_config();
    if (!agreed->stats || bl_inside || call->type == MPI_DATATYPE_NULL || comm == MPI_COMM_NULL) return WAY_MPI;
    const bl_size size = bl_size_of(call->count, element_bytes(call->type), agreed->min_bytes, bytes);
    return size == BL_SIZE_PLANNED ? WAY_TIMED : WAY_MPI;
}

/* Which way a call goes, and, unless it goes to the MPI at once, its packed bytes (more than 0). */
static inline way way_of(const bl_call *call, MPI_Comm comm, uint64_t *bytes)
{
    static const bl_reason reasons[] = {
        [BL_SIZE_IMPOSSIBLE] = BL_PASSED_INVALID,
        [BL_SIZE_NONE] = BL_PASSED_EMPTY,
        [BL_SIZE_SMALL] = BL_PASSED_SMALL,
        [BL_SIZE_PLANNED] = BL_PASSED_NESTED,
    };
    uint64_t threshold = bl_threshold_bytes();
    bl_reason reason;
    if (threshold == UINT64_MAX) threshold = woken(comm);
    if (threshold == UINT64_MAX) {
        reason = bl_all_passed_for();
        bl_count_passed(reason);
        return reason == BL_PASSED_DISABLED ? disabled_way(call, comm, bytes) : WAY_MPI;
    }
    if (call->type == MPI_DATATYPE_NULL || comm == MPI_COMM_NULL)
        reason = BL_PASSED_INVALID;
    else {
        const bl_size size = bl_size_of(call->count, element_bytes(call->type), threshold, bytes);
        if (size == BL_SIZE_PLANNED && !bl_inside) return WAY_PLAN;
        reason = reasons[size];
    }
    bl_count_passed(reason);
    return WAY_MPI;
}

static __attribute__((noinline)) int timed_bcast(const bcast_words *words, int root, uint64_t bytes, bcast_call *own,
                                                 bl_times *times)
{
    const double start_s = bl_clock_s();
    const int error = own(words->data, words->count, words->type, words->root, words->comm);
    if (error == MPI_SUCCESS) bl_times_native(times, BL_BCAST, bytes, root, bl_clock_s() - start_s);
    return error;
}

/* A call that need not go to a tool. `count` is that of `words`, by its type; `caller` is where the call returns to. */
static inline int catch(const bcast_words *words, MPI_Count count, const bcast_line *to, const void *caller)
{
    const bl_call call = {(void *)words->data, count, (MPI_Datatype)words->type, (int)words->root};
    const MPI_Comm comm = (MPI_Comm)words->comm;
    uint64_t bytes;
    /* The MPI's own internal calls, such as ROMIO's, are not the program's. */
    const way way = bl_is_inside_mpi(caller) ? WAY_MPI : way_of(&call, comm, &bytes);
    bl_times *timed = NULL;
    int error, handled = 0;
    if (way != WAY_MPI && bl_kind_of_comm(comm, &error) == BL_NO_COMM) return error;
    if (way == WAY_PLAN) {
        bl_inside = 1;
        error = finish(comm, bl_broadcast(&call, bytes, comm, &handled, &timed));
        if (handled) return error;
    } else if (way == WAY_TIMED)
        timed = bl_timed_while_disabled(&call, comm);
    if (to->own == NULL) return MPI_ERR_OTHER;
    if (timed != NULL) return timed_bcast(words, call.root, bytes, to->own, timed);
    return to->own(words->data, words->count, words->type, words->root, words->comm);
}

int bl_bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    const bcast_words words = {(word)data, (word)count, (word)type, (word)root, (word)comm};
    return catch(&words, count, &line, __builtin_return_address(0));
}

/* A call that may have to go to a tool first. */
static inline int hand_on_or_catch(const bcast_words *words, MPI_Count count, const bcast_line *to, const void *caller)
{
    bcast_call *const tool = atomic_load_explicit(&to->tool, memory_order_acquire);
    if (tool == NULL) return catch(words, count, to, caller);
    bl_count_handed_on();
    return tool(words->data, words->count, words->type, words->root, words->comm);
}

int caught_bcast(word data, word count, word type, word root, word comm)
{
    const bcast_words words = {data, count, type, root, comm};
    return hand_on_or_catch(&words, (int)count, &line, __builtin_return_address(0));
}

#ifdef BROADLEAF_HAVE_BCAST_C
int caught_bcast_c(word data, word count, word type, word root, word comm)
{
    const bcast_words words = {data, count, type, root, comm};
    return hand_on_or_catch(&words, (MPI_Count)count, &line_c, __builtin_return_address(0));
}
#endif

static void before(void)
{
    if (look_up()) bl_announce();
}

/* After MPI_Init, by whatever path it reached the MPI. */
static int begun(int error)
{
    if (error == MPI_SUCCESS && look_up()) bl_start();
    return error;
}

int caught_init(word argc, word argv)
{
    before();
    init_call *const next = init_line.tool != NULL ? init_line.tool : init_line.own;
    return next == NULL ? MPI_ERR_OTHER : begun(next(argc, argv));
}

int caught_init_thread(word argc, word argv, word required, word provided)
{
    before();
    init_thread_call *const next = init_thread_line.tool != NULL ? init_thread_line.tool : init_thread_line.own;
    return next == NULL ? MPI_ERR_OTHER : begun(next(argc, argv, required, provided));
}

/* A program that is linked with SMPI and with this library has one PMPI_Bcast, which is SMPI's. */
#ifndef SMPI_H
int caught_inner_bcast(word data, word count, word type, word root, word comm) CAUGHT(PMPI_Bcast);
int caught_inner_bcast(word data, word count, word type, word root, word comm)
{
    const bcast_words words = {data, count, type, root, comm};
    return catch(&words, (int)count, &line, __builtin_return_address(0));
}

#ifdef BROADLEAF_HAVE_BCAST_C
int caught_inner_bcast_c(word data, word count, word type, word root, word comm) CAUGHT(PMPI_Bcast_c);
int caught_inner_bcast_c(word data, word count, word type, word root, word comm)
{
    const bcast_words words = {data, count, type, root, comm};
    return catch(&words, (MPI_Count)count, &line_c, __builtin_return_address(0));
}
#endif

int caught_inner_init(word argc, word argv) CAUGHT(PMPI_Init);
int caught_inner_init(word argc, word argv)
{
    before();
    return init_line.own == NULL ? MPI_ERR_OTHER : begun(init_line.own(argc, argv));
}

int caught_inner_init_thread(word argc, word argv, word required, word provided) CAUGHT(PMPI_Init_thread);
int caught_inner_init_thread(word argc, word argv, word required, word provided)
{
    before();
    if (init_thread_line.own == NULL) return MPI_ERR_OTHER;
    return begun(init_thread_line.own(argc, argv, required, provided));
}
#endif
