/* Values by rank and name at the launcher's PMIx server. */
#ifndef BROADLEAF_PMIX_H
#define BROADLEAF_PMIX_H

#include <stddef.h>

/* Whether the MPI has started PMIx; `world` gets the name of this job's name space. */
int bl_pmix_open(char world[256]);
/* Whether the server took it. */
int bl_pmix_post(const char *name, const char *value);
/* Looks once, without waiting for the value; whether it is there. */
int bl_pmix_find(int rank, const char *name, char *value, size_t room);

#endif
