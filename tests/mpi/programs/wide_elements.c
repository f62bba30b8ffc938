/* A reduction of one number in a wide element, nearly all of it a gap that no memory backs.
 *
 *   wide_elements MIB */
#include "check.h"

static void add(void *came, void *into, int *count, MPI_Datatype *type)
{
    (void)type;
    if (*count != 1) MPI_Abort(MPI_COMM_WORLD, 1);
    *(int *)into += *(int *)came;
}

int main(int argc, char **argv)
{
    int rank, size, sum = 0;
    MPI_Datatype wide;
    MPI_Op adding;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    REQUIRE(argc == 2, "the element's MiB");
    MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)atoi(argv[1]) << 20, &wide);
    MPI_Type_commit(&wide);
    MPI_Op_create(add, 1, &adding);
    rank += 1;
    MPI_Allreduce(&rank, &sum, 1, wide, adding, MPI_COMM_WORLD);
    if (sum != size * (size + 1) / 2) {
        fprintf(stderr, "rank %d: %d\n", rank - 1, sum);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Op_free(&adding);
    MPI_Type_free(&wide);
    if (rank == 1) printf("ok\n");
    MPI_Finalize();
    return 0;
}
