/* A gather of texts of any length. */
#include "texts.h"

#include <stdlib.h>

#include "agreed.h"
#include "bound.h"

int bl_gather_texts(int rank, int size, const char *text, uint64_t length, char **texts, uint64_t *bytes)
{
    /* On the world itself, messages of the program's failed calls may still be under way. */
    const MPI_Comm comm = bl_messages() != MPI_COMM_NULL ? bl_messages() : MPI_COMM_WORLD;
    int count = length > INT32_MAX ? 0 : (int)length;
    int *counts = NULL, *offsets = NULL;
    *texts = NULL;
    *bytes = 0;
    if (rank == 0) {
        counts = malloc((size_t)size * sizeof *counts);
        offsets = malloc((size_t)size * sizeof *offsets);
        if (counts == NULL || offsets == NULL) bl_mpi.Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    }
    int error = bl_mpi.Gather(&count, 1, MPI_INT, counts, 1, MPI_INT, 0, comm);
    if (error == MPI_SUCCESS && rank == 0) {
        for (int other = 0; other < size; other++) {
            offsets[other] = (int)*bytes;
            *bytes += (uint64_t)counts[other];
        }
        *texts = malloc(*bytes + 1);
        if (*texts == NULL) bl_mpi.Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    }
    if (error == MPI_SUCCESS)
        error = bl_mpi.Gatherv(text, count, MPI_CHAR, *texts, counts, offsets, MPI_CHAR, 0, comm);
    free(counts);
    free(offsets);
    return error;
}
