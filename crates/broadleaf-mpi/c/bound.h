/* The MPI of this process. This library is linked with none: when the program first calls MPI, the MPI is searched
 * for among the loaded objects, and each function, and each handle that is a symbol, is looked up in it. So nothing
 * here depends on the path or name of the MPI's library, and in a process without one nothing happens. */
#ifndef BROADLEAF_BOUND_H
#define BROADLEAF_BOUND_H

#include <mpi.h>
#if defined(OPEN_MPI) && defined(__has_include)
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
#endif

/* Functions of every MPI of the kind: those that this library intercepts, then others. */
#define BL_CAUGHT_CALLS(X)                                                                                            \
    X(Allgather) X(Allreduce) X(Bcast) X(Gather) X(Gatherv) X(Reduce) X(Reduce_scatter_block) X(Scatter)
#define BL_CALLS(X)                                                                                                  \
    X(Abort) X(Cancel) X(Comm_call_errhandler) X(Comm_create) X(Comm_create_keyval) X(Comm_delete_attr) X(Comm_dup)  \
    X(Comm_free) X(Comm_free_keyval) X(Comm_get_attr) X(Comm_get_errhandler) X(Comm_get_name) X(Comm_get_parent)     \
    X(Comm_group) X(Comm_rank) X(Comm_set_attr) X(Comm_set_errhandler) X(Comm_size) X(Comm_test_inter)               \
    X(Errhandler_free) X(Error_class) X(Error_string) X(Finalize) X(Finalized) X(Get_count) X(Get_elements_x)        \
    X(Get_processor_name) X(Group_free) X(Group_size) X(Group_translate_ranks) X(Initialized) X(Iprobe) X(Irecv)     \
    X(Isend) X(Issend) X(Lookup_name) X(Op_commutative) X(Pack) X(Publish_name) X(Recv) X(Reduce_local)              \
    X(Request_free) X(Send) X(Sendrecv) X(Test_cancelled) X(Testsome) X(Type_commit) X(Type_contiguous)              \
    X(Type_create_hindexed) X(Type_create_keyval) X(Type_create_struct) X(Type_free) X(Type_free_keyval)             \
    X(Type_get_attr) X(Type_get_contents) X(Type_get_envelope) X(Type_get_extent) X(Type_get_true_extent)            \
    X(Type_set_attr) X(Type_size) X(Type_size_x) X(Unpack) X(Wait) X(Waitany) X(Wtime)

/* Null where the MPI is older than the header that this was compiled with. */
#ifdef BROADLEAF_HAVE_BCAST_C
#define BL_LARGE_CALLS(X) X(Send_c) X(Type_get_envelope_c)
#else
#define BL_LARGE_CALLS(X)
#endif
#ifdef OMPI_HAVE_MPIX_COMM_GET_FAILED
#define BL_FAULT_CALLS(X) X(Comm_failure_ack) X(Comm_get_failed) X(Comm_is_revoked)
#else
#define BL_FAULT_CALLS(X)
#endif

