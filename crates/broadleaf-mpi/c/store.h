/* The launcher's key-value store, through which ranks can reach each other without a message that could meet the
 * program's. */
#ifndef BROADLEAF_STORE_H
#define BROADLEAF_STORE_H

/* Values are one word shorter than this. */
#define BL_VALUE_BYTES 32

/* Opens the store for the ranks of this process's MPI_COMM_WORLD; whether there is one. Only inside MPI_Init: it
 * replaces the error handlers of MPI_COMM_WORLD and MPI_COMM_SELF until it is closed. */
int bl_store_open(int rank, int is_spawned);
void bl_store_close(void);

/* Whether the store took it. A key is posted once. */
int bl_store_post(const char *key, const char *value);
/* Looks once for the value that `rank` posted under its key; whether it is there. */
int bl_store_find(int rank, const char *key, char value[BL_VALUE_BYTES]);

#endif
