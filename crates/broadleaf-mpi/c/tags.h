/* The tags of a communicator's messages. All of Broadleaf's messages travel on one duplicate of MPI_COMM_WORLD, where each
 * user communicator has a range of tags that no other communicator of its ranks has. */
#ifndef BROADLEAF_TAGS_H
#define BROADLEAF_TAGS_H

#include "bound.h"

/* The messages of one communicator have tags below this (src/transport/), the number that every MPI has. */
#define BL_TAGS (1 << 15)

/* How many ranges the MPI's tags hold. */
int bl_tags_start(void);
/* Collective over `user`: the number of a range that is free on all of its ranks and now taken on each, or -1 on all,
 * if no range is free or some rank is not `able`. Range k begins at tag k * BL_TAGS. */
int bl_tags_take(MPI_Comm user, int able, int *range);
void bl_tags_give_back(int range);

#endif
