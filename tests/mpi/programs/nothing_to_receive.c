/* Reduce-scatters of which the first rank receives nothing, into no buffer.
 *
 *   nothing_to_receive */
#include "check.h"

enum { COUNT = 3000, MOST = 8, ROUNDS = 4 };

int main(int argc, char **argv)
{
    int rank, size, counts[MOST] = {0};
    static int from[MOST * COUNT], to[COUNT];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    REQUIRE(size <= MOST, "%d ranks", size);
    for (int at = 1; at < size; at++) counts[at] = COUNT;
    for (int round = 0; round < ROUNDS; round++) {
        for (int at = 0; at < MOST * COUNT; at++) from[at] = at + rank + round;
        MPI_Reduce_scatter(from, rank == 0 ? NULL : to, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        for (int at = 0; rank > 0 && at < COUNT; at++) {
            const int sum = size * ((rank - 1) * COUNT + at + round) + size * (size - 1) / 2;
            REQUIRE(to[at] == sum, "round %d, element %d: %d, not %d", round, at, to[at], sum);
        }
    }
    if (rank == 0) printf("ok\n");
    MPI_Finalize();
    return 0;
}
