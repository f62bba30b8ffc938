/* Any (address, count, datatype) as packed bytes. Ranks of one broadcast may pass different pairs of equal
 * signature, so the packed form is the only one they share. */
#ifndef BROADLEAF_DATATYPES_H
#define BROADLEAF_DATATYPES_H

#include <stdint.h>

#include "bound.h"

int bl_packed_bytes(MPI_Count count, MPI_Datatype type, uint64_t *bytes);
/* Of `bytes` > 0 packed bytes. */
int bl_pack(const void *data, MPI_Count count, MPI_Datatype type, unsigned char *packed, uint64_t bytes);
int bl_unpack(const unsigned char *packed, uint64_t bytes, void *data, MPI_Count count, MPI_Datatype type);

#endif
