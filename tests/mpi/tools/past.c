/* A tool that bypasses the dynamic linker: it calls the functions of the MPI's own library, with WRAP_INIT in MPI_Init,
 * with WRAP_BCAST in MPI_Bcast. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void *theirs(const char *name)
{
    Dl_info where;
    void *found = NULL;
    if (dladdr(dlsym(RTLD_DEFAULT, "PMPI_Comm_rank"), &where))
        found = dlsym(dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD), name);
    if (found != NULL) return found;
    fprintf(stderr, "past: no %s\n", name);
    exit(1);
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
