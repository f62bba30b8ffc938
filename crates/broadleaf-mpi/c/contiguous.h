/* Whether the memory of `count` elements is the packed message already. */
#ifndef BROADLEAF_CONTIGUOUS_H
#define BROADLEAF_CONTIGUOUS_H

#include "bound.h"

int bl_contiguous_start(void);
void bl_contiguous_finish(void);
/* `first`: where the message starts, from the address the program gave. */
int bl_in_place(MPI_Count count, MPI_Datatype type, MPI_Aint *first, int *in_place);

#endif
