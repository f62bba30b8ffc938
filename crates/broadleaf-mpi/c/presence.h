/* Whether all ranks of MPI_COMM_WORLD run with this library. */
#ifndef BROADLEAF_PRESENCE_H
#define BROADLEAF_PRESENCE_H

/* All ranks that call it get the same answer; if it is no, one prints the reason. No MPI message is sent, so the
 * traffic of a rank without the library is undisturbed. Inside MPI_Init only. */
int bl_all_present(int rank, int size, int is_spawned);

#endif
