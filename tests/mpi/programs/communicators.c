/* Communicators that come and go: duplicated, split, created, freed, by the thousand. What the program attached
 * to them is copied as often as without us, and memory stays flat.
 *
 *   communicators ROUNDS */
#include "check.h"

#define BYTES 100000

static int copies;

static int count_copy(MPI_Comm comm, int key, void *extra, void *value, void *copy, int *flag)
{
    (void)comm, (void)key, (void)extra;
    copies++;
    *(void **)copy = value;
    *flag = 1;
    return MPI_SUCCESS;
}

static long resident_kib(void)
{
    long pages = 0, resident = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (statm == NULL || fscanf(statm, "%ld %ld", &pages, &resident) != 2) resident = 0;
    if (statm != NULL) fclose(statm);
    return resident * 4;
}

static void broadcast(MPI_Comm comm, int root, uint64_t message)
{
    static unsigned char bytes[BYTES];
    int rank;
    MPI_Comm_rank(comm, &rank);
    if (rank == root)
        fill(bytes, BYTES, message);
    else
        memset(bytes, 0, BYTES);
    MPI_Bcast(bytes, BYTES, MPI_BYTE, root, comm);
    compare(bytes, BYTES, message);
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
        broadcast(dup, round % size, 3 * round);
        REQUIRE(copies == round, "the program's attribute was copied %d times", copies);
        MPI_Comm_split(dup, rank == round % size ? MPI_UNDEFINED : 1, -rank, &part);
        if (part != MPI_COMM_NULL) {
            broadcast(part, 0, 3 * round + 1);
            MPI_Comm_free(&part);
        }
        MPI_Group group;
        MPI_Comm_group(dup, &group);
        MPI_Comm_create(dup, group, &created);
        MPI_Group_free(&group);
        /* Freed before what was made on it: the order must not matter. */
        MPI_Comm_free(&dup);
        broadcast(created, size - 1, 3 * round + 2);
        MPI_Comm_free(&created);
    }
    long grown = resident_kib() - before;
    REQUIRE(grown < 8 << 10, "memory grew by %ld KiB in %d rounds", grown, rounds - rounds / 4);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    MPI_Comm_free_keyval(&key);
    /* One that is left for MPI_Finalize. */
    MPI_Comm left;
    MPI_Comm_dup(MPI_COMM_WORLD, &left);
    broadcast(left, 0, 1);
    if (rank == 0) printf("ok %d rounds, %ld KiB more\n", rounds, grown);
    MPI_Finalize();
    return 0;
}
