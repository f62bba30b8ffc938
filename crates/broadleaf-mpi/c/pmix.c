/* PMIx by its stable ABI, so that neither a header nor a library beyond the MPI's is needed. */
#include "pmix.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    char nspace[256];
    uint32_t rank;
} process_name;

enum { SCOPE_GLOBAL = 3, TYPE_BOOL = 1, TYPE_STRING = 3 };

typedef struct {
    uint16_t type;
    union {
        char *string;
        unsigned char flag;
        char room[64]; /* at least what any libpmix has */
    } data;
} typed_value;

typedef struct {
    char key[512];
    uint32_t flags;
    typed_value value;
} directive;

static char name_space[256];
static int (*put)(uint8_t scope, const char *key, typed_value *value);
static int (*commit)(void);
static int (*get)(const process_name *process, const char *key, const directive *how, size_t count,
                  typed_value **value);

/* Only a library that the MPI has loaded and initialised: another one has no connection. */
int bl_pmix_open(char world[256])
{
    const char *name = getenv("PMIX_NAMESPACE");
    int (*started)(void);
    void *library = dlopen("libpmix.so.2", RTLD_LAZY | RTLD_NOLOAD);
    if (library == NULL) return 0;
    *(void **)&started = dlsym(library, "PMIx_Initialized");
    *(void **)&put = dlsym(library, "PMIx_Put");
    *(void **)&commit = dlsym(library, "PMIx_Commit");
    *(void **)&get = dlsym(library, "PMIx_Get");
    const int usable = name != NULL && strlen(name) < sizeof name_space && started != NULL && started() &&
                       put != NULL && commit != NULL && get != NULL;
    if (usable) {
        strcpy(name_space, name);
        strcpy(world, name);
    }
    /* The MPI holds a reference as well. */
    dlclose(library);
    return usable;
}

static const char *awaited_key, *awaited_value;
static int is_committed;

void bl_pmix_put_at_commit(const char *key, const char *value)
{
    awaited_key = key;
    awaited_value = value;
}

/* A program's calls may come here without an MPI, and libpmix need not be in the global scope. */
static int pass_on_commit(void)
{
    int (*next)(void);
    *(void **)&next = dlsym(RTLD_NEXT, "PMIx_Commit");
    void *library = next != NULL ? NULL : dlopen("libpmix.so.2", RTLD_LAZY | RTLD_NOLOAD);
    if (library != NULL) {
        *(void **)&next = dlsym(library, "PMIx_Commit");
        dlclose(library);
    }
    return next == NULL ? -1 : next();
}

/* The MPI calls it in MPI_Init, before all ranks exchange what they have put. An own PMIx_Init ahead of MPI_Init is no
 * alternative: Open MPI 5 leaves out its own then, and fails. */
int caught_commit(void) __asm__("PMIx_Commit") __attribute__((visibility("default")));
int caught_commit(void)
{
    char world[256];
    if (awaited_key != NULL && bl_pmix_open(world)) {
        is_committed = bl_pmix_post(awaited_key, awaited_value);
        awaited_key = NULL;
    }
    return pass_on_commit();
}

int bl_pmix_is_put(void)
{
    return is_committed;
}

int bl_pmix_post(const char *name, const char *value)
{
    char text[256];
    snprintf(text, sizeof text, "%s", value);
    typed_value typed = {.type = TYPE_STRING, .data.string = text};
    return put(SCOPE_GLOBAL, name, &typed) == 0 && commit() == 0;
}

static int get_with(const char *directive_key, int rank, const char *name, char *value, size_t room)
{
    process_name process = {.rank = (uint32_t)rank};
    strcpy(process.nspace, name_space);
    directive how = {.value = {.type = TYPE_BOOL, .data.flag = 1}};
    strcpy(how.key, directive_key);
    typed_value *found = NULL;
    if (get(&process, name, &how, 1, &found) != 0 || found == NULL) return 0;
    const int usable = found->type == TYPE_STRING && found->data.string != NULL;
    if (usable) {
        snprintf(value, room, "%s", found->data.string);
        free(found->data.string);
    }
    free(found);
    return usable;
}

/* The server has cached the rank's data since MPI_Init, without this name; without a directive it would wait for the
 * name. "Refresh" fetches data from another host's server. Slurm's server answers for ranks of its own host only with
 * "immediate". */
int bl_pmix_find(int rank, const char *name, char *value, size_t room)
{
    return get_with("pmix.get.refresh", rank, name, value, room) ||
           get_with("pmix.immediate", rank, name, value, room);
}

/* MPI_Init has brought all data to each host's server, which need not ask another. */
int bl_pmix_get(int rank, const char *key, char *value, size_t room)
{
    return get_with("pmix.immediate", rank, key, value, room);
}
