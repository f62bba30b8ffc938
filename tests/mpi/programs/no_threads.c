/* Broadcasts of those lengths from every rank, by ranks that the system grants no thread. Root has no limit of
 * processes, so a rank of root's becomes an ordinary user first.
 *
 *   no_threads BYTES... */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static void *nothing(void *argument)
{
    return argument;
}

int main(int argc, char **argv)
{
    int size, rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int is_root = getuid() == 0;
    const struct rlimit one = {1, 1};
    pthread_t thread;
    REQUIRE(!is_root || setresuid(65534, 65534, 0) == 0, "it is refused another user");
    /* The MPI copies out of other ranks' memory. */
    prctl(PR_SET_DUMPABLE, 1);
    REQUIRE(setrlimit(RLIMIT_NPROC, &one) == 0, "it is refused the limit");
    REQUIRE(pthread_create(&thread, NULL, nothing, NULL) == EAGAIN, "it is granted a thread");

    uint64_t message = 1;
    for (int at = 1; at < argc; at++) {
        const int bytes = atoi(argv[at]);
        unsigned char *data = malloc((size_t)bytes);
        REQUIRE(data != NULL, "no memory");
        for (int root = 0; root < size; root++) broadcast(data, bytes, root, MPI_COMM_WORLD, message++);
        free(data);
    }

    REQUIRE(!is_root || setresuid(0, 0, 0) == 0, "it is refused its own user");
    if (rank == 0) printf("ok\n");
    MPI_Finalize();
    return 0;
}
