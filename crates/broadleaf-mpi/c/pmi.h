/* Names and values at the launcher's PMI-1 server: hydra's, or Slurm's. */
#ifndef BROADLEAF_PMI_H
#define BROADLEAF_PMI_H

#include <stddef.h>

/* Whether the MPI speaks PMI-1 to its launcher; `world` gets the name of its MPI_COMM_WORLD's key space. */
int bl_pmi_open(char world[256]);
/* Whether the server took it. */
int bl_pmi_post(const char *name, const char *value);
/* Looks once; whether the value is there. */
int bl_pmi_find(const char *name, char *value, size_t room);

/* Before MPI_Init: a value for other ranks, which find it after MPI_Init. Whether the server took it. */
int bl_pmi_put(const char *key, const char *value);
/* After MPI_Init: whether a rank has put that key. */
int bl_pmi_get(const char *key, char *value, size_t room);

#endif
