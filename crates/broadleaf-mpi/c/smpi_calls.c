/* Replaces counted.c in simulated time: the collectives that can be planned, without counts. */
#include "collectives.h"
#include "counted.h"
#include "passed.h"
#include "simulated.h"

#define EXPORT __attribute__((visibility("default")))

uint32_t bl_counted(const char *names[BL_MOST_COUNTED], uint64_t calls[BL_MOST_COUNTED])
{
    (void)names, (void)calls;
    return 0;
}

/* Whether the call ran by a plan; in a comparison `times` takes the time of the MPI's own call. */
static int serve(const bl_exchange *call, MPI_Comm comm, int *error, bl_times **times, uint64_t *bytes)
{
    int handled = 0;
    *error = MPI_SUCCESS;
    *times = NULL;
    if (bl_is_listed((int)call->collective)) *error = bl_exchange_run(call, comm, &handled, times, bytes);
    return handled;
}

/* A call of that name: by a plan, or by SMPI's own, which a comparison times. */
#define CALL(function, parameters, exchange, ...)                                                                    \
    EXPORT int MPI_##function parameters                                                                             \
    {                                                                                                                \
        bl_exchange call = exchange;                                                                                 \
        int error = MPI_SUCCESS;                                                                                     \
        call.name = "MPI_" #function;                                                                                \
        bl_times *times;                                                                                             \
        uint64_t bytes;                                                                                              \
        if (serve(&call, comm, &error, &times, &bytes)) return error;                                                \
        const double start_s = bl_clock_s();                                                                         \
        error = PMPI_##function(__VA_ARGS__);                                                                        \
        if (times != NULL && error == MPI_SUCCESS)                                                                   \
            bl_times_native(times, call.collective, bytes, call.root, bl_clock_s() - start_s);                       \
        return error;                                                                                                \
    }
#define BLOCKS(kind, at)                                                                                             \
    ((bl_exchange){.collective = kind, .send = {(void *)from, sent, sent_type}, .receive = {to, got, got_type}, .root = at})

CALL(Scatter, (const void *from, int sent, MPI_Datatype sent_type, void *to, int got, MPI_Datatype got_type, int root,
               MPI_Comm comm), BLOCKS(BL_SCATTER, root), from, sent, sent_type, to, got, got_type, root, comm)
CALL(Gather, (const void *from, int sent, MPI_Datatype sent_type, void *to, int got, MPI_Datatype got_type, int root,
              MPI_Comm comm), BLOCKS(BL_GATHER, root), from, sent, sent_type, to, got, got_type, root, comm)
CALL(Allgather, (const void *from, int sent, MPI_Datatype sent_type, void *to, int got, MPI_Datatype got_type,
                 MPI_Comm comm), BLOCKS(BL_ALLGATHER, 0), from, sent, sent_type, to, got, got_type, comm)

#define SIDES(kind, at)                                                                                              \
    ((bl_exchange){.collective = kind, .send = {(void *)from, count, type}, .receive = {to, count, type}, .root = at, .op = op})
CALL(Reduce, (const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),
     SIDES(BL_REDUCE, root), from, to, count, type, op, root, comm)
CALL(Allreduce, (const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     SIDES(BL_ALLREDUCE, 0), from, to, count, type, op, comm)
CALL(Reduce_scatter_block, (const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     SIDES(BL_REDUCE_SCATTER, 0), from, to, count, type, op, comm)
CALL(Reduce_scatter, (const void *from, void *to, const int *counts, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     ((bl_exchange){.collective = BL_REDUCE_SCATTER, .send = {(void *)from, 0, type},
                    .receive = {to, 0, type, .counts = {counts, 0}}, .op = op, .has_counts = 1}),
     from, to, counts, type, op, comm)

#define BY_COUNTS(buffer, type_) {(void *)(buffer), 0, type_, .counts = {counts, 0}, .displacements = {places, 0}}
CALL(Scatterv, (const void *from, const int *counts, const int *places, MPI_Datatype sent_type, void *to, int got,
                MPI_Datatype got_type, int root, MPI_Comm comm),
     ((bl_exchange){.collective = BL_SCATTER, .send = BY_COUNTS(from, sent_type), .receive = {to, got, got_type},
                    .root = root, .has_counts = 1}),
     from, counts, places, sent_type, to, got, got_type, root, comm)
CALL(Gatherv, (const void *from, int sent, MPI_Datatype sent_type, void *to, const int *counts, const int *places,
               MPI_Datatype got_type, int root, MPI_Comm comm),
     ((bl_exchange){.collective = BL_GATHER, .send = {(void *)from, sent, sent_type}, .receive = BY_COUNTS(to, got_type),
                    .root = root, .has_counts = 1}),
     from, sent, sent_type, to, counts, places, got_type, root, comm)
CALL(Allgatherv, (const void *from, int sent, MPI_Datatype sent_type, void *to, const int *counts, const int *places,
                  MPI_Datatype got_type, MPI_Comm comm),
     ((bl_exchange){.collective = BL_ALLGATHER, .send = {(void *)from, sent, sent_type},
                    .receive = BY_COUNTS(to, got_type), .has_counts = 1}),
     from, sent, sent_type, to, counts, places, got_type, comm)
