/* Failed processes of a communicator, under an MPI with fault tolerance (ULFM). */
#ifndef BROADLEAF_FAILURES_H
#define BROADLEAF_FAILURES_H

#include "bound.h"

/* The error code of any collective call on `comm` from now on: a process of it has failed, or it was revoked. Success
 * if the MPI knows of no failure, or has no fault tolerance. */
int bl_comm_fault(MPI_Comm comm);

/* Whether a receive from any rank only reports that some process of its communicator has failed: it still waits. Then
 * later ones report the next failure only. */
int bl_acknowledge(MPI_Comm comm, int error);

#endif
