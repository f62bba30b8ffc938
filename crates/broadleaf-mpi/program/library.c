/* The search for the MPI's library. */
#include "library.h"

#ifdef SMPI_H

#define BL_LINKED(name) .name = PMPI_##name,
bl_mpi_table bl_mpi = {BL_CALLS(BL_LINKED)};

int bl_open_mpi(void)
{
    return 1;
}

#else

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

bl_mpi_table bl_mpi;

#if defined(OPEN_MPI)
static const char *const names[] = {"libmpi.so.40"};
#elif defined(MPI_ABI_VERSION)
static const char *const names[] = {"libmpi_abi.so.1", "libmpi_abi.so.0"};
#else
/* Names of MPICH and of MPIs with its ABI; the second is Debian's. */
static const char *const names[] = {"libmpi.so.12", "libmpich.so.12"};
#endif

int bl_open_mpi(void)
{
    void *library = NULL;
    char reasons[2048] = "";
    /* Global: the MPI's own plugins may look for it there. */
    for (size_t at = 0; library == NULL && at < sizeof names / sizeof *names; at++) {
        library = dlopen(names[at], RTLD_NOW | RTLD_GLOBAL);
        const size_t used = strlen(reasons);
        if (library == NULL) snprintf(reasons + used, sizeof reasons - used, "%s; ", dlerror());
    }
    if (library == NULL) {
        fprintf(stderr, BL_PROGRAM ": %sadd the folder of %s to LD_LIBRARY_PATH\n", reasons, names[0]);
        return 0;
    }
    const char *lacking = NULL;
#define FIND(member, name)                       \
    *(void **)&bl_mpi.member = dlsym(BL_SCOPE(library), name); \
    if (bl_mpi.member == NULL) lacking = name;
#define FIND_CALL(name) FIND(name, BL_PREFIX #name)
#define FIND_HANDLE(name) FIND(name, #name)
    BL_CALLS(FIND_CALL) BL_HANDLES(FIND_HANDLE)
    if (lacking != NULL) fprintf(stderr, BL_PROGRAM ": the MPI has no %s; use a newer one\n", lacking);
    return lacking == NULL;
}

#endif
