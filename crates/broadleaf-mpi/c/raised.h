/* Errors of planned calls on their way to the program. */
#ifndef BROADLEAF_RAISED_H
#define BROADLEAF_RAISED_H

#include "bound.h"

/* Calls the communicator's error handler, which may never return, for a call of that name. */
void bl_raise(MPI_Comm comm, int error, const char *call);

#endif
