/* Preloaded before the runtime: gives the ranks of one machine several host names, BROADLEAF_TEST_RANKS_PER_HOST
 * ranks to each, in the order of their ranks. The transport is real: messages between hosts, shared memory inside. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int world_rank(void)
{
    /* Open MPI's launcher and MPICH's; the runtime calls this in MPI_Init already. */
    const char *text = getenv("OMPI_COMM_WORLD_RANK");
    if (text == NULL) text = getenv("PMI_RANK");
    return text == NULL ? 0 : atoi(text);
}

static int name(char *host, int *length)
{
    const char *text = getenv("BROADLEAF_TEST_RANKS_PER_HOST");
    int each = text == NULL ? 1 : atoi(text);
    *length = snprintf(host, MPI_MAX_PROCESSOR_NAME, "host%d", world_rank() / (each > 0 ? each : 1));
    return MPI_SUCCESS;
}

int MPI_Get_processor_name(char *host, int *length)
{
    return name(host, length);
}

int PMPI_Get_processor_name(char *host, int *length)
{
    return name(host, length);
}
