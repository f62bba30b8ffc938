/* A tool that goes past the dynamic linker: it opens the MPI's library and calls what it finds there.
 *
 * With WRAP_INIT it does so in MPI_Init, with WRAP_BCAST in MPI_Bcast. The environment variable TEST_LIBMPI names the
 * library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void *theirs(const char *name)
{
    void *library = dlopen(getenv("TEST_LIBMPI"), RTLD_LAZY | RTLD_NOLOAD);
    void *found = library == NULL ? NULL : dlsym(library, name);
    if (found == NULL) {
        fprintf(stderr, "past: no %s\n", name);
        exit(1);
    }
    return found;
}

#ifdef WRAP_INIT
int MPI_Init(int *argc, char ***argv)
{
    int (*init)(int *, char ***);
    *(void **)&init = theirs("PMPI_Init");
    return init(argc, argv);
}
#endif

#ifdef WRAP_BCAST
int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    int (*bcast)(void *, int, MPI_Datatype, int, MPI_Comm);
    *(void **)&bcast = theirs("PMPI_Bcast");
    return bcast(data, count, type, root, comm);
}
#endif
