/* The calls of a Fortran compiler for the collectives beside the broadcast, each by its name with an underscore and by
 * that of the module mpi_f08, with unequal blocks where the call takes counts; compares every int. The all-gather and
 * the all-reduce are in place every second time. */
#include "check.h"

#define COUNT 9000
#define MOST 8
#define MANY (MOST * MOST * COUNT)

/* Open MPI's MPI_IN_PLACE of Fortran, here in place of its Fortran layer. */
int mpi_fortran_in_place_;

#define PAIR(name, ...)                              \
    void mpi_##name##_(__VA_ARGS__, MPI_Fint *);     \
    void mpi_##name##_f08_(__VA_ARGS__, MPI_Fint *);
typedef MPI_Fint F;
PAIR(scatter, void *, F *, F *, void *, F *, F *, F *, F *)
PAIR(scatterv, void *, F *, F *, F *, void *, F *, F *, F *, F *)
PAIR(gather, void *, F *, F *, void *, F *, F *, F *, F *)
PAIR(gatherv, void *, F *, F *, void *, F *, F *, F *, F *, F *)
PAIR(allgather, void *, F *, F *, void *, F *, F *, F *)
PAIR(allgatherv, void *, F *, F *, void *, F *, F *, F *, F *)
PAIR(reduce, void *, void *, F *, F *, F *, F *, F *)
PAIR(allreduce, void *, void *, F *, F *, F *, F *)
PAIR(reduce_scatter, void *, void *, F *, F *, F *, F *)
PAIR(reduce_scatter_block, void *, void *, F *, F *, F *, F *)
#pragma weak mpi_scatter_
#pragma weak mpi_scatter_f08_
#pragma weak mpi_scatterv_
#pragma weak mpi_scatterv_f08_
#pragma weak mpi_gather_
#pragma weak mpi_gather_f08_
#pragma weak mpi_gatherv_
#pragma weak mpi_gatherv_f08_
#pragma weak mpi_allgather_
#pragma weak mpi_allgather_f08_
#pragma weak mpi_allgatherv_
#pragma weak mpi_allgatherv_f08_
#pragma weak mpi_reduce_
#pragma weak mpi_reduce_f08_
#pragma weak mpi_allreduce_
#pragma weak mpi_allreduce_f08_
#pragma weak mpi_reduce_scatter_
#pragma weak mpi_reduce_scatter_f08_
#pragma weak mpi_reduce_scatter_block_
#pragma weak mpi_reduce_scatter_block_f08_

/* With its error, and in mpi_f08 without. */
#define CALL(name, ...)                                                         \
    do {                                                                        \
        F error = MPI_SUCCESS;                                                  \
        REQUIRE(mpi_##name##_ != NULL && mpi_##name##_f08_ != NULL, #name "%s", " is not caught"); \
        if (is_f08)                                                             \
            mpi_##name##_f08_(__VA_ARGS__, NULL);                               \
        else {                                                                  \
            error = -1;                                                         \
            mpi_##name##_(__VA_ARGS__, &error);                                 \
        }                                                                       \
        REQUIRE(error == MPI_SUCCESS, #name ": error %d", (int)error);          \
    } while (0)

static int from[MANY], to[MANY];

/* Element `at` of all blocks together, from `rank`. */
static void put(int all, int rank)
{
    for (int at = 0; at < all; at++) from[at] = at + rank, to[at] = -1;
}

static void compare_ints(const char *name, int first, int count, int factor, int more)
{
    for (int at = 0; at < count; at++)
        REQUIRE(to[at] == factor * (first + at) + more, "%s: int %d is %d", name, at, to[at]);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, all = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    REQUIRE(size <= MOST, "at most %d ranks", MOST);
    F type = MPI_Type_c2f(MPI_INT), comm = MPI_Comm_c2f(MPI_COMM_WORLD), sum = MPI_Op_c2f(MPI_SUM);
    F root = size - 1, count = COUNT, counts[MOST], starts[MOST];
    for (int at = 0; at < size; at++) counts[at] = (at + 1) * COUNT, starts[at] = all, all += counts[at];
    F own = counts[rank], many = all;
    const int is_root = rank == root, ranks = size * (size - 1) / 2;
    for (int is_f08 = 0; is_f08 < 2; is_f08++) {
        put(all, 0);
        CALL(scatter, from, &count, &type, to, &count, &type, &root, &comm);
        compare_ints("scatter", rank * COUNT, COUNT, 1, 0);
        put(all, 0);
        CALL(scatterv, from, counts, starts, &type, to, &own, &type, &root, &comm);
        compare_ints("scatterv", starts[rank], own, 1, 0);
        put(all, rank * COUNT);
        CALL(gather, from, &count, &type, to, &count, &type, &root, &comm);
        if (is_root) compare_ints("gather", 0, size * COUNT, 1, 0);
        put(all, starts[rank]);
        CALL(gatherv, from, &own, &type, to, counts, starts, &type, &root, &comm);
        if (is_root) compare_ints("gatherv", 0, all, 1, 0);
        put(all, rank * COUNT);
        if (is_f08) memcpy(to + rank * COUNT, from, COUNT * sizeof *to);
        void *given = is_f08 ? (void *)&mpi_fortran_in_place_ : from;
        CALL(allgather, given, &count, &type, to, &count, &type, &comm);
        compare_ints("allgather", 0, size * COUNT, 1, 0);
        put(all, starts[rank]);
        CALL(allgatherv, from, &own, &type, to, counts, starts, &type, &comm);
        compare_ints("allgatherv", 0, all, 1, 0);
        put(all, rank);
        CALL(reduce, from, to, &many, &type, &sum, &root, &comm);
        if (is_root) compare_ints("reduce", 0, all, size, ranks);
        put(all, rank);
        if (is_f08) memcpy(to, from, sizeof to);
        CALL(allreduce, given, to, &many, &type, &sum, &comm);
        compare_ints("allreduce", 0, all, size, ranks);
        put(all, rank);
        CALL(reduce_scatter, from, to, counts, &type, &sum, &comm);
        compare_ints("reduce_scatter", starts[rank], own, size, ranks);
        put(all, rank);
        CALL(reduce_scatter_block, from, to, &count, &type, &sum, &comm);
        compare_ints("reduce_scatter_block", rank * COUNT, COUNT, size, ranks);
    }
    if (rank == 0) printf("ok\n");
    MPI_Finalize();
    return 0;
}
