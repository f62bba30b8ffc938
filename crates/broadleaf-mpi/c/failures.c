/* A rank in a plan waits for its parent, which may have left the call because its own parent died. The MPI's
 * collectives fail on every rank once a process of the communicator has failed, and so do planned ones. */
#include "failures.h"

#ifdef OMPI_HAVE_MPIX_COMM_GET_FAILED
int bl_comm_fault(MPI_Comm comm)
{
    int is_revoked = 0, failed = 0;
    MPI_Group group;
    if (bl_mpi.X_Comm_get_failed == NULL || bl_mpi.X_Comm_is_revoked == NULL) return MPI_SUCCESS;
    if (bl_mpi.X_Comm_is_revoked(comm, &is_revoked) == MPI_SUCCESS && is_revoked) return MPIX_ERR_REVOKED;
    if (bl_mpi.X_Comm_get_failed(comm, &group) != MPI_SUCCESS) return MPI_SUCCESS;
    bl_mpi.Group_size(group, &failed);
    bl_mpi.Group_free(&group);
    return failed > 0 ? MPIX_ERR_PROC_FAILED : MPI_SUCCESS;
}

int bl_acknowledge(MPI_Comm comm, int error)
{
    int kind;
    if (bl_mpi.X_Comm_failure_ack == NULL || bl_mpi.Error_class(error, &kind) != MPI_SUCCESS) return 0;
    return kind == MPIX_ERR_PROC_FAILED_PENDING && bl_mpi.X_Comm_failure_ack(comm) == MPI_SUCCESS;
}
#else
int bl_comm_fault(MPI_Comm comm)
{
    (void)comm;
    return MPI_SUCCESS;
}

int bl_acknowledge(MPI_Comm comm, int error)
{
    (void)comm, (void)error;
    return 0;
}
#endif
