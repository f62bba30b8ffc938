/* The system refuses one rank one of its calls from MPI_Init on: broadcasts still arrive.
 *
 *   refused memfd_create|process_vm_readv|process_vm_writev|futex_wait|mmap RANK ROUNDS */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define UNLESS(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (skip))

static void refuse(const char *name)
{
    unsigned call = 0, argument = 0, value = 0;
    int has_argument = 1;
    if (strcmp(name, "memfd_create") == 0) call = __NR_memfd_create, has_argument = 0;
    if (strcmp(name, "process_vm_readv") == 0) call = __NR_process_vm_readv, has_argument = 0;
    if (strcmp(name, "process_vm_writev") == 0) call = __NR_process_vm_writev, has_argument = 0;
    /* Only sleeping: it must not matter that it fails. */
    if (strcmp(name, "futex_wait") == 0) call = __NR_futex, argument = 1, value = FUTEX_WAIT;
    /* Only what is shared. */
    if (strcmp(name, "mmap") == 0) call = __NR_mmap, argument = 3, value = MAP_SHARED;
    REQUIRE(call != 0, "no call %s", name);
    struct sock_filter any[] = {
        LOAD(nr), UNLESS(call, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_filter some[] = {
        LOAD(nr), UNLESS(call, 3), LOAD(args[argument]), UNLESS(value, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = has_argument ? (struct sock_fprog){sizeof some / sizeof *some, some}
                                             : (struct sock_fprog){sizeof any / sizeof *any, any};
    REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs: %s", strerror(errno));
    REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "seccomp: %s", strerror(errno));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    REQUIRE(argc == 4, "a call, a rank, rounds");
    const int rounds = atoi(argv[3]);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    static unsigned char message[1000000];
    if (rank == atoi(argv[2])) refuse(argv[1]);
    for (int round = 0; round < rounds; round++)
        broadcast(message, round % 2 ? 100000 : 1000000, round % size, MPI_COMM_WORLD, (uint64_t)round);
    if (rank == 0) printf("ok %d rounds\n", rounds);
    MPI_Finalize();
    return 0;
}
