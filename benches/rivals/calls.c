/* One rival's collective as the function that the timing program calls in place of the MPI's, which it names
 * rival_Bcast and so on. RIVAL_BCAST and the like name the collective, BINE stands for the bine trees, and
 * LARGE for their form for long messages. */
#include <mpi.h>
#include <stddef.h>

#if defined(BINE)

#if defined(LARGE)
#define BCAST bine_bcast_large
#define REDUCE bine_reduce_large
#else
#define BCAST bine_bcast_small
#define REDUCE bine_reduce_small
#endif

#if defined(RIVAL_BCAST)
int BCAST(void *, size_t, MPI_Datatype, int, MPI_Comm);
int rival_Bcast(void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    return BCAST(buf, (size_t)count, type, root, comm);
}
#elif defined(RIVAL_REDUCE)
int REDUCE(const void *, void *, size_t, MPI_Datatype, MPI_Op, int, MPI_Comm);
int rival_Reduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm)
{
    return REDUCE(from, to, (size_t)count, type, op, root, comm);
}
#elif defined(RIVAL_ALLGATHER)
int bine_allgather_block_by_block(const void *, size_t, MPI_Datatype, void *, size_t, MPI_Datatype, MPI_Comm);
int rival_Allgather(const void *from, int count, MPI_Datatype type, void *to, int to_count, MPI_Datatype to_type,
                    MPI_Comm comm)
{
    return bine_allgather_block_by_block(from, (size_t)count, type, to, (size_t)to_count, to_type, comm);
}
#elif defined(RIVAL_GATHER)
int bine_gather_any(const void *, size_t, MPI_Datatype, void *, size_t, MPI_Datatype, int, MPI_Comm);
int rival_Gather(const void *from, int count, MPI_Datatype type, void *to, int to_count, MPI_Datatype to_type, int root,
                 MPI_Comm comm)
{
    return bine_gather_any(from, (size_t)count, type, to, (size_t)to_count, to_type, root, comm);
}
#elif defined(RIVAL_SCATTER)
int bine_scatter_any(const void *, size_t, MPI_Datatype, void *, size_t, MPI_Datatype, int, MPI_Comm);
int rival_Scatter(const void *from, int count, MPI_Datatype type, void *to, int to_count, MPI_Datatype to_type,
                  int root, MPI_Comm comm)
{
    return bine_scatter_any(from, (size_t)count, type, to, (size_t)to_count, to_type, root, comm);
}
#endif

#else

#include "mpiimpl.h"

#if defined(RIVAL_BCAST)
int MPIR_Bcast_intra_circ_graph(void *, MPI_Aint, MPI_Datatype, int, MPIR_Comm *, int);
int rival_Bcast(void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    MPIR_Comm of = {comm};
    return MPIR_Bcast_intra_circ_graph(buf, count, type, root, &of, 0);
}
#elif defined(RIVAL_REDUCE)
int MPIR_Reduce_intra_circ_graph(const void *, void *, MPI_Aint, MPI_Datatype, MPI_Op, int, MPIR_Comm *, int);
int rival_Reduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm)
{
    MPIR_Comm of = {comm};
    return MPIR_Reduce_intra_circ_graph(from, to, count, type, op, root, &of, 0);
}
#elif defined(RIVAL_ALLGATHER)
int MPIR_Allgather_intra_circ_graph(const void *, MPI_Aint, MPI_Datatype, void *, MPI_Aint, MPI_Datatype, MPIR_Comm *,
                                    int);
int rival_Allgather(const void *from, int count, MPI_Datatype type, void *to, int to_count, MPI_Datatype to_type,
                    MPI_Comm comm)
{
    MPIR_Comm of = {comm};
    return MPIR_Allgather_intra_circ_graph(from, count, type, to, to_count, to_type, &of, 0);
}
#endif

#endif
