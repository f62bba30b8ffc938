/* Open MPI's Fortran layer calls PMPI functions, so its entry points are caught as well, under each name that Fortran
 * compilers give them: a program may load the layer where this library cannot find it. If a next definition is found,
 * a tool's or the MPI's own, the call is handed to it and comes back as PMPI_Bcast, as it does from MPICH's layer. */
#include "bound.h"

#ifdef OPEN_MPI
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* Fortran's MPI_BOTTOM is the address of a common block of Open MPI's, one for each naming convention of compilers. */
#define BOTTOMS(X) X(mpi_fortran_bottom) X(mpi_fortran_bottom_) X(mpi_fortran_bottom__) X(MPI_FORTRAN_BOTTOM)
#define DECLARE_BOTTOM(name) extern int name __attribute__((weak));
BOTTOMS(DECLARE_BOTTOM)

/* Likewise its MPI_IN_PLACE. */
#define IN_PLACES(X) \
    X(mpi_fortran_in_place) X(mpi_fortran_in_place_) X(mpi_fortran_in_place__) X(MPI_FORTRAN_IN_PLACE)
#define DECLARE_IN_PLACE(name) extern int name __attribute__((weak));
IN_PLACES(DECLARE_IN_PLACE)

static void *address_of(void *data)
{
#define IS_BOTTOM(name) \
    if (&name != NULL && data == (void *)&name) return MPI_BOTTOM;
#define IS_IN_PLACE(name) \
    if (&name != NULL && data == (void *)&name) return MPI_IN_PLACE;
    BOTTOMS(IS_BOTTOM)
    IN_PLACES(IS_IN_PLACE)
    return data;
}

static char none;

/* The next definition of a name after this library's: a tool's, or that of the MPI's Fortran layer. */
static void *next_in_line(void *_Atomic *known, const char *name)
{
    void *next = atomic_load_explicit(known, memory_order_acquire);
    if (next == NULL) {
        next = dlsym(RTLD_NEXT, name);
        if (next == NULL) next = &none;
        atomic_store_explicit(known, next, memory_order_release);
    }
    return next == &none ? NULL : next;
}

typedef void bcast_call(void *data, MPI_Fint *count, MPI_Fint *type, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *error);
typedef void init_call(MPI_Fint *error);
typedef void init_thread_call(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *error);

static void bcast(void *data, const MPI_Fint *count, const MPI_Fint *type, const MPI_Fint *root, const MPI_Fint *comm,
                  MPI_Fint *error)
{
    int code = MPI_ERR_OTHER;
    if (bl_bind())
        code = MPI_Bcast(address_of(data), (int)*count, bl_mpi.Type_f2c(*type), (int)*root, bl_mpi.Comm_f2c(*comm));
    /* Optional in the module mpi_f08. */
    if (error != NULL) *error = (MPI_Fint)code;
}

static void init(MPI_Fint *error)
{
    int code = MPI_Init(NULL, NULL);
    if (error != NULL) *error = (MPI_Fint)code;
}

static void init_thread(const MPI_Fint *required, MPI_Fint *provided, MPI_Fint *error)
{
    int given = 0;
    int code = MPI_Init_thread(NULL, NULL, (int)*required, &given);
    *provided = (MPI_Fint)given;
    if (error != NULL) *error = (MPI_Fint)code;
}

/* The other collectives, by the kinds of their arguments: (b)uffer, (n)umber, (a)rray of numbers, (t)ype, (o)peration,
 * (c)ommunicator. In C all are passed as words. */
_Static_assert(sizeof(MPI_Fint) == sizeof(int), "arrays of counts are passed on as they are");
typedef uintptr_t word;
typedef void any_call(void);
typedef int call_of_6(word, word, word, word, word, word);
typedef int call_of_7(word, word, word, word, word, word, word);
typedef int call_of_8(word, word, word, word, word, word, word, word);
typedef int call_of_9(word, word, word, word, word, word, word, word, word);

static word word_of(char kind, void *given)
{
    switch (kind) {
    case 'n': return (word) * (const MPI_Fint *)given;
    case 't': return (word)bl_mpi.Type_f2c(*(const MPI_Fint *)given);
    case 'o': return (word)bl_mpi.Op_f2c(*(const MPI_Fint *)given);
    case 'c': return (word)bl_mpi.Comm_f2c(*(const MPI_Fint *)given);
    case 'b': return (word)address_of(given);
    default: return (word)given;
    }
}

static void collective(any_call *call, const char *kinds, void *const *given, MPI_Fint *error)
{
    word words[9];
    int code = MPI_ERR_OTHER;
    const size_t count = strlen(kinds);
#define WORDS words[0], words[1], words[2], words[3], words[4], words[5]
    if (bl_bind()) {
        for (size_t at = 0; at < count; at++) words[at] = word_of(kinds[at], given[at]);
        switch (count) {
        case 6: code = ((call_of_6 *)call)(WORDS); break;
        case 7: code = ((call_of_7 *)call)(WORDS, words[6]); break;
        case 8: code = ((call_of_8 *)call)(WORDS, words[6], words[7]); break;
        default: code = ((call_of_9 *)call)(WORDS, words[6], words[7], words[8]);
        }
    }
    if (error != NULL) *error = (MPI_Fint)code;
}

