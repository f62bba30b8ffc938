/* A rank without memory for its packed message: it reports that, the others get their data, and all ranks do next
 * time. Where it is the root, there is no error. */
#include "check.h"

#define COUNT 300000
#define BYTES (3 * COUNT)

extern void *__libc_malloc(size_t bytes);
static _Atomic int is_starved;

/* Once, for a block as large as the packed message. */
void *malloc(size_t bytes)
{
    int starved = 1;
    if (bytes == BYTES && __atomic_compare_exchange_n((int *)&is_starved, &starved, 0, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        return NULL;
    return __libc_malloc(bytes);
}

static unsigned char bytes[4 * COUNT], packed[BYTES];

/* Three bytes of four. */
static int spread(int root, MPI_Datatype type, MPI_Comm comm, uint64_t message)
{
    int rank;
    MPI_Comm_rank(comm, &rank);
    memset(bytes, 0, sizeof bytes);
    fill(packed, BYTES, message);
    for (int at = 0; rank == root && at < BYTES; at++) bytes[at / 3 * 4 + at % 3] = packed[at];
    return MPI_Bcast(bytes, COUNT, type, root, comm);
}

static void check(uint64_t message, const char *when)
{
    fill(packed, BYTES, message);
    for (int at = 0; at < BYTES; at++)
        REQUIRE(bytes[at / 3 * 4 + at % 3] == packed[at], "byte %d %s", at, when);
    for (int at = 0; at < COUNT; at++) REQUIRE(bytes[4 * at + 3] == 0, "gap %d %s", at, when);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Datatype part, type;
    MPI_Type_contiguous(3, MPI_BYTE, &part);
    MPI_Type_create_resized(part, 0, 4, &type);
    MPI_Type_commit(&type);
    uint64_t message = 0;
    for (int round = 0; round < 3; round++)
        for (int root = 0; root < size; root += size > 2 ? 2 : 1)
            for (int victim = 0; victim < size; victim++) {
                is_starved = rank == victim;
                int error = spread(root, type, MPI_COMM_WORLD, message), kind;
                MPI_Error_class(error, &kind);
                REQUIRE(!is_starved, "no memory was asked for");
                if (rank == victim && rank != root)
                    REQUIRE(kind == MPI_ERR_NO_MEM, "class %d without memory", kind);
                else {
                    REQUIRE(kind == MPI_SUCCESS, "class %d where rank %d has no memory", kind, victim);
                    check(message, "beside a rank without memory");
                }
                message++;
                REQUIRE(spread(root, type, MPI_COMM_WORLD, message) == MPI_SUCCESS, "the next");
                check(message++, "of the next broadcast");
            }
    MPI_Type_free(&type);
    MPI_Type_free(&part);
    if (rank == 0) printf("ok\n");
    MPI_Finalize();
    return 0;
}
