/* Buffers for data that are not contiguous, or in a device's memory: none here. */
#include <stdlib.h>

typedef void *MPIDU_genq_private_pool_t;
#define MPIDU_genq_private_pool_force_alloc_cell(pool, cell) (abort(), MPI_ERR_OTHER)
#define MPIDU_genq_private_pool_free_cell(pool, cell) abort()
