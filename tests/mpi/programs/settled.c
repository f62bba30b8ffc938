/* Repeats one broadcast until the search for a better plan beside it has ended, and a few more then.
 *
 * Between broadcasts all ranks sleep, so that the search, which has the lowest priority, gets a core on any
 * machine.
 *
 *   settled BYTES */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <dirent.h>
#include <time.h>

/* Before: the search begins with the second broadcast of its kind. After: one brings the plan, the next runs it. */
enum { BEFORE = 3, AFTER = 4 };

static void sleep_a_little(void)
{
    struct timespec while_others_work = {0, 20000000};
    nanosleep(&while_others_work, NULL);
}

/* Whether this process has a thread of that name, of which Linux keeps 15 characters. */
static int has_thread(const char *name)
{
    int found = 0;
    DIR *tasks = opendir("/proc/self/task");
    REQUIRE(tasks != NULL, "/proc is not there");
    for (struct dirent *task; (task = readdir(tasks)) != NULL;) {
        char path[300], comm[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        FILE *file = fopen(path, "r");
        if (file == NULL) continue;
        if (fgets(comm, sizeof comm, file) != NULL) found |= strncmp(comm, name, 15) == 0;
        fclose(file);
    }
    closedir(tasks);
    return found;
}

/* A barrier in which ranks sleep. */
static void meet(void)
{
    MPI_Request all;
    MPI_Ibarrier(MPI_COMM_WORLD, &all);
    for (int done = 0; !done;) {
        MPI_Test(&all, &done, MPI_STATUS_IGNORE);
        if (!done) sleep_a_little();
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const int bytes = argc > 1 ? atoi(argv[1]) : 1 << 20;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    unsigned char *message = malloc((size_t)bytes);
    REQUIRE(message != NULL, "no memory");
    for (uint64_t round = 0; round < BEFORE + AFTER; round++) {
        broadcast(message, bytes, 0, MPI_COMM_WORLD, round);
        while (rank == 0 && round == BEFORE - 1 && has_thread("broadleaf-search")) sleep_a_little();
        meet();
    }
    free(message);
    if (rank == 0) printf("ok\n");
    MPI_Finalize();
    return 0;
}
