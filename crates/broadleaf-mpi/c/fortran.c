/* Open MPI's Fortran layer calls PMPI functions, so its entry points are caught as well, under each name that Fortran
 * compilers give them: a program may load the layer where this library cannot find it. If a next definition is found,
 * a tool's or the MPI's own, the call is handed to it and comes back as PMPI_Bcast, as it does from MPICH's layer. */
#include "bound.h"

#ifdef OPEN_MPI
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

/* Fortran's MPI_BOTTOM is the address of a common block of Open MPI's, one for each naming convention of compilers. */
#define BOTTOMS(X) X(mpi_fortran_bottom) X(mpi_fortran_bottom_) X(mpi_fortran_bottom__) X(MPI_FORTRAN_BOTTOM)
#define DECLARE_BOTTOM(name) extern int name __attribute__((weak));
BOTTOMS(DECLARE_BOTTOM)

static void *address_of(void *data)
{
#define IS_BOTTOM(name) \
    if (&name != NULL && data == (void *)&name) return MPI_BOTTOM;
    BOTTOMS(IS_BOTTOM)
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
#endif
