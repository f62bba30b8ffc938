/* Broadcasts of those lengths from every rank, by ranks that the system grants no thread, as at a limit of processes or
 * of memory. Root has no limit of processes, so a filter refuses what makes a thread, in the same way.
 *
 *   no_threads BYTES... */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static int refuse_threads(void)
{
    struct sock_filter refuse[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {sizeof refuse / sizeof *refuse, refuse};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

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
    pthread_t thread;
    REQUIRE(refuse_threads(), "it is refused a filter");
    REQUIRE(pthread_create(&thread, NULL, nothing, NULL) == EAGAIN, "it is granted a thread");

    uint64_t message = 1;
    for (int at = 1; at < argc; at++) {
        const int bytes = atoi(argv[at]);
        unsigned char *data = malloc((size_t)bytes);
        REQUIRE(data != NULL, "no memory");
        for (int root = 0; root < size; root++) broadcast(data, bytes, root, MPI_COMM_WORLD, message++);
        free(data);
    }

    if (rank == 0) printf("ok\n");
    MPI_Finalize();
    return 0;
}
