/* The end is an attribute of MPI_COMM_SELF, whose delete callback MPI_Finalize runs first of all. The callback runs
 * by whatever path the program reaches Finalize, also from Fortran. */
#include <stddef.h>

#include "bound.h"
#include "simulated.h"

int bl_some(int count, MPI_Request *requests, int *finished, int *indices, MPI_Status *statuses)
{
    return bl_mpi.Testsome(count, requests, finished, indices, statuses);
}

int bl_find_parent(int *is_spawned)
{
    MPI_Comm parent;
    const int error = bl_mpi.Comm_get_parent(&parent);
    if (error == MPI_SUCCESS) *is_spawned = parent != MPI_COMM_NULL;
    return error;
}

static int (*end)(void);

static int on_finalize(MPI_Comm self, int keyval, void *value, void *extra)
{
    (void)self, (void)keyval, (void)value, (void)extra;
    return end();
}

int bl_watch_finalize(int (*finish)(void))
{
    int keyval;
    end = finish;
    int error = bl_mpi.Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_finalize, &keyval, NULL);
    if (error == MPI_SUCCESS) error = bl_mpi.Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
    /* The key lives on until its attribute is deleted. */
    return error == MPI_SUCCESS ? bl_mpi.Comm_free_keyval(&keyval) : error;
}