/* Open MPI's handles are addresses of its variables. */
#ifdef OPEN_MPI
#define BL_HANDLES(X)                                                                                             \
    X(ompi_mpi_comm_null) X(ompi_mpi_comm_self) X(ompi_mpi_comm_world) X(ompi_mpi_datatype_null) X(ompi_mpi_byte) \
    X(ompi_mpi_char) X(ompi_mpi_double) X(ompi_mpi_float) X(ompi_mpi_int) X(ompi_mpi_int64_t) X(ompi_mpi_long)    \
    X(ompi_mpi_packed) X(ompi_mpi_uint32_t) X(ompi_mpi_uint64_t) X(ompi_mpi_unsigned) X(ompi_mpi_unsigned_char)   \
    X(ompi_mpi_short) X(ompi_mpi_unsigned_short) X(ompi_mpi_unsigned_long) X(ompi_mpi_long_long_int)              \
    X(ompi_mpi_unsigned_long_long) X(ompi_mpi_int32_t) X(ompi_mpi_integer) X(ompi_mpi_real) X(ompi_mpi_dblprec)   \
    X(ompi_mpi_op_max) X(ompi_mpi_op_min) X(ompi_mpi_op_sum) X(ompi_mpi_op_prod)              \
    X(ompi_mpi_op_lor) X(ompi_mpi_op_bor) X(ompi_mpi_op_lxor) X(ompi_mpi_op_bxor)                                 \
    X(ompi_mpi_errhandler_null) X(ompi_mpi_errors_are_fatal) X(ompi_mpi_errors_return)                       \
    X(ompi_mpi_info_null) X(ompi_mpi_op_band)                                                                     \
    X(ompi_mpi_op_land) X(ompi_request_null) X(ompi_mpi_op_maxloc) X(ompi_mpi_op_minloc) X(ompi_mpi_op_replace) X(ompi_mpi_op_no_op)        \
    X(ompi_mpi_op_null) X(ompi_mpi_int8_t) X(ompi_mpi_uint8_t) X(ompi_mpi_int16_t) X(ompi_mpi_uint16_t)          \
    X(ompi_mpi_signed_char) X(ompi_mpi_c_bool) X(ompi_mpi_c_float_complex) X(ompi_mpi_c_double_complex)           \
    X(ompi_mpi_float_int) X(ompi_mpi_double_int) X(ompi_mpi_long_int) X(ompi_mpi_2int) X(ompi_mpi_short_int)     \
    X(OMPI_C_MPI_COMM_NULL_COPY_FN) X(OMPI_C_MPI_TYPE_NULL_COPY_FN)      \
    X(OMPI_C_MPI_TYPE_NULL_DELETE_FN)
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) ((type)bl_mpi.global)
#undef MPI_COMM_NULL_COPY_FN
#define MPI_COMM_NULL_COPY_FN ((MPI_Comm_copy_attr_function *)bl_mpi.OMPI_C_MPI_COMM_NULL_COPY_FN)
#undef MPI_TYPE_NULL_COPY_FN
#define MPI_TYPE_NULL_COPY_FN ((MPI_Type_copy_attr_function *)bl_mpi.OMPI_C_MPI_TYPE_NULL_COPY_FN)
#undef MPI_TYPE_NULL_DELETE_FN
#define MPI_TYPE_NULL_DELETE_FN ((MPI_Type_delete_attr_function *)bl_mpi.OMPI_C_MPI_TYPE_NULL_DELETE_FN)
/* Elsewhere they are macros. */
#define BL_FORTRAN_CALLS(X) X(Comm_f2c) X(Op_f2c) X(Type_f2c)
#else
#define BL_HANDLES(X)
#define BL_FORTRAN_CALLS(X)
#endif

typedef struct {
#define BL_CALL(name) __typeof__(PMPI_##name) *name;
#define BL_FAULT_CALL(name) __typeof__(PMPIX_##name) *X_##name;
#define BL_HANDLE(name) void *name;
    BL_CAUGHT_CALLS(BL_CALL) BL_CALLS(BL_CALL) BL_LARGE_CALLS(BL_CALL) BL_FORTRAN_CALLS(BL_CALL)
    BL_FAULT_CALLS(BL_FAULT_CALL) BL_HANDLES(BL_HANDLE)
#undef BL_CALL
#undef BL_FAULT_CALL
#undef BL_HANDLE
} bl_mpi_table;

/* All null until bl_bind() has found the MPI. */
extern bl_mpi_table bl_mpi;

/* Finds the MPI, the first time; whether `bl_mpi` can be used. It cannot where the process has no MPI, or one of
 * another kind (reported in one line), or where another Broadleaf comes first. */
int bl_bind(void);

/* Where a call of that name goes after this library, e.g. PMPI_Bcast: to the MPI, or to another Broadleaf, which is the
 * first one or for the MPI's kind. Null where there is none. */
void *bl_inner(const char *name);
/* The next definition of that name after this library's, e.g. of MPI_Bcast, if it is a tool's and not the MPI's own. */
void *bl_tool_behind(const char *name);
/* The function that a program reaches by that name, e.g. MPI_Bcast; null where there is none. */
void *bl_outermost(const char *name);
/* Whether code at that address belongs to the MPI itself. */
int bl_is_inside_mpi(const void *code);

#endif