/* A Fortran name; `own` runs if no definition comes after this library's. */
#define CAUGHT(name, kind, own, parameters, ...)                              \
    EXPORT void name parameters;                                              \
    EXPORT void name parameters                                               \
    {                                                                         \
        static void *_Atomic known;                                           \
        kind *const next = (kind *)next_in_line(&known, #name);               \
        if (next != NULL)                                                     \
            next(__VA_ARGS__);                                                \
        else                                                                  \
            own(__VA_ARGS__);                                                 \
    }
#define BCAST(name)                                                                                                  \
    CAUGHT(name, bcast_call, bcast,                                                                                  \
           (void *data, MPI_Fint *count, MPI_Fint *type, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *error), data,     \
           count, type, root, comm, error)
#define INIT(name) CAUGHT(name, init_call, init, (MPI_Fint * error), error)
#define INIT_THREAD(name)                                                                                            \
    CAUGHT(name, init_thread_call, init_thread, (MPI_Fint * required, MPI_Fint * provided, MPI_Fint * error),        \
           required, provided, error)

BCAST(mpi_bcast)
BCAST(mpi_bcast_)
BCAST(mpi_bcast__)
BCAST(MPI_BCAST)
BCAST(mpi_bcast_f08)
BCAST(mpi_bcast_f08_)
INIT(mpi_init)
INIT(mpi_init_)
INIT(mpi_init__)
INIT(MPI_INIT)
INIT(mpi_init_f08)
INIT(mpi_init_f08_)
INIT_THREAD(mpi_init_thread)
INIT_THREAD(mpi_init_thread_)
INIT_THREAD(mpi_init_thread__)
INIT_THREAD(MPI_INIT_THREAD)
INIT_THREAD(mpi_init_thread_f08)
INIT_THREAD(mpi_init_thread_f08_)

#define PARAMETERS_6 void *a, void *b, void *c, void *d, void *e, void *f
#define PARAMETERS_7 PARAMETERS_6, void *g
#define PARAMETERS_8 PARAMETERS_7, void *h
#define PARAMETERS_9 PARAMETERS_8, void *i
#define ARGUMENTS_6 a, b, c, d, e, f
#define ARGUMENTS_7 ARGUMENTS_6, g
#define ARGUMENTS_8 ARGUMENTS_7, h
#define ARGUMENTS_9 ARGUMENTS_8, i
#define COLLECTIVE(name, count, kinds, call)                                                    \
    static void own_##name(PARAMETERS_##count, MPI_Fint *error)                                 \
    {                                                                                           \
        void *const given[] = {ARGUMENTS_##count};                                              \
        collective((any_call *)call, kinds, given, error);                                      \
    }                                                                                           \
    typedef void call_##name(PARAMETERS_##count, MPI_Fint *error);                              \
    CAUGHT(name, call_##name, own_##name, (PARAMETERS_##count, MPI_Fint *error), ARGUMENTS_##count, error)
#define COLLECTIVES(lower, upper, count, kinds, call) \
    COLLECTIVE(mpi_##lower, count, kinds, call)       \
    COLLECTIVE(mpi_##lower##_, count, kinds, call)    \
    COLLECTIVE(mpi_##lower##__, count, kinds, call)   \
    COLLECTIVE(MPI_##upper, count, kinds, call)       \
    COLLECTIVE(mpi_##lower##_f08, count, kinds, call) \
    COLLECTIVE(mpi_##lower##_f08_, count, kinds, call)

COLLECTIVES(scatter, SCATTER, 8, "bntbntnc", MPI_Scatter)
COLLECTIVES(scatterv, SCATTERV, 9, "baatbntnc", MPI_Scatterv)
COLLECTIVES(gather, GATHER, 8, "bntbntnc", MPI_Gather)
COLLECTIVES(gatherv, GATHERV, 9, "bntbaatnc", MPI_Gatherv)
COLLECTIVES(allgather, ALLGATHER, 7, "bntbntc", MPI_Allgather)
COLLECTIVES(allgatherv, ALLGATHERV, 8, "bntbaatc", MPI_Allgatherv)
COLLECTIVES(reduce, REDUCE, 7, "bbntonc", MPI_Reduce)
COLLECTIVES(allreduce, ALLREDUCE, 6, "bbntoc", MPI_Allreduce)
COLLECTIVES(reduce_scatter, REDUCE_SCATTER, 6, "bbatoc", MPI_Reduce_scatter)
COLLECTIVES(reduce_scatter_block, REDUCE_SCATTER_BLOCK, 6, "bbntoc", MPI_Reduce_scatter_block)
#endif
