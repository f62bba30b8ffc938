/* PMIx by its stable ABI, and PMPI_Publish_name: neither needs a header or a library beyond the MPI's. */
#include "store.h"

#include <dlfcn.h>
#include <mpi.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef SMPI_H
/* Tells the ranks of one world from those of others that the launcher started. */
static char world[256];
static int own_rank;

/* PMIx, by its stable ABI; its header need not be there. */
typedef struct {
    char nspace[256];
    uint32_t rank;
} pmix_process;

enum { PMIX_GLOBAL = 3, PMIX_BOOL = 1, PMIX_STRING = 3 };

typedef struct {
    uint16_t type;
    union {
        char *string;
        unsigned char flag;
        char room[64]; /* at least what any libpmix has */
    } data;
} pmix_value;

typedef struct {
    char key[512];
    uint32_t flags;
    pmix_value value;
} pmix_info;

static struct {
    int (*put)(uint8_t scope, const char *key, pmix_value *value);
    int (*commit)(void);
    int (*get)(const pmix_process *process, const char *key, const pmix_info *info, size_t count,
               pmix_value **value);
} pmix;

/* Only a library that the MPI has loaded and started: another one would speak to nobody. */
static int find_pmix(void)
{
    const char *nspace = getenv("PMIX_NAMESPACE");
    int (*started)(void);
    void *library = dlopen("libpmix.so.2", RTLD_LAZY | RTLD_NOLOAD);
    if (library == NULL) return 0;
    *(void **)&started = dlsym(library, "PMIx_Initialized");
    *(void **)&pmix.put = dlsym(library, "PMIx_Put");
    *(void **)&pmix.commit = dlsym(library, "PMIx_Commit");
    *(void **)&pmix.get = dlsym(library, "PMIx_Get");
    const int usable = nspace != NULL && strlen(nspace) < sizeof world && started != NULL && started() &&
                       pmix.put != NULL && pmix.commit != NULL && pmix.get != NULL;
    if (usable)
        strcpy(world, nspace);
    else
        pmix.get = NULL;
    /* The MPI holds it as well. */
    dlclose(library);
    return usable;
}

static int pmix_post(const char *key, const char *text)
{
    char value_text[BL_VALUE_BYTES];
    snprintf(value_text, sizeof value_text, "%s", text);
    pmix_value value = {.type = PMIX_STRING, .data.string = value_text};
    return pmix.put(PMIX_GLOBAL, key, &value) == 0 && pmix.commit() == 0;
}

static int pmix_find(int rank, const char *key, char text[BL_VALUE_BYTES])
{
    pmix_process process = {.rank = (uint32_t)rank};
    strcpy(process.nspace, world);
    /* The server has kept this rank's data since MPI_Init, without the key; without this it would also wait. */
    pmix_info refresh = {.key = "pmix.get.refresh", .value = {.type = PMIX_BOOL, .data.flag = 1}};
    pmix_value *value = NULL;
    if (pmix.get(&process, key, &refresh, 1, &value) != 0 || value == NULL) return 0;
    const int found = value->type == PMIX_STRING && value->data.string != NULL;
    if (found) {
        snprintf(text, BL_VALUE_BYTES, "%s", value->data.string);
        free(value->data.string);
    }
    free(value);
    return found;
}

/* Asks hydra, by PMI-1, for the name of this world's key space. The MPI has no call for it and is not using the
 * connection now. */
static int ask_for_key_space(const char *descriptor, char name[static 200])
{
    static const char question[] = "cmd=get_my_kvsname\n", field[] = "kvsname=";
    char answer[512];
    const int connection = atoi(descriptor);
    struct pollfd readable = {.fd = connection, .events = POLLIN};
    if (write(connection, question, sizeof question - 1) != sizeof question - 1) return 0;
    if (poll(&readable, 1, 1000) != 1) return 0;
    const ssize_t length = read(connection, answer, sizeof answer - 1);
    if (length <= 0) return 0;
    answer[length] = '\0';
    const char *found = strstr(answer, field);
    return found != NULL && sscanf(found + sizeof field - 1, "%199[^ \n]", name) == 1;
}

/* One name service serves a job and all that it spawns. */
static int name_world(int is_spawned)
{
    char name[200] = "0";
    const char *job = getenv("PMI_JOBID"), *connection = getenv("PMI_FD");
    if (job != NULL)
        snprintf(name, sizeof name, "%s", job);
    else if (is_spawned && (connection == NULL || !ask_for_key_space(connection, name)))
        return 0;
    snprintf(world, sizeof world, "broadleaf-%s", name);
    return 1;
}

static void full_name(int rank, const char *key, char name[static 512])
{
    snprintf(name, 512, "%s-%d-%s", world, rank, key);
}

static MPI_Errhandler world_handler, self_handler;

static int quiet(MPI_Comm comm, MPI_Errhandler *theirs)
{
    return PMPI_Comm_get_errhandler(comm, theirs) == MPI_SUCCESS &&
           PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN) == MPI_SUCCESS;
}

static void restore(MPI_Comm comm, MPI_Errhandler *theirs)
{
    if (*theirs == MPI_ERRHANDLER_NULL) return;
    PMPI_Comm_set_errhandler(comm, *theirs);
    PMPI_Errhandler_free(theirs);
}

int bl_store_open(int rank, int is_spawned)
{
    own_rank = rank;
    world_handler = self_handler = MPI_ERRHANDLER_NULL;
    if (find_pmix()) return 1;
    if (!name_world(is_spawned) || !quiet(MPI_COMM_WORLD, &world_handler)) return 0;
#ifdef OPEN_MPI
    /* A name that is not there is an error of MPI_COMM_WORLD's before MPI 4 and of MPI_COMM_SELF's since. */
    return quiet(MPI_COMM_SELF, &self_handler);
#else
    /* MPICH turns to MPI_COMM_WORLD's handler until MPI_COMM_SELF has been given one, which cannot be taken back: the
     * program's errors on no communicator would be fatal from then on. */
    return 1;
#endif
}

void bl_store_close(void)
{
    restore(MPI_COMM_WORLD, &world_handler);
    restore(MPI_COMM_SELF, &self_handler);
}

int bl_store_post(const char *key, const char *value)
{
    char name[512];
    full_name(own_rank, key, name);
    if (pmix.get != NULL) return pmix_post(name, value);
    return PMPI_Publish_name(name, MPI_INFO_NULL, value) == MPI_SUCCESS;
}

int bl_store_find(int rank, const char *key, char value[BL_VALUE_BYTES])
{
    char name[512], port[MPI_MAX_PORT_NAME + 1] = {0};
    full_name(rank, key, name);
    if (pmix.get != NULL) return pmix_find(rank, name, value);
    if (PMPI_Lookup_name(name, MPI_INFO_NULL, port) != MPI_SUCCESS) return 0;
    snprintf(value, BL_VALUE_BYTES, "%.*s", BL_VALUE_BYTES - 1, port);
    return 1;
}
#endif
