/* The search for the process's MPI. */
#include "bound.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bl_mpi_table bl_mpi;

typedef enum { KIND_OPENMPI, KIND_MPICH, KIND_ABI, KINDS } kind;
static const struct {
    const char *name, *runtime;
} kinds[KINDS] = {
    [KIND_OPENMPI] = {"Open MPI", "ompi"},
    [KIND_MPICH] = {"MPICH", "mpich"},
    [KIND_ABI] = {"an MPI with the standard ABI", "abi"},
};

#if defined(OPEN_MPI)
#define OWN_KIND KIND_OPENMPI
#define OWN_RUNTIME "ompi"
#elif defined(MPI_ABI_VERSION)
#define OWN_KIND KIND_ABI
#define OWN_RUNTIME "abi"
#else
#define OWN_KIND KIND_MPICH
#define OWN_RUNTIME "mpich"
#endif

/* The prefix of a symbol by which one Broadleaf library finds others in the same process. */
#define RUNTIME_MARK "broadleaf_runtime_"
static const char own_runtime[] = OWN_RUNTIME;
extern const char own_mark[sizeof own_runtime] __asm__(RUNTIME_MARK OWN_RUNTIME)
    __attribute__((alias("own_runtime"), visibility("default")));

/* The MPI's library; null: none has been found. */
static void *library;
static const void *library_base;
/* It is in the global scope, where the program's own calls are looked up. */
static int is_in_scope;
static int is_bound;
/* Another Broadleaf library for the same MPI comes first; this one hands every call on to it. */
static int is_second;

static kind kind_of(void *mpi)
{
    if (dlsym(mpi, "ompi_mpi_comm_world") != NULL) return KIND_OPENMPI;
    /* Programs compiled for MPICH refer to it as MPI_DUP_FN. */
    return dlsym(mpi, "MPIR_Dup_fn") != NULL ? KIND_MPICH : KIND_ABI;
}

/* A name that every MPI has and no tool defines, this library included. */
#define MARK "PMPI_Comm_rank"

/* The object that defines the symbol as found from `scope`; null if none does. */
static void *holder(void *scope)
{
    Dl_info where;
    const void *mark = dlsym(scope, MARK);
    return mark != NULL && dladdr(mark, &where) ? dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
}

typedef struct {
    char **names;
    size_t count;
} objects;

static int keep_name(struct dl_phdr_info *object, size_t size, void *kept)
{
    objects *all = kept;
    (void)size;
    if (object->dlpi_name == NULL || object->dlpi_name[0] == '\0') return 0;
    char **names = realloc(all->names, (all->count + 1) * sizeof *names);
    if (names == NULL) return 1;
    all->names = names;
    names[all->count] = strdup(object->dlpi_name);
    if (names[all->count] != NULL) all->count++;
    return 0;
}

/* Takes an MPI for the process's one, if it is of this library's kind or there is no other yet. Handles are kept: the
 * MPI stays loaded to the end. */
static int take(void *mpi)
{
    if (mpi == NULL) return 0;
    const int fits = kind_of(mpi) == OWN_KIND;
    if (library == NULL || fits) library = mpi;
    return fits;
}

/* An MPI that was linked with the program is in the global scope. One that came with a plugin, as mpi4py's does, is
 * only known by the object that holds it. */
static void find_library(void)
{
    void *const linked = holder(RTLD_DEFAULT);
    is_in_scope = take(linked);
    if (is_in_scope) return;
    /* Objects are opened after the walk: opening one during it takes the loader's locks in the opposite order. */
    objects all = {0};
    dl_iterate_phdr(keep_name, &all);
    int is_found = 0;
    for (size_t at = 0; at < all.count; at++) {
        void *object = is_found ? NULL : dlopen(all.names[at], RTLD_LAZY | RTLD_NOLOAD);
        if (object != NULL) is_found = take(holder(object));
        if (object != NULL) dlclose(object);
        free(all.names[at]);
    }
    free(all.names);
}

/* Whether this rank prints for all, before there is an MPI to ask. */
static int is_rank_0(void)
{
    static const char *const ranks[] = {"PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"};
    for (size_t at = 0; at < sizeof ranks / sizeof *ranks; at++) {
        const char *rank = getenv(ranks[at]);
        if (rank != NULL) return strcmp(rank, "0") == 0;
    }
    return 1;
}

static void report_other_kind(const char *place)
{
    const kind found = kind_of(library);
    char mark[64];
    snprintf(mark, sizeof mark, RUNTIME_MARK "%s", kinds[found].runtime);
    if (dlsym(RTLD_DEFAULT, mark) == NULL && is_rank_0())
        fprintf(stderr,
                "broadleaf: libbroadleaf_mpi_%s.so is for %s, and this program runs with %s (%s), whose own broadcast "
                "is used; preload libbroadleaf_mpi_%s.so\n",
                own_runtime, kinds[OWN_KIND].name, kinds[found].name, place, kinds[found].runtime);
}

