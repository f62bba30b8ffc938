/* From MPI_Init to MPI_Finalize. */
#ifndef BROADLEAF_LIFECYCLE_H
#define BROADLEAF_LIFECYCLE_H

/* Called when MPI_Init has returned, under whatever name; the first call counts. */
void bl_start(void);

#endif
