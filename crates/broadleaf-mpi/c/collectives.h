/* What collectives.c and src/collectives.rs say to each other; see engine.h for the rules. */
#ifndef BROADLEAF_COLLECTIVES_H
#define BROADLEAF_COLLECTIVES_H

#include "engine.h"

typedef struct bl_collectives bl_collectives;

/* Opens scatter and all-gather on one communicator; collective over it. Null only with an error in `outcome`. */
bl_collectives *bl_collectives_open(const bl_ops *ops, void *comm, int rank, int size, const char *host,
                                    uint32_t host_index, bl_outcome *outcome);
void bl_collectives_close(bl_collectives *collectives);

/* `packed`: one block of `bytes` for every rank, in rank order; at the root all are there, elsewhere this rank's
 * own is when the call ends, and the others are scratch. Null at a rank without memory for them: it serves the others,
 * and as the root lets all ranks use the MPI's own. */
bl_outcome bl_collectives_scatter(bl_collectives *collectives, unsigned char *packed, uint64_t bytes, int root);

/* `packed`: as above; this rank's own block is there, all are when the call ends. Null: all ranks use the MPI's own. */
bl_outcome bl_collectives_allgather(bl_collectives *collectives, unsigned char *packed, uint64_t bytes);

#endif
