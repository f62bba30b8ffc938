/* What MPICH's circulant-graph algorithms use of MPICH, in terms of public MPI calls, so that their sources build with
 * any MPI. Data are contiguous and in the host's memory.
 *
 * MPICH polls for progress. Under SMPI simulated time passes only in calls that wait, so here a poll that finds nothing
 * complete waits for the next request (progress.c). Polling costs the rival no simulated time. */
#ifndef MPIIMPL_H
#define MPIIMPL_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct { MPI_Comm comm; } MPIR_Comm;
typedef struct { int MPI_ERROR; } progress_status;
typedef struct { MPI_Request request; bool is_complete; progress_status status; } MPIR_Request;
typedef int MPIR_gpu_req;
typedef int MPL_pointer_attr_t;

/* MPICH's defaults (cga_init.c). */
#define MPIR_CVAR_CIRC_GRAPH_Q_LEN 8
#define MPIR_CVAR_CIRC_GRAPH_CHUNK_SIZE 131072

#define MPIR_BYTE_INTERNAL MPI_BYTE
#define MPL_malloc(bytes, class) malloc(bytes)
#define MPL_free free
#define DEBUG_PROGRESS_START
#define DEBUG_PROGRESS_CHECK

#define MPIR_Assert(holds) \
    do { \
        if (!(holds)) \
            abort(); \
    } while (0)
#define MPIR_ERR_CHKANDJUMP(fails, error, class, text) \
    do { \
        if (fails) { \
            (error) = (class); \
            goto fn_fail; \
        } \
    } while (0)
#define MPIR_ERR_CHECK(error) MPIR_ERR_CHKANDJUMP((error) != MPI_SUCCESS, error, error, "")
#define MPIR_ERR_SETANDJUMP(error, class, text) MPIR_ERR_CHKANDJUMP(true, error, class, text)
#define MPIR_CHKLMEM_DECL() void *local_memory = NULL
#define MPIR_CHKLMEM_MALLOC(pointer, bytes) ((pointer) = local_memory = malloc(bytes))
#define MPIR_CHKLMEM_FREEALL() (free(local_memory), local_memory = NULL)

#define MPIR_COMM_RANK_SIZE(of, rank, size) (MPI_Comm_rank((of)->comm, &(rank)), MPI_Comm_size((of)->comm, &(size)))
#define MPIR_Sched_next_tag(of, tag) (*(tag) = 0, MPI_SUCCESS)
#define MPIR_Op_is_commutative(op) 1
#define MPIR_Datatype_is_contig(type, is_contiguous) (*(is_contiguous) = 1)
#define MPIR_Datatype_get_size_macro(type, bytes) ((bytes) = size_of(type))
#define MPIR_Datatype_get_extent_macro(type, bytes) ((bytes) = size_of(type))
#define MPIR_Type_get_true_extent_impl(type, lb, extent) MPI_Type_get_true_extent(type, lb, extent)
#define MPIR_Localcopy(from, count, type, to, to_count, to_type) \
    (memcpy(to, from, (size_t)(count) * (size_t)size_of(type)), MPI_SUCCESS)
#define MPIR_Reduce_local(in, inout, count, type, op) MPI_Reduce_local(in, inout, (int)(count), type, op)

/* Only for data that are not contiguous, or in a device's memory. */
#define MPL_GPU_ENGINE_TYPE_COPY_HIGH_BANDWIDTH 0
#define MPL_gpu_attr_is_dev(attr) 0
#define MPIR_GPU_query_pointer_attr(buf, attr) (*(attr) = 0)
#define MPIR_Ilocalcopy_gpu(...) (abort(), MPI_ERR_OTHER)
#define MPIR_async_test(request, done) abort()

static inline int size_of(MPI_Datatype type)
{
    int bytes;
    MPI_Type_size(type, &bytes);
    return bytes;
}

int MPIC_Isend(const void *buf, MPI_Aint count, MPI_Datatype type, int to, int tag, MPIR_Comm *of, MPIR_Request **made,
               int attr);
int MPIC_Irecv(void *buf, MPI_Aint count, MPI_Datatype type, int from, int tag, MPIR_Comm *of, MPIR_Request **made);
bool MPIR_Request_is_complete(MPIR_Request *request);
void MPIR_Request_free(MPIR_Request *request);
int MPID_Progress_test(void *state);

#endif
