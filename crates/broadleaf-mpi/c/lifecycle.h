/* From MPI_Init to MPI_Finalize. */
#ifndef BROADLEAF_LIFECYCLE_H
#define BROADLEAF_LIFECYCLE_H

/* Called by all ranks of MPI_COMM_WORLD: after MPI_Init has returned, under whatever name, or later, in a collective
 * call. The first call counts. */
void bl_start(void);

#endif
