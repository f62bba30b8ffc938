/* Rank 0 reads the environment and counts the ranks of each host; all learn the result. */
#include "agreed.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static bl_config agreed;
static uint32_t host_index;
bl_message_comm bl_messages_of_all;
static _Atomic int has_failed_call;

const bl_config *bl_agreed_config(void)
{
    return &agreed;
}

uint32_t bl_host_index(void)
{
    return host_index;
}

void bl_keep_messages(void)
{
    has_failed_call = 1;
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

/* A process keeps its node of the platform in every communicator, so its place on its host is counted once, in
 * MPI_COMM_WORLD. Rank 0 counts: a list of all ranks at every rank takes memory, and under SMPI messages, quadratic
 * in the ranks. */
static int find_host_index(int rank, int size)
{
    char name[MPI_MAX_PROCESSOR_NAME + 1] = {0};
    int length;
    int error = bl_mpi.Get_processor_name(name, &length);
    if (error != MPI_SUCCESS) return error;
    const place mine = {hash(name), (uint64_t)rank};
    place *places = NULL;
    uint32_t *indices = NULL;
    if (rank == 0) {
        places = malloc((size_t)size * sizeof *places);
        indices = malloc((size_t)size * sizeof *indices);
        if (places == NULL || indices == NULL) bl_mpi.Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    }
    error = bl_mpi.Gather(&mine, 2, MPI_UINT64_T, places, 2, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (error == MPI_SUCCESS && rank == 0) number_by_host(places, indices, size);
    if (error == MPI_SUCCESS)
        error = bl_mpi.Scatter(indices, 1, MPI_UINT32_T, &host_index, 1, MPI_UINT32_T, 0, MPI_COMM_WORLD);
    free(places);
    free(indices);
    return error;
}

int bl_agree(int rank, int size)
{
    memset(&agreed, 0, sizeof agreed);
    if (rank == 0) {
        bl_config_read(&agreed);
        bl_config_try(&agreed);
    }
    int error = bl_mpi.Bcast(&agreed, (int)sizeof agreed, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (error == MPI_SUCCESS && agreed.has_platform && !agreed.disabled) error = find_host_index(rank, size);
    /* With one rank there are no messages. */
    if (error != MPI_SUCCESS || size == 1 || (agreed.disabled && !agreed.trace && !agreed.stats)) return error;
    error = bl_mpi.Comm_dup(MPI_COMM_WORLD, &bl_messages_of_all.comm);
    bl_messages_of_all.is_there = error == MPI_SUCCESS;
    return error == MPI_SUCCESS ? bl_mpi.Comm_set_errhandler(bl_messages_of_all.comm, MPI_ERRORS_RETURN) : error;
}

void bl_agree_on_less(uint64_t min_bytes)
{
    if (min_bytes < agreed.min_bytes) agreed.min_bytes = min_bytes;
}

void bl_agree_alone(int rank)
{
    bl_config own = {.stats = 0};
    if (rank == 0) bl_config_read(&own);
    agreed = (bl_config){.min_bytes = own.min_bytes, .disabled = 1, .stats = own.stats};
}

void bl_agreed_finish(void)
{
    if (bl_messages_of_all.is_there && !has_failed_call) bl_mpi.Comm_free(&bl_messages_of_all.comm);
    bl_messages_of_all.is_there = 0;
}
