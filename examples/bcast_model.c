/* A plain MPI program: rank 0 sends a model's weights to all ranks, several times, as a training loop or an
 * inference fleet does. It does not refer to Broadleaf; start it with mpiexec or with `broadleaf run`.
 *
 *   mpicc -O2 bcast_model.c -o bcast_model
 *   broadleaf run -n 8 --platform net.json -- ./bcast_model 67108864 3
 *
 * Every rank compares every byte it received with the byte that rank 0 must have sent, and rank 0 prints the total
 * number of compared bytes. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Word i of the weights of a round: Steele, Lea and Flood's splitmix64, so that no two words or rounds are alike. */
static uint64_t weight(uint64_t round, uint64_t i)
{
    uint64_t z = (round << 48) + (i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const long long bytes = argc > 1 ? atoll(argv[1]) : 64ll << 20;
    const int rounds = argc > 2 ? atoi(argv[2]) : 3;
    const long long words = bytes / 8;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (words < 1 || words > INT32_MAX || rounds < 1) {
        if (rank == 0) fprintf(stderr, "usage: bcast_model [BYTES, at least 8 [ROUNDS]]\n");
        MPI_Finalize();
        return 2;
    }
    uint64_t *model = malloc((size_t)words * 8);
    if (!model) MPI_Abort(MPI_COMM_WORLD, 3);

    long long compared = 0;
    double seconds = 0;
    for (int round = 0; round < rounds; round++) {
        for (long long i = 0; i < words; i++) model[i] = rank == 0 ? weight(round, i) : 0;
        MPI_Barrier(MPI_COMM_WORLD);
        const double start = MPI_Wtime();
        MPI_Bcast(model, (int)words, MPI_UINT64_T, 0, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        seconds += MPI_Wtime() - start;
        for (long long i = 0; i < words; i++) {
            if (model[i] != weight(round, i)) {
                fprintf(stderr, "rank %d: byte %lld of round %d is wrong\n", rank, i * 8, round);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
        }
        if (rank != 0) compared += words * 8; /* rank 0 received nothing */
    }

    long long total = 0;
    MPI_Reduce(&compared, &total, 1, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%d broadcasts, %lld bytes verified, %.4f s each\n", rounds, total, seconds / rounds);
    free(model);
    MPI_Finalize();
    return 0;
}
