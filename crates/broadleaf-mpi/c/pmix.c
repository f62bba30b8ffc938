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
