/* Calls that are none of ours: each reaches the MPI's own broadcast and does there what it always did. */
#include "check.h"

#define BYTES 200000

int main(int argc, char **argv)
{
    static unsigned char bytes[BYTES];
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    /* Small: 5 calls. */
    for (int call = 0; call < 5; call++) {
        if (rank == 0) fill(bytes, 1000, call);
        MPI_Bcast(bytes, 1000, MPI_BYTE, 0, MPI_COMM_WORLD);
        compare(bytes, 1000, call);
    }
    /* No bytes: 3 calls, one of them with a type that has no size. */
    MPI_Datatype empty;
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_commit(&empty);
    MPI_Bcast(NULL, 0, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(bytes, 0, MPI_DOUBLE, size - 1, MPI_COMM_WORLD);
    MPI_Bcast(bytes, 1 << 20, empty, 0, MPI_COMM_WORLD);
    MPI_Type_free(&empty);
    /* Alone: 2 calls. */
    fill(bytes, BYTES, 7);
    MPI_Bcast(bytes, BYTES, MPI_BYTE, 0, MPI_COMM_SELF);
    MPI_Bcast(bytes, BYTES, MPI_BYTE, 0, MPI_COMM_SELF);
    compare(bytes, BYTES, 7);
    /* Between two groups: 4 calls. */
    MPI_Comm half, inter;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 1, &inter);
    for (int call = 0; call < 4; call++) {
        int sending = call % 2, root = 0;
        if (rank % 2 == sending) root = rank == sending ? MPI_ROOT : MPI_PROC_NULL;
        if (root == MPI_ROOT) fill(bytes, BYTES, 20 + call);
        if (rank % 2 != sending) memset(bytes, 0, BYTES);
        MPI_Bcast(bytes, BYTES, MPI_BYTE, root, inter);
        if (rank % 2 != sending || root == MPI_ROOT) compare(bytes, BYTES, 20 + call);
    }
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    /* Nonblocking: not caught at all. */
    MPI_Request request;
    if (rank == 0) fill(bytes, BYTES, 30);
    MPI_Ibcast(bytes, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    compare(bytes, BYTES, 30);
    /* And 1 call that is ours. */
    if (rank == 0) fill(bytes, BYTES, 31);
    MPI_Bcast(bytes, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD);
    compare(bytes, BYTES, 31);
    if (rank == 0) printf("ok\n");
    MPI_Finalize();
    return 0;
}
