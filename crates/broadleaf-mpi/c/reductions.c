/* Of predefined operations those that commute, on the types that have them; of the program's own none, as an MPI may
 * refuse one that it did not make for a call's type. */
#include "reductions.h"

#include <stddef.h>

static int is_integer(MPI_Datatype type)
{
    const MPI_Datatype integers[] = {
        MPI_INT,  MPI_UNSIGNED,      MPI_LONG,      MPI_UNSIGNED_LONG,      MPI_SHORT,   MPI_UNSIGNED_SHORT,
        MPI_LONG_LONG, MPI_UNSIGNED_LONG_LONG, MPI_INT32_T, MPI_UINT32_T, MPI_INT64_T, MPI_UINT64_T,
    };
    for (size_t at = 0; at < sizeof integers / sizeof *integers; at++)
        if (type == integers[at]) return 1;
    return 0;
}

/* Fortran's integers have no logical operations in Fortran. */
static int is_number(MPI_Datatype type)
{
    const MPI_Datatype numbers[] = {MPI_FLOAT, MPI_DOUBLE, MPI_INTEGER, MPI_REAL, MPI_DOUBLE_PRECISION};
    for (size_t at = 0; at < sizeof numbers / sizeof *numbers; at++)
        if (type == numbers[at] && type != MPI_DATATYPE_NULL) return 1;
    return is_integer(type);
}

int bl_is_reducible(MPI_Datatype type, MPI_Op op)
{
    if (op == MPI_SUM || op == MPI_PROD || op == MPI_MAX || op == MPI_MIN) return is_number(type);
    if (op == MPI_LAND || op == MPI_LOR || op == MPI_LXOR || op == MPI_BAND || op == MPI_BOR || op == MPI_BXOR)
        return is_integer(type);
    return 0;
}
