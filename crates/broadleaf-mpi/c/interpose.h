/* The MPI calls that are intercepted. */
#ifndef BROADLEAF_INTERPOSE_H
#define BROADLEAF_INTERPOSE_H

#include "bound.h"

/* MPI_Bcast as caught, also where the MPI's own is found first. */
int bl_bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm);

#endif
