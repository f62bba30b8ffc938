/* Processes that are started later have a separate world: broadcasts across both worlds are passed through, those
 * inside one are planned. The program spawns itself; children have a parent. */
#include "check.h"

#define BYTES 200000
#define CHILDREN 2

static unsigned char bytes[BYTES];

int main(int argc, char **argv)
{
    (void)argc;
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm between, merged;
    MPI_Comm_get_parent(&between);
    const int is_child = between != MPI_COMM_NULL;
    if (!is_child)
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between,
                       MPI_ERRCODES_IGNORE);
    MPI_Intercomm_merge(between, is_child, &merged);
    for (int root = 0; root < 3; root++) broadcast(bytes, BYTES, root, merged, 10 + (uint64_t)root);
    broadcast(bytes, BYTES, 1, MPI_COMM_WORLD, 20);
    broadcast(bytes, BYTES, 0, merged, 30);
    MPI_Comm_free(&merged);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!is_child && rank == 0) printf("ok\n");
    MPI_Comm_disconnect(&between);
    MPI_Finalize();
    return 0;
}
