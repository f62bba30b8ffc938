/* Copies of arrays of counts. The MPI may be one of another kind than this library's, so that communicators are machine
 * words, and constants are that MPI's. */
#include "narrow.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bound.h"

typedef uintptr_t word;

static int ask(const char *name, word comm, int *answer)
{
    int (*const call)(word, int *) = (int (*)(word, int *))bl_inner(name);
    return call != NULL ? call(comm, answer) : MPI_ERR_UNSUPPORTED_OPERATION;
}

/* MPI_GRAPH and MPI_CART are swapped between the two families; a distributed graph is 3 in both. */
static int ask_neighbours(word comm, int *out, int *in)
{
    const int is_open_mpi = bl_inner("ompi_mpi_comm_world") != NULL;
    int topology, rank, unused;
    int error = ask("PMPI_Topo_test", comm, &topology);
    if (error != MPI_SUCCESS) return error;
    if (topology == 3) {
        int (*const count)(word, int *, int *, int *) =
            (int (*)(word, int *, int *, int *))bl_inner("PMPI_Dist_graph_neighbors_count");
        return count != NULL ? count(comm, in, out, &unused) : MPI_ERR_UNSUPPORTED_OPERATION;
    }
    if (topology == (is_open_mpi ? 1 : 2)) {
        error = ask("PMPI_Cartdim_get", comm, out);
        *out *= 2;
    } else {
        int (*const count)(word, int, int *) = (int (*)(word, int, int *))bl_inner("PMPI_Graph_neighbors_count");
        error = count != NULL ? ask("PMPI_Comm_rank", comm, &rank) : MPI_ERR_UNSUPPORTED_OPERATION;
        if (error == MPI_SUCCESS) error = count(comm, rank, out);
    }
    *in = *out;
    return error;
}

/* How many entries the call's arrays have. */
static int ask_lengths(const char *name, word comm, int *out, int *in)
{
    int is_inter = 0;
    if (strstr(name, "eighbor") != NULL) return ask_neighbours(comm, out, in);
    int error = ask("PMPI_Comm_test_inter", comm, &is_inter);
    if (error != MPI_SUCCESS) return error;
    /* Of a reduction, each rank of the own group receives a part. */
    const int is_remote = is_inter && strstr(name, "educe") == NULL;
    error = ask(is_remote ? "PMPI_Comm_remote_size" : "PMPI_Comm_size", comm, out);
    *in = *out;
    return error;
}

/* The MPI may read the arrays until the request is freed, which is not intercepted: they are kept to the end, equal
 * ones once. */
static int *keep(int *array, size_t bytes)
{
    typedef struct entry {
        struct entry *next;
        size_t bytes;
        int *array;
    } entry;
    static entry *all;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    entry *found = all;
    while (found != NULL && (found->bytes != bytes || memcmp(found->array, array, bytes) != 0)) found = found->next;
    if (found != NULL) {
        free(array);
        array = found->array;
    } else if ((found = malloc(sizeof *found)) != NULL) {
        *found = (entry){.next = all, .bytes = bytes, .array = array};
        all = found;
    }
    pthread_mutex_unlock(&lock);
    return array;
}

/* Where a rank needs no array it passes none. */
static int narrow(bl_narrowed *narrowed, word *argument, int length)
{
    const int64_t *large = (const int64_t *)*argument;
    if (large == NULL) return MPI_SUCCESS;
    const size_t bytes = (size_t)length * sizeof(int);
    int *array = malloc(bytes + 1);
    if (array == NULL) return MPI_ERR_NO_MEM;
    int fits = 1;
    for (int at = 0; at < length; at++) {
        fits = fits && large[at] >= INT_MIN && large[at] <= INT_MAX;
        array[at] = (int)large[at];
    }
    if (narrowed->is_kept && fits) array = keep(array, bytes);
    narrowed->arrays[narrowed->used++] = array;
    *argument = (word)array;
    return fits ? MPI_SUCCESS : MPI_ERR_COUNT;
}

int bl_narrow(bl_narrowed *narrowed, word *words, const bl_counts *counts, const char *name)
{
    const int is_blocking = name[strlen("MPI_")] != 'I' && strstr(name, "_init") == NULL;
    int out = 0, in = 0;
    *narrowed = (bl_narrowed){.is_kept = !is_blocking};
    if (counts->count != BL_NO_ARGUMENT && (int64_t)words[counts->count] > INT_MAX) return MPI_ERR_COUNT;
    int error = ask_lengths(name, words[counts->comm], &out, &in);
    for (int at = 0; at < 2 && error == MPI_SUCCESS; at++) {
        if (counts->out[at] != BL_NO_ARGUMENT) error = narrow(narrowed, &words[counts->out[at]], out);
        if (counts->in[at] != BL_NO_ARGUMENT && error == MPI_SUCCESS)
            error = narrow(narrowed, &words[counts->in[at]], in);
    }
    return error;
}

void bl_narrow_end(bl_narrowed *narrowed)
{
    while (!narrowed->is_kept && narrowed->used > 0) free(narrowed->arrays[--narrowed->used]);
}
