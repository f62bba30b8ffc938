/* Preloaded before the runtime: writes down every message that the runtime sends, one file a rank in
 * BROADLEAF_TEST_MESSAGES. A line is when the message was handed to the MPI (s, on the machine's clock), the receiver,
 * the tag and the bytes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int PMPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    static int (*own)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    static FILE *file;
    if (own == NULL) *(void **)&own = dlsym(RTLD_NEXT, "PMPI_Isend");
    if (file == NULL) {
        char path[4096];
        int rank;
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
        snprintf(path, sizeof path, "%s/rank-%d", getenv("BROADLEAF_TEST_MESSAGES"), rank);
        file = fopen(path, "w");
        if (file == NULL) abort();
        setvbuf(file, NULL, _IOLBF, 0);
    }
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int bytes;
    PMPI_Type_size(type, &bytes);
    fprintf(file, "%.9f %d %d %d\n", (double)now.tv_sec + 1e-9 * (double)now.tv_nsec, to, tag, count * bytes);
    return own(data, count, type, to, tag, comm, request);
}
