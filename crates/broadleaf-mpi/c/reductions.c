/* Elements are combined in their memory layout, gaps included, so a type's elements must not overlap. */
#include "reductions.h"

#include <limits.h>
#include <stddef.h>

#include "contiguous.h"
#include "refused.h"

#define IS_ONE_OF(handle, list) is_one_of((handle), (list), sizeof(list) / sizeof *(list))

static int is_one_of(MPI_Datatype type, const MPI_Datatype *types, size_t count)
{
    for (size_t at = 0; at < count; at++)
        if (type == types[at] && type != MPI_DATATYPE_NULL) return 1;
    return 0;
}

static int is_integer(MPI_Datatype type)
{
    const MPI_Datatype integers[] = {
        MPI_INT,       MPI_UNSIGNED,           MPI_LONG,      MPI_UNSIGNED_LONG, MPI_SHORT,   MPI_UNSIGNED_SHORT,
        MPI_LONG_LONG, MPI_UNSIGNED_LONG_LONG, MPI_INT32_T,   MPI_UINT32_T,      MPI_INT64_T, MPI_UINT64_T,
        MPI_INT8_T,    MPI_UINT8_T,            MPI_INT16_T,   MPI_UINT16_T,      MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR,
    };
    return IS_ONE_OF(type, integers);
}

/* MPI defines no logical operations for Fortran's integers. */
static int is_real(MPI_Datatype type)
{
    const MPI_Datatype reals[] = {MPI_FLOAT, MPI_DOUBLE, MPI_INTEGER, MPI_REAL, MPI_DOUBLE_PRECISION};
    return IS_ONE_OF(type, reals) || is_integer(type);
}

static int is_complex(MPI_Datatype type)
{
    const MPI_Datatype complexes[] = {MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX};
    return IS_ONE_OF(type, complexes);
}

static int is_pair(MPI_Datatype type)
{
    const MPI_Datatype pairs[] = {MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT, MPI_2INT, MPI_SHORT_INT};
    return IS_ONE_OF(type, pairs);
}

int bl_may_combine(MPI_Datatype type, MPI_Op op)
{
    int commutes;
    if (type == MPI_DATATYPE_NULL || op == MPI_OP_NULL) return 0;
    if (op == MPI_MAX || op == MPI_MIN) return is_real(type);
    if (op == MPI_SUM || op == MPI_PROD) return is_real(type) || is_complex(type);
    if (op == MPI_LAND || op == MPI_LOR || op == MPI_LXOR) return is_integer(type) || type == MPI_C_BOOL;
    if (op == MPI_BAND || op == MPI_BOR || op == MPI_BXOR) return is_integer(type) || type == MPI_BYTE;
    if (op == MPI_MAXLOC || op == MPI_MINLOC) return is_pair(type);
    if (op == MPI_REPLACE || op == MPI_NO_OP) return 0;
    return bl_is_op(op) && bl_mpi.Op_commutative(op, &commutes) == MPI_SUCCESS && commutes;
}

int bl_reduction_of(MPI_Datatype type, bl_reduction *reduction)
{
    MPI_Aint lower, extent, first, true_lower, true_extent;
    MPI_Count size;
    int in_place;
    if (!bl_is_type(type)) return 0;
    if (bl_mpi.Type_size_x(type, &size) != MPI_SUCCESS || size <= 0) return 0;
    if (bl_mpi.Type_get_extent(type, &lower, &extent) != MPI_SUCCESS) return 0;
    if (bl_mpi.Type_get_true_extent(type, &true_lower, &true_extent) != MPI_SUCCESS) return 0;
    if (true_lower < 0 || true_lower + true_extent > extent) return 0;
    /* Gaps are sent along. MPI_Reduce_local takes pieces of less than 2 GiB here. */
    if (extent > INT_MAX || extent - size > size) return 0;
    reduction->element = (uint64_t)extent;
    reduction->last = (uint64_t)(true_lower + true_extent);
    reduction->is_dense = size == extent && bl_in_place(1, type, &first, &in_place) == MPI_SUCCESS && in_place;
    return 1;
}
