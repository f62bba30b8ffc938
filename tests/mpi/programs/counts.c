/* Every count with every size of type, without the bytes: where the product is zero, a broadcast does nothing; where it
 * exceeds the address space, or the count is negative, it is refused or does nothing, as in the MPI. Around the
 * threshold, messages are broadcast for real.
 *
 *   counts */
#include "check.h"

static unsigned char bytes[4096];

#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
typedef MPI_Count count_type;
#define BCAST MPI_Bcast_c
#else
typedef int count_type;
#define BCAST MPI_Bcast
#endif

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);

    /* No size: contiguous of nothing, a struct of nothing, an extent without bytes. */
    MPI_Datatype empty[3], resized;
    MPI_Type_contiguous(0, MPI_INT, &empty[0]);
    MPI_Type_create_struct(0, NULL, NULL, NULL, &empty[1]);
    MPI_Type_contiguous(0, MPI_BYTE, &resized);
    MPI_Type_create_resized(resized, 0, 64, &empty[2]);
    MPI_Type_free(&resized);
    memset(bytes, 0x5a, sizeof bytes);
    int bits = 8 * (int)sizeof(count_type) - 1;
    for (int type = 0; type < 3; type++) {
        MPI_Type_commit(&empty[type]);
        for (int bit = 0; bit < bits; bit++)
            for (int near = -1; near <= 1; near++) {
                count_type count = ((count_type)1 << bit) + near;
                int error = BCAST(bytes, count, empty[type], bit % size, MPI_COMM_WORLD);
                REQUIRE(error == MPI_SUCCESS, "%lld elements of no size: %d", (long long)count, error);
            }
        MPI_Type_free(&empty[type]);
    }
    for (unsigned at = 0; at < sizeof bytes; at++) REQUIRE(bytes[at] == 0x5a, "byte %u was written", at);

    uint64_t message = 0, state = 42;
    for (int length = 0; length <= 40; length++) broadcast(bytes, length, length % size, MPI_COMM_WORLD, message++);
    for (int call = 0; call < 200; call++)
        broadcast(bytes, (int)(draw(&state) % sizeof bytes), (int)(draw(&state) % (uint64_t)size), MPI_COMM_WORLD,
                  message++);
    if (rank == 0) printf("ok\n");
    MPI_Finalize();
    return 0;
}
