/* From MPI_Init to MPI_Finalize: the settings all ranks of the world share, and the end.
 *
 * The end is an attribute of MPI_COMM_SELF, whose delete callback MPI_Finalize runs first of all, while MPI
 * still works. It is seen however the program reaches Finalize, also from Fortran. */
#include "runtime.h"

#include <stdlib.h>
#include <string.h>

static bl_config agreed;
static uint32_t host_index;
static int is_spawned;
static _Atomic int is_running;

int bl_is_running(void)
{
    return is_running;
}

const bl_config *bl_agreed_config(void)
{
    return &agreed;
}

uint32_t bl_host_index(void)
{
    return host_index;
}

static const char *mpi_name(void)
{
#if defined(OPEN_MPI)
    return "openmpi";
#elif defined(MPICH_VERSION)
    return "mpich";
#else
    return "mpi";
#endif
}

/* FNV-1a: the same name gives the same number on every rank. */
static uint64_t hash(const char *text)
{
    uint64_t value = 14695981039346656037u;
    for (; *text != '\0'; text++) value = (value ^ (unsigned char)*text) * 1099511628211u;
    return value;
}

/* A rank's host, by the hash of its name. */
typedef struct {
    uint64_t host;
    uint64_t rank;
} place;

static int by_host_and_rank(const void *one, const void *other)
{
    const place *a = one, *b = other;
    if (a->host != b->host) return a->host < b->host ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* The place of every rank on its host, from all ranks' places. */
static void number_by_host(place *places, uint32_t *indices, int size)
{
    qsort(places, (size_t)size, sizeof *places, by_host_and_rank);
    for (int at = 0, first = 0; at < size; at++) {
        if (places[at].host != places[first].host) first = at;
        indices[places[at].rank] = (uint32_t)(at - first);
    }
}

/* A process keeps its node of the platform in every communicator, so its place on its host is counted in
 * MPI_COMM_WORLD, once; by rank 0, since a list of all ranks at every rank takes memory, and under SMPI messages,
 * that grow with their square. */
static int find_host_index(int rank, int size)
{
    char name[MPI_MAX_PROCESSOR_NAME + 1] = {0};
    int length;
    int error = PMPI_Get_processor_name(name, &length);
    if (error != MPI_SUCCESS) return error;
    const place mine = {hash(name), (uint64_t)rank};
    place *places = NULL;
    uint32_t *indices = NULL;
    if (rank == 0) {
        places = malloc((size_t)size * sizeof *places);
        indices = malloc((size_t)size * sizeof *indices);
        if (places == NULL || indices == NULL) PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    }
    error = PMPI_Gather(&mine, 2, MPI_UINT64_T, places, 2, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (error == MPI_SUCCESS && rank == 0) number_by_host(places, indices, size);
    if (error == MPI_SUCCESS)
        error = PMPI_Scatter(indices, 1, MPI_UINT32_T, &host_index, 1, MPI_UINT32_T, 0, MPI_COMM_WORLD);
    free(places);
    free(indices);
    return error;
}

int bl_gather_texts(int rank, int size, const char *text, uint64_t length, char **texts, uint64_t *bytes)
{
    int count = length > INT32_MAX ? 0 : (int)length;
    int *counts = NULL, *offsets = NULL;
    *texts = NULL;
    *bytes = 0;
    if (rank == 0) {
        counts = malloc((size_t)size * sizeof *counts);
        offsets = malloc((size_t)size * sizeof *offsets);
        if (counts == NULL || offsets == NULL) PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    }
    int error = PMPI_Gather(&count, 1, MPI_INT, counts, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (error == MPI_SUCCESS && rank == 0) {
        for (int other = 0; other < size; other++) {
            offsets[other] = (int)*bytes;
            *bytes += (uint64_t)counts[other];
        }
        *texts = malloc(*bytes + 1);
        if (*texts == NULL) PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    }
    if (error == MPI_SUCCESS)
        error = PMPI_Gatherv(text, count, MPI_CHAR, *texts, counts, offsets, MPI_CHAR, 0, MPI_COMM_WORLD);
    free(counts);
    free(offsets);
    return error;
}

static int write_stats(void)
{
    static const char *const names[] = {
#define BL_NAME(id, name) name,
        BL_REASONS(BL_NAME)
#undef BL_NAME
    };
    int rank, size;
    int error = PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (error == MPI_SUCCESS) error = PMPI_Comm_size(MPI_COMM_WORLD, &size);
    char *texts = NULL;
    uint64_t bytes = 0;
    uint64_t length;
    const char *text = bl_stats_text(&length);
    if (error == MPI_SUCCESS) error = bl_gather_texts(rank, size, text, length, &texts, &bytes);
    if (error == MPI_SUCCESS && rank == 0) {
        uint64_t passed[BL_REASON_COUNT];
        bl_passed_counts(passed);
        bl_world world = {
            .mpi = mpi_name(),
            .ranks = size,
            .is_spawned = is_spawned,
            .reasons = names,
            .passed = passed,
            .reason_count = BL_REASON_COUNT,
            .min_bytes = agreed.min_bytes,
        };
        bl_stats_write(texts, bytes, &world);
    }
    free(texts);
    return error;
}

static int finish(void)
{
    is_running = 0;
    bl_set_small_limit(UINT64_MAX, BL_PASSED_NOT_STARTED);
    int error = agreed.stats ? write_stats() : MPI_SUCCESS;
    if (error == MPI_SUCCESS && agreed.trace) error = bl_trace_finish(is_spawned);
    bl_comms_finish();
    bl_contiguous_finish();
    return error;
}

#ifdef SMPI_H
/* SMPI deletes attributes when it has forgotten that it was initialised. */
__attribute__((visibility("default"))) int MPI_Finalize(void)
{
    int error = finish();
    return error == MPI_SUCCESS ? PMPI_Finalize() : error;
}

static int watch_finalize(void)
{
    return MPI_SUCCESS;
}
#else
static int on_finalize(MPI_Comm self, int keyval, void *value, void *extra)
{
    (void)self, (void)keyval, (void)value, (void)extra;
    return finish();
}

static int watch_finalize(void)
{
    int keyval;
    int error = PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_finalize, &keyval, NULL);
    if (error == MPI_SUCCESS) error = PMPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
    /* The key lives on until its attribute is deleted. */
    return error == MPI_SUCCESS ? PMPI_Comm_free_keyval(&keyval) : error;
}
#endif

static int start(void)
{
    int rank, size;
    int error = PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (error == MPI_SUCCESS) error = PMPI_Comm_size(MPI_COMM_WORLD, &size);
    if (error != MPI_SUCCESS) return error;
#ifndef SMPI_H
    /* A program may disconnect from its parent, so it is looked for now. SMPI spawns nothing, and aborts. */
    MPI_Comm parent;
    error = PMPI_Comm_get_parent(&parent);
    if (error != MPI_SUCCESS) return error;
    is_spawned = parent != MPI_COMM_NULL;
#endif
    memset(&agreed, 0, sizeof agreed);
    if (rank == 0) bl_config_read(&agreed);
    error = PMPI_Bcast(&agreed, (int)sizeof agreed, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (error == MPI_SUCCESS && agreed.has_platform && !agreed.disabled) error = find_host_index(rank, size);
    if (error == MPI_SUCCESS) error = bl_comms_start();
    if (error == MPI_SUCCESS) error = bl_contiguous_start();
    if (error == MPI_SUCCESS) error = watch_finalize();
    return error;
}

/* Called once, when MPI_Init has returned. An MPI that cannot broadcast a few bytes or make a key at this point
 * is broken, and which ranks noticed is unknown; its error handler decides. */
void bl_start(void)
{
    /* One caught call may lead to another. */
    if (is_running) return;
    int error = start();
    is_running = error == MPI_SUCCESS;
    if (error != MPI_SUCCESS)
        PMPI_Comm_call_errhandler(MPI_COMM_WORLD, error);
    else if (agreed.disabled)
        bl_set_small_limit(UINT64_MAX, agreed.bad_value ? BL_PASSED_BAD_VALUE : BL_PASSED_DISABLED);
    else
        bl_set_small_limit(agreed.min_bytes, BL_PASSED_SMALL);
}
