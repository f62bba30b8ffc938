/* Communicators that are kept, with a large broadcast each: the peak of the populated part of the runtime's shared
 * memory, in the mappings of the root of all of them.
 *
 *   ring_memory COMMUNICATORS BYTES */
#include "check.h"

/* KiB of the mappings by that name that have memory. */
static long populated_kib(void)
{
    FILE *file = fopen("/proc/self/smaps", "r");
    REQUIRE(file != NULL, "no /proc/self/smaps");
    char line[4096];
    long sum = 0, kib;
    int is_ours = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        unsigned long begin, end;
        if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
            is_ours = strstr(line, "memfd:broadleaf") != NULL;
        else if (is_ours && sscanf(line, "Rss: %ld kB", &kib) == 1)
            sum += kib;
    }
    fclose(file);
    return sum;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const int count = argc > 1 ? atoi(argv[1]) : 100, length = argc > 2 ? atoi(argv[2]) : 1000000;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm *comms = malloc((size_t)count * sizeof *comms);
    unsigned char *bytes = malloc((size_t)length);
    REQUIRE(comms != NULL && bytes != NULL, "no memory");
    long most = 0;
    for (int at = 0; at < count; at++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[at]);
        broadcast(bytes, length, 0, comms[at], (uint64_t)at);
        long now = at % 20 == 0 || at == count - 1 ? populated_kib() : 0;
        if (now > most) most = now;
    }
    /* Freed memory is used again. */
    for (int at = 0; at < count; at += 7) broadcast(bytes, length, 0, comms[at], (uint64_t)(count + at));
    REQUIRE(most > 0, "no shared memory of the runtime's");
    for (int at = 0; at < count; at++) MPI_Comm_free(&comms[at]);
    REQUIRE(populated_kib() == 0, "%ld KiB are left", populated_kib());
    if (rank == 0) printf("ok %ld KiB\n", most);
    free(comms);
    free(bytes);
    MPI_Finalize();
    return 0;
}
