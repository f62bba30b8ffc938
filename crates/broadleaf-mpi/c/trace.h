/* BROADLEAF_TRACE, written at MPI_Finalize. */
#ifndef BROADLEAF_TRACE_H
#define BROADLEAF_TRACE_H

/* Collective over MPI_COMM_WORLD. */
int bl_trace_finish(int is_spawned);

#endif
