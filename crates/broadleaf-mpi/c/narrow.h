/* Collectives with arrays of large counts, for an MPI that has only those with arrays of int. */
#ifndef BROADLEAF_NARROW_H
#define BROADLEAF_NARROW_H

#include <stdint.h>

enum { BL_MOST_ARRAYS = 4, BL_NO_ARGUMENT = -1 };

/* Which arguments of a call hold counts. An argument that a call lacks is BL_NO_ARGUMENT. */
typedef struct {
    signed char out[2]; /* arrays with an entry for each rank that is sent to */
    signed char in[2];  /* arrays with an entry for each rank that is received from */
    signed char count;  /* no array */
    signed char comm;
} bl_counts;

typedef struct {
    int *arrays[BL_MOST_ARRAYS];
    int used;
    int is_kept;
} bl_narrowed;

/* Puts arrays of int in place of those among a call's arguments; `name` is the call's, e.g. MPI_Alltoallv. An error
 * where a count is too large. */
int bl_narrow(bl_narrowed *narrowed, uintptr_t *words, const bl_counts *counts, const char *name);

/* After the call. */
void bl_narrow_end(bl_narrowed *narrowed);

#endif
