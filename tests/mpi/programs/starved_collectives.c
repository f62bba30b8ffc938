/* A rank without memory for its packed blocks in a scatter or all-gather by name. Where others need this rank's blocks,
 * all ranks get theirs by the MPI's own collective; else it reports that, and the others get theirs. In a gather or
 * reduction it reports that, and so does the root. Next time all get theirs. */
#include "check.h"
#include "starved.h"

#include <broadleaf.h>

#define COUNT 30000
#define BYTES (3 * COUNT)
#define MOST 8

static unsigned char all[MOST][4 * COUNT], mine[4 * COUNT], packed[BYTES];

/* Three bytes of four. */
static void put(unsigned char *block, uint64_t message)
{
    fill(packed, BYTES, message);
    for (int at = 0; at < BYTES; at++) block[at / 3 * 4 + at % 3] = packed[at];
}

static void check_block(const unsigned char *block, uint64_t message, const char *when)
{
    fill(packed, BYTES, message);
    for (int at = 0; at < BYTES; at++)
        REQUIRE(block[at / 3 * 4 + at % 3] == packed[at], "byte %d %s", at, when);
    for (int at = 0; at < COUNT; at++) REQUIRE(block[4 * at + 3] == 0, "gap %d %s", at, when);
}

static int scatter(int rank, int size, int root, MPI_Datatype type, uint64_t message)
{
    memset(all, 0, sizeof all);
    memset(mine, 0, sizeof mine);
    for (int other = 0; rank == root && other < size; other++) put(all[other], message + (uint64_t)other);
    return broadleaf_scatter(all, COUNT, type, mine, COUNT, type, root, MPI_COMM_WORLD);
}

static int allgather(int rank, int in_place, MPI_Datatype type, uint64_t message)
{
    memset(all, 0, sizeof all);
    put(in_place ? all[rank] : mine, message + (uint64_t)rank);
    return broadleaf_allgather(in_place ? MPI_IN_PLACE : mine, COUNT, type, all, COUNT, type, MPI_COMM_WORLD);
}

static int gather(int rank, int root, MPI_Datatype type, uint64_t message)
{
    memset(all, 0, sizeof all);
    put(mine, message + (uint64_t)rank);
    return MPI_Gather(mine, COUNT, type, all, COUNT, type, root, MPI_COMM_WORLD);
}

/* Of as many bytes as all packed blocks have. */
static int reduce(int rank, int size, int root)
{
    static int from[MOST * BYTES / 4], sum[MOST * BYTES / 4];
    const int count = size * BYTES / 4;
    for (int at = 0; at < count; at++) from[at] = rank + at;
    const int error = MPI_Reduce(from, sum, count, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
    for (int at = 0; error == MPI_SUCCESS && rank == root && at < count; at++)
        REQUIRE(sum[at] == size * at + size * (size - 1) / 2, "sum %d is %d", at, sum[at]);
    return error;
}

static void check_all(int size, uint64_t message, const char *when)
{
    for (int other = 0; other < size; other++) check_block(all[other], message + (uint64_t)other, when);
}

static void inward(int rank, int size, int victim, int root, MPI_Datatype type, uint64_t message)
{
    int kind;
    is_starved = rank == victim;
    MPI_Error_class(gather(rank, root, type, message), &kind);
    REQUIRE(!is_starved, "no memory was asked for");
    REQUIRE(kind == (rank == victim || rank == root ? MPI_ERR_NO_MEM : MPI_SUCCESS), "class %d: gather", kind);
    REQUIRE(gather(rank, root, type, message) == MPI_SUCCESS, "the next gather");
    if (rank == root) check_all(size, message, "of the next gather");
    /* The root has its result's memory. */
    if (victim == root) return;
    is_starved = rank == victim;
    MPI_Error_class(reduce(rank, size, root), &kind);
    REQUIRE(!is_starved, "no memory was asked for");
    REQUIRE(kind == (rank == victim || rank == root ? MPI_ERR_NO_MEM : MPI_SUCCESS), "class %d: reduction", kind);
    REQUIRE(reduce(rank, size, root) == MPI_SUCCESS, "the next reduction");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, kind;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    REQUIRE(size <= MOST, "%d ranks", size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    starved_bytes = (size_t)size * BYTES;
    MPI_Datatype part, type;
    MPI_Type_contiguous(3, MPI_BYTE, &part);
    MPI_Type_create_resized(part, 0, 4, &type);
    MPI_Type_commit(&type);
    uint64_t message = 0;
    for (int victim = 0; victim < size; victim++)
        for (int root = 0; root < size; root += size - 1) {
            is_starved = rank == victim;
            MPI_Error_class(scatter(rank, size, root, type, message), &kind);
            REQUIRE(!is_starved, "no memory was asked for");
            const int fails = rank == victim && rank != root;
            REQUIRE(kind == (fails ? MPI_ERR_NO_MEM : MPI_SUCCESS), "class %d: scatter from %d, rank %d", kind, root, victim);
            if (!fails) check_block(mine, message + (uint64_t)rank, "of a scatter beside a rank without memory");
            message += MOST;
            REQUIRE(scatter(rank, size, root, type, message) == MPI_SUCCESS, "the next scatter");
            check_block(mine, message + (uint64_t)rank, "of the next scatter");
            message += MOST;
            is_starved = rank == victim;
            MPI_Error_class(allgather(rank, root == 0, type, message), &kind);
            REQUIRE(!is_starved, "no memory was asked for");
            REQUIRE(kind == MPI_SUCCESS, "class %d where rank %d has no memory", kind, victim);
            check_all(size, message, "of an all-gather beside a rank without memory");
            message += MOST;
            REQUIRE(allgather(rank, root != 0, type, message) == MPI_SUCCESS, "the next all-gather");
            check_all(size, message, "of the next all-gather");
            message += MOST;
            inward(rank, size, victim, root, type, message);
            message += MOST;
        }
    MPI_Type_free(&type);
    MPI_Type_free(&part);
    if (rank == 0) printf("ok\n");
    MPI_Finalize();
    return 0;
}
