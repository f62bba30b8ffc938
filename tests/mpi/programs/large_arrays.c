/* Collectives with arrays of large counts: 3 of MPI_Gatherv_c, 2 of MPI_Alltoallw_c, 1 of MPI_Iallgatherv_c. */
#include "check.h"

#define MOST 16

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, all[MOST] = {0}, own[MOST];
    MPI_Count ones[MOST];
    MPI_Aint places[MOST], starts[MOST];
    MPI_Datatype types[MOST];
    MPI_Request request;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    REQUIRE(size <= MOST, "%d ranks", size);
    for (int at = 0; at < size; at++) {
        ones[at] = 1;
        places[at] = at;
        starts[at] = at * (int)sizeof(int);
        types[at] = MPI_INT;
        own[at] = rank + at;
    }
    for (int call = 0; call < 3; call++) MPI_Gatherv_c(&rank, 1, MPI_INT, all, ones, places, MPI_INT, 0, MPI_COMM_WORLD);
    for (int at = 0; rank == 0 && at < size; at++) REQUIRE(all[at] == at, "%d gathered", all[at]);
    for (int call = 0; call < 2; call++)
        MPI_Alltoallw_c(own, ones, starts, types, all, ones, starts, types, MPI_COMM_WORLD);
    for (int at = 0; at < size; at++) REQUIRE(all[at] == rank + at, "%d exchanged", all[at]);
    MPI_Iallgatherv_c(&rank, 1, MPI_INT, all, ones, places, MPI_INT, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int at = 0; at < size; at++) REQUIRE(all[at] == at, "%d gathered by all", all[at]);
    if (rank == 0) printf("ok\n");
    MPI_Finalize();
    return 0;
}
