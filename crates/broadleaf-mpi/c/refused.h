/* Arguments that the MPI refuses. */
#ifndef BROADLEAF_REFUSED_H
#define BROADLEAF_REFUSED_H

#include "bound.h"

/* Whether the MPI refuses a buffer, count or datatype to send from or receive into, MPI_IN_PLACE among them. */
int bl_is_refused(const void *data, MPI_Count count, MPI_Datatype type);

#endif
