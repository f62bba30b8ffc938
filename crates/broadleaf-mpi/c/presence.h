/* Whether all ranks of MPI_COMM_WORLD run with this library. */
#ifndef BROADLEAF_PRESENCE_H
#define BROADLEAF_PRESENCE_H

/* All ranks that call it get the same answer, and one prints why it is no. A rank without the library does not call
 * it, and none of its messages is taken by it: nothing is sent by MPI. Inside MPI_Init only. */
int bl_all_present(int rank, int size, int is_spawned);

#endif
