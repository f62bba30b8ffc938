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

/* Before MPI_Init: puts a value, which is kept until then, when the MPI commits its own in MPI_Init. */
void bl_pmix_put_at_commit(const char *key, const char *value);
/* After MPI_Init: whether it did. */
int bl_pmix_is_put(void);
/* After MPI_Init: whether that rank has put that key. */
int bl_pmix_get(int rank, const char *key, char *value, size_t room);

#endif
