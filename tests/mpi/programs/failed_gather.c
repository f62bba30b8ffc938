/* A gather whose root has room for less than comes, which is an error at the root; then the end of the program, as
 * usual. With `fatal` the error ends it.
 *
 *   failed_gather [fatal] */
#include "check.h"

enum { SENT = 10, MOST = 8 };

int main(int argc, char **argv)
{
    int rank, size, class, sent[SENT] = {0}, room[SENT * MOST];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    REQUIRE(size <= MOST, "%d ranks", size);
    if (argc == 1) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Error_class(MPI_Gather(sent, SENT, MPI_INT, room, rank == 0 ? 1 : SENT, MPI_INT, 0, MPI_COMM_WORLD), &class);
    REQUIRE((rank == 0) == (class != MPI_SUCCESS), "class %d at rank %d", class, rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    if (rank == 0) printf("ok\n");
    MPI_Finalize();
    return 0;
}
