/* Scatters in which only the root's send arguments mean anything, as MPI allows; every byte is compared. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, ranks, wrong = 0, all_wrong;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int root = 0; root < ranks; root++)
        for (int bytes = 1; bytes < 300000; bytes *= 9) {
            unsigned char *all = malloc((size_t)bytes * (size_t)ranks), *mine = calloc((size_t)bytes, 1);
            if (!all || !mine)
                MPI_Abort(MPI_COMM_WORLD, 1);
            for (int at = 0; at < bytes * ranks; at++)
                all[at] = (unsigned char)(at / bytes * 31 + at % 251 + root);
            int is_root = rank == root;
            MPI_Scatter(is_root ? all : NULL, is_root ? bytes : 0, MPI_BYTE, mine, bytes, MPI_BYTE, root,
                        MPI_COMM_WORLD);
            for (int at = 0; at < bytes; at++)
                wrong += mine[at] != (unsigned char)(rank * 31 + (rank * bytes + at) % 251 + root);
            free(all), free(mine);
        }
    MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf(all_wrong ? "%d bytes are wrong\n" : "ok\n", all_wrong);
    MPI_Finalize();
    return 0;
}
