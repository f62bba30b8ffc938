/* PMIx where the process has it, else PMI-1, else PMPI_Publish_name. */
#include "store.h"

#include <stdio.h>
#include <stdlib.h>

#include "bound.h"
#include "pmi.h"
#include "pmix.h"

/* Differs between the worlds that one launcher started. */
static char world[256];
static int own_rank;
static enum { PMIX, PMI, NAMES } server;

/* A job and all that it spawns have one name service. */
static int name_world(int is_spawned)
{
    const char *job = getenv("PMI_JOBID");
    snprintf(world, sizeof world, "%s", job == NULL ? "0" : job);
    return job != NULL || !is_spawned;
}

static MPI_Errhandler world_handler, self_handler;

static int quiet(MPI_Comm comm, MPI_Errhandler *theirs)
{
    return bl_mpi.Comm_get_errhandler(comm, theirs) == MPI_SUCCESS &&
           bl_mpi.Comm_set_errhandler(comm, MPI_ERRORS_RETURN) == MPI_SUCCESS;
}

static void restore(MPI_Comm comm, MPI_Errhandler *theirs)
{
    if (*theirs == MPI_ERRHANDLER_NULL) return;
    bl_mpi.Comm_set_errhandler(comm, *theirs);
    bl_mpi.Errhandler_free(theirs);
}

int bl_store_open(int rank, int is_spawned)
{
    own_rank = rank;
    world_handler = self_handler = MPI_ERRHANDLER_NULL;
    server = bl_pmix_open(world) ? PMIX : bl_pmi_open(world) ? PMI : NAMES;
    if (server != NAMES) return 1;
    if (!name_world(is_spawned) || !quiet(MPI_COMM_WORLD, &world_handler)) return 0;
#ifdef OPEN_MPI
    /* A missing name raises its error on MPI_COMM_WORLD before MPI 4 and on MPI_COMM_SELF since. */
    return quiet(MPI_COMM_SELF, &self_handler);
#else
    /* MPICH uses MPI_COMM_WORLD's handler until MPI_COMM_SELF has one, which cannot be undone: from then on the
     * program's errors without a communicator would be fatal. */
    return 1;
#endif
}

void bl_store_close(void)
{
    restore(MPI_COMM_WORLD, &world_handler);
    restore(MPI_COMM_SELF, &self_handler);
}

static void full_name(int rank, const char *key, char name[static 512])
{
    snprintf(name, 512, "broadleaf-%s-%d-%s", world, rank, key);
}

int bl_store_post(const char *key, const char *value)
{
    char name[512];
    full_name(own_rank, key, name);
    if (server == PMIX) return bl_pmix_post(name, value);
    if (server == PMI) return bl_pmi_post(name, value);
    return bl_mpi.Publish_name(name, MPI_INFO_NULL, value) == MPI_SUCCESS;
}

int bl_store_find(int rank, const char *key, char value[BL_VALUE_BYTES])
{
    char name[512], port[MPI_MAX_PORT_NAME + 1] = {0};
    full_name(rank, key, name);
    if (server == PMIX) return bl_pmix_find(rank, name, value, BL_VALUE_BYTES);
    if (server == PMI) return bl_pmi_find(name, value, BL_VALUE_BYTES);
    if (bl_mpi.Lookup_name(name, MPI_INFO_NULL, port) != MPI_SUCCESS) return 0;
    snprintf(value, BL_VALUE_BYTES, "%.*s", BL_VALUE_BYTES - 1, port);
    return 1;
}