static void report_lack(const char *name, const char *place)
{
    if (is_rank_0())
        fprintf(stderr, "broadleaf: %s has no %s, so its own broadcast is used; run with a newer MPI\n", place, name);
}

/* As if this library were linked with the MPI: a program may hold a copy of a variable of its MPI's, which the MPI then
 * uses in place of its own. */
static void *find(const char *name)
{
    void *linked = is_in_scope ? dlsym(RTLD_DEFAULT, name) : NULL;
    return linked != NULL ? linked : dlsym(library, name);
}

/* The first required name that this MPI lacks; null: it has all. */
static const char *fill_table(void)
{
    const char *lacking = NULL;
#define CHECK(member, name) if (bl_mpi.member == NULL && lacking == NULL) lacking = name;
#define FIND(member, name) *(void **)&bl_mpi.member = find(name);
#define NEED_CAUGHT_CALL(name) *(void **)&bl_mpi.name = dlsym(library, "PMPI_" #name); CHECK(name, "PMPI_" #name)
#define NEED_CALL(name) FIND(name, "PMPI_" #name) CHECK(name, "PMPI_" #name)
#define NEED_HANDLE(name) FIND(name, #name) CHECK(name, #name)
#define FIND_CALL(name) FIND(name, "PMPI_" #name)
#define FIND_FAULT_CALL(name) FIND(X_##name, "PMPIX_" #name)
    BL_CAUGHT_CALLS(NEED_CAUGHT_CALL) BL_CALLS(NEED_CALL) BL_FORTRAN_CALLS(NEED_CALL) BL_HANDLES(NEED_HANDLE)
    BL_LARGE_CALLS(FIND_CALL) BL_FAULT_CALLS(FIND_FAULT_CALL)
    return lacking;
}

static void bind(void)
{
    Dl_info where;
    const void *first = dlsym(RTLD_DEFAULT, RUNTIME_MARK OWN_RUNTIME);
    is_second = first != NULL && first != own_runtime;
    find_library();
    if (library == NULL || !dladdr(dlsym(library, MARK), &where)) {
        fprintf(stderr, "broadleaf: the program calls MPI, but its process has loaded none; link it with an MPI\n");
        return;
    }
    library_base = where.dli_fbase;
    if (kind_of(library) != OWN_KIND) {
        /* The first library hands calls on to those behind it; they must not hand them back. */
        if (!is_second) report_other_kind(where.dli_fname);
        is_second = 0;
        return;
    }
    if (is_second) return;
    const char *lacking = fill_table();
    if (lacking != NULL) report_lack(lacking, where.dli_fname);
    is_bound = lacking == NULL;
}

int bl_bind(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, bind);
    return is_bound;
}

void *bl_inner(const char *name)
{
    bl_bind();
    if (is_second) return dlsym(RTLD_DEFAULT, name);
    void *next = is_bound ? NULL : dlsym(RTLD_NEXT, name);
    return next == NULL && library != NULL ? dlsym(library, name) : next;
}

/* The next definition of a name after this library's that is not another Broadleaf's: each Broadleaf returns the one
 * after its own. */
typedef void *next_definition(const char *name);
__attribute__((visibility("default"))) next_definition broadleaf_next;
void *broadleaf_next(const char *name)
{
    Dl_info where;
    void *next = dlsym(RTLD_NEXT, name);
    void *object = next != NULL && dladdr(next, &where) ? dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    next_definition *other = object != NULL ? (next_definition *)dlsym(object, "broadleaf_next") : NULL;
    if (object != NULL) dlclose(object);
    return other != NULL && other != broadleaf_next ? other(name) : next;
}

void *bl_tool_behind(const char *name)
{
    /* The Broadleaf for the process's MPI goes first; calls of the others go through it. */
    void *next = bl_bind() ? broadleaf_next(name) : dlsym(RTLD_NEXT, name);
    return library == NULL || next == dlsym(library, name) ? NULL : next;
}

void *bl_outermost(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

/* Open MPI's components are objects of their own. */
static int look_inside(const void *code)
{
    Dl_info where;
    if (!dladdr(code, &where)) return 0;
    const char *slash = strrchr(where.dli_fname, '/');
    const char *file = slash != NULL ? slash + 1 : where.dli_fname;
    return where.dli_fbase == library_base || strncmp(file, "mca_", 4) == 0;
}

/* dladdr takes longer the more symbols an object has, and a program calls MPI from few places. */
enum { PLACES = 64 };

int bl_is_inside_mpi(const void *code)
{
    static _Atomic uintptr_t places[PLACES]; /* twice the address, plus the answer */
    const uintptr_t place = (uintptr_t)code;
    _Atomic uintptr_t *const kept = &places[(place ^ place >> 6 ^ place >> 12) % PLACES];
    const uintptr_t known = atomic_load_explicit(kept, memory_order_relaxed);
    if (known >> 1 == place) return known & 1;
    if (library_base == NULL) return 0;
    const int is_inside = look_inside(code);
    atomic_store_explicit(kept, place << 1 | (uintptr_t)is_inside, memory_order_relaxed);
    return is_inside;
}
