/* Communicators that come and go: duplicated, split, created, freed, by the thousand. What the program attached
 * to them is copied as often as without Broadleaf, and memory stays flat.
 *
 *   communicators ROUNDS */
#include "check.h"

#define BYTES 100000

static unsigned char bytes[BYTES];
static int copies;

static int count_copy(MPI_Comm comm, int key, void *extra, void *value, void *copy, int *flag)
{
    (void)comm, (void)key, (void)extra;
    copies++;
    *(void **)copy = value;
    *flag = 1;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const int rounds = argc > 1 ? atoi(argv[1]) : 400;
    int rank, size, key;
    static int value = 7;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_create_keyval(count_copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, &value);

    long before = 0;
    for (int round = 1; round <= rounds; round++) {
        if (round == rounds / 4) before = resident_kib();
        MPI_Comm dup, part, created;
        MPI_Comm_dup(MPI_COMM_WORLD, &dup);
        broadcast(bytes, BYTES, round % size, dup, 3 * (uint64_t)round);
        REQUIRE(copies == round, "the program's attribute was copied %d times", copies);
        MPI_Comm_split(dup, rank == round % size ? MPI_UNDEFINED : 1, -rank, &part);
        if (part != MPI_COMM_NULL) {
            broadcast(bytes, BYTES, 0, part, 3 * (uint64_t)round + 1);
            MPI_Comm_free(&part);
        }
        MPI_Group group;
        MPI_Comm_group(dup, &group);
        MPI_Comm_create(dup, group, &created);
        MPI_Group_free(&group);
        /* Freed before the communicators derived from it: the order must not matter. */
        MPI_Comm_free(&dup);
        broadcast(bytes, BYTES, size - 1, created, 3 * (uint64_t)round + 2);
        MPI_Comm_free(&created);
    }
    long grown = resident_kib() - before;
    REQUIRE(grown < 8 << 10, "memory grew by %ld KiB in %d rounds", grown, rounds - rounds / 4);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    MPI_Comm_free_keyval(&key);
    /* One that is left for MPI_Finalize. */
    MPI_Comm left;
    MPI_Comm_dup(MPI_COMM_WORLD, &left);
    broadcast(bytes, BYTES, 0, left, 1);
    if (rank == 0) printf("ok %d rounds, %ld KiB more\n", rounds, grown);
    MPI_Finalize();
    return 0;
}
