/* A message of more bytes than an int can count, in place and packed.
 *
 *   big MEBIBYTES */
#include "check.h"

/* One word a page is enough to find a misplaced page, and much faster than all. */
#define STRIDE 4096

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const uint64_t mebibytes = argc > 1 ? strtoull(argv[1], NULL, 10) : 2100;
    const uint64_t bytes = mebibytes << 20;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Datatype block, gaps;
    MPI_Type_contiguous(1 << 20, MPI_BYTE, &block);
    MPI_Type_commit(&block);
    /* The same megabyte in two halves with a hole of a page between them. */
    MPI_Type_create_hvector(2, 1 << 19, (1 << 19) + STRIDE, MPI_BYTE, &gaps);
    MPI_Type_create_resized(gaps, 0, (1 << 20) + 2 * STRIDE, &gaps);
    MPI_Type_commit(&gaps);
    unsigned char *data = calloc(bytes + mebibytes * 2 * STRIDE, 1);
    REQUIRE(data != NULL, "no memory");
    for (uint64_t at = 0; rank == 0 && at < bytes; at += STRIDE) data[at] = expected(1, at);
    MPI_Bcast(data, (int)mebibytes, block, 0, MPI_COMM_WORLD);
    for (uint64_t at = 0; at < bytes; at += STRIDE)
        REQUIRE(data[at] == expected(1, at), "in place, byte %llu", (unsigned long long)at);

    memset(data, 0, bytes + mebibytes * 2 * STRIDE);
    /* Rank 0 has gaps, the others have none. */
    for (uint64_t at = 0; rank == 0 && at < bytes; at += STRIDE)
        data[at + (at >> 20) * 2 * STRIDE + (at >> 19 & 1) * STRIDE] = expected(2, at);
    MPI_Bcast(data, (int)mebibytes, rank == 0 ? gaps : block, 0, MPI_COMM_WORLD);
    for (uint64_t at = 0; rank != 0 && at < bytes; at += STRIDE)
        REQUIRE(data[at] == expected(2, at), "packed, byte %llu", (unsigned long long)at);

    memset(data, 0, bytes + mebibytes * 2 * STRIDE);
    /* One element of more bytes than an int can count, with gaps on all ranks but 0. */
    MPI_Datatype whole;
    MPI_Type_create_hvector((int)mebibytes, 1 << 20, (1 << 20) + STRIDE, MPI_BYTE, &whole);
    MPI_Type_commit(&whole);
    for (uint64_t at = 0; rank == 0 && at < bytes; at += STRIDE) data[at] = expected(3, at);
    MPI_Bcast(data, rank == 0 ? (int)mebibytes : 1, rank == 0 ? block : whole, 0, MPI_COMM_WORLD);
    for (uint64_t at = 0; rank != 0 && at < bytes; at += STRIDE)
        REQUIRE(data[at + (at >> 20) * STRIDE] == expected(3, at), "one element, byte %llu",
                (unsigned long long)at);
    /* And back, from a root with gaps. */
    MPI_Bcast(data, rank == 1 ? 1 : (int)mebibytes, rank == 1 ? whole : block, 1, MPI_COMM_WORLD);
    for (uint64_t at = 0; rank == 0 && at < bytes; at += STRIDE)
        REQUIRE(data[at] == expected(3, at), "packed by the root, byte %llu", (unsigned long long)at);
    free(data);
    MPI_Type_free(&whole);
    MPI_Type_free(&block);
    MPI_Type_free(&gaps);
    if (rank == 0) printf("ok 4 broadcasts\n");
    MPI_Finalize();
    return 0;
}
