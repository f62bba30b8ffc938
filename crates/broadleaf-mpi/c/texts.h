/* The reports of all ranks, brought together at MPI_Finalize. */
#ifndef BROADLEAF_TEXTS_H
#define BROADLEAF_TEXTS_H

#include <stdint.h>

/* All ranks' texts, concatenated, on rank 0 of the world, which frees them. */
int bl_gather_texts(int rank, int size, const char *text, uint64_t length, char **texts, uint64_t *bytes);

#endif
