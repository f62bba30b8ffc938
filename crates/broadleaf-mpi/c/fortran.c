/* Open MPI's Fortran layer calls PMPI functions, so its entry points are caught as well, under each name that
 * Fortran compilers give them. MPICH's Fortran layer calls MPI_Init and MPI_Bcast, which are caught already, save
 * in the module mpi_f08, whose MPI_Init goes past. */
#include <dlfcn.h>
#include <mpi.h>
#include <stddef.h>

#include "lifecycle.h"

#ifdef OPEN_MPI
#define EXPORT __attribute__((visibility("default")))

/* Fortran's MPI_BOTTOM is the address of a common block of Open MPI's, one for each compiler's way of naming. */
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

static void bcast(void *data, const MPI_Fint *count, const MPI_Fint *type, const MPI_Fint *root, const MPI_Fint *comm,
                  MPI_Fint *error)
{
    int code =
        MPI_Bcast(address_of(data), (int)*count, PMPI_Type_f2c(*type), (int)*root, PMPI_Comm_f2c(*comm));
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

#define BCAST(name)                                                                                      \
    EXPORT void name(void *data, MPI_Fint *count, MPI_Fint *type, MPI_Fint *root, MPI_Fint *comm,        \
                     MPI_Fint *error);                                                                   \
    EXPORT void name(void *data, MPI_Fint *count, MPI_Fint *type, MPI_Fint *root, MPI_Fint *comm,        \
                     MPI_Fint *error)                                                                    \
    {                                                                                                    \
        bcast(data, count, type, root, comm, error);                                                     \
    }
#define INIT(name)                      \
    EXPORT void name(MPI_Fint *error);  \
    EXPORT void name(MPI_Fint *error)   \
    {                                   \
        init(error);                    \
    }
#define INIT_THREAD(name)                                                              \
    EXPORT void name(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *error);         \
    EXPORT void name(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *error)          \
    {                                                                                  \
        init_thread(required, provided, error);                                        \
    }

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
#elif defined MPICH_VERSION
#define EXPORT __attribute__((visibility("default")))

EXPORT void mpi_init_f08_(MPI_Fint *error);
EXPORT void mpi_init_f08_(MPI_Fint *error)
{
    MPI_Fint code = MPI_ERR_INTERN;
    void (*theirs)(MPI_Fint *);
    *(void **)&theirs = dlsym(RTLD_NEXT, "mpi_init_f08_");
    if (theirs != NULL) theirs(&code);
    if (code == MPI_SUCCESS) bl_start();
    if (error != NULL) *error = code;
}

EXPORT void mpi_init_thread_f08_(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *error);
EXPORT void mpi_init_thread_f08_(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *error)
{
    MPI_Fint code = MPI_ERR_INTERN;
    void (*theirs)(MPI_Fint *, MPI_Fint *, MPI_Fint *);
    *(void **)&theirs = dlsym(RTLD_NEXT, "mpi_init_thread_f08_");
    if (theirs != NULL) theirs(required, provided, &code);
    if (code == MPI_SUCCESS) bl_start();
    if (error != NULL) *error = code;
}
#endif
