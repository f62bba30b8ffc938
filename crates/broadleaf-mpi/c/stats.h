/* BROADLEAF_STATS, written at MPI_Finalize. */
#ifndef BROADLEAF_STATS_H
#define BROADLEAF_STATS_H

/* Collective over MPI_COMM_WORLD; `alone`: rank 0 writes its own data only. */
int bl_stats_finish(int is_spawned, int alone);

#endif
