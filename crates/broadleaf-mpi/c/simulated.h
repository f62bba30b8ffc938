/* Differences in simulated time. real.c implements real time. smpi.c implements simulated time, and replaces all
 * files that search for the MPI and for other ranks. */
#ifndef BROADLEAF_SIMULATED_H
#define BROADLEAF_SIMULATED_H

#include <mpi.h>

#include "engine.h"

/* Waits until MPI_Wtime is `seconds`; returns the time. */
#ifdef SMPI_H
double bl_wait_until(double seconds);
#else
#define bl_wait_until NULL
#endif

/* Seconds of a steady clock. */
#ifdef SMPI_H
#define bl_clock_s PMPI_Wtime
#else
#define bl_clock_s bl_trace_clock_s
#endif

/* As MPI_Testsome; in simulated time it waits for one. */
int bl_some(int count, MPI_Request *requests, int *finished, int *indices, MPI_Status *statuses);

/* Whether another program started this one. */
int bl_find_parent(int *is_spawned);

/* Calls `finish` once, at the begin of MPI_Finalize, while MPI still works. */
int bl_watch_finalize(int (*finish)(void));

#endif
