/* The calls of a Fortran compiler for `call MPI_Init`, `call MPI_Bcast`: the names with an underscore, everything by
 * address, handles as integers; the error is optional in the module mpi_f08. */
#include "check.h"

#define BYTES 300000

void mpi_init_(MPI_Fint *error);
void mpi_bcast_(void *data, MPI_Fint *count, MPI_Fint *type, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *error);
void mpi_bcast_f08_(void *data, MPI_Fint *count, MPI_Fint *type, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *error);
#pragma weak mpi_init_
#pragma weak mpi_bcast_
#pragma weak mpi_bcast_f08_

int main(void)
{
    static unsigned char message[BYTES];
    MPI_Fint error = -1, count = BYTES, root = 1;
    if (mpi_init_ == NULL || mpi_bcast_ == NULL || mpi_bcast_f08_ == NULL) {
        fprintf(stderr, "the runtime does not catch Fortran's names\n");
        return 1;
    }
    mpi_init_(&error);
    REQUIRE(error == MPI_SUCCESS, "error %d", (int)error);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Fint type = MPI_Type_c2f(MPI_BYTE), comm = MPI_Comm_c2f(MPI_COMM_WORLD);
    for (uint64_t round = 0; round < 4; round++) {
        if (rank == 1)
            fill(message, BYTES, round);
        else
            memset(message, 0, BYTES);
        error = -1;
        if (round % 2 == 0) {
            mpi_bcast_(message, &count, &type, &root, &comm, &error);
            REQUIRE(error == MPI_SUCCESS, "error %d", (int)error);
        } else
            mpi_bcast_f08_(message, &count, &type, &root, &comm, NULL);
        compare(message, BYTES, round);
    }
    if (rank == 0) printf("ok\n");
    MPI_Finalize();
    return 0;
}
