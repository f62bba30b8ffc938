/* All collectives but MPI_Bcast. A call that no plan is made for is counted and goes on untouched. */
#ifndef BROADLEAF_COUNTED_H
#define BROADLEAF_COUNTED_H

#include <stdint.h>

enum { BL_MOST_COUNTED = 160 };

/* This process's calls so far, of those kinds of which there are any: how many kinds, and for each its name, e.g.
 * "MPI_Ibcast", and its calls. */
uint32_t bl_counted(const char *names[BL_MOST_COUNTED], uint64_t calls[BL_MOST_COUNTED]);

#endif
