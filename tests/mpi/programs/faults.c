/* Broadcasts of several sizes on a rank, or on all, that something has been taken from: a system call, memory, files,
 * its turn on the processor, or the settings that the others have. Every byte is compared.
 *
 *   faults KIND VALUE RANK      RANK -1: all ranks
 *
 *   deny CALL        the system call of that number answers EPERM from MPI_Init on
 *   nofile 0         no file can be opened from MPI_Init on
 *   fsize 0          no file may grow from MPI_Init on
 *   space MIB        this much address space is left from MPI_Init on
 *   stop SECONDS     stopped for this long in the middle of the broadcasts
 *   setting A=B      an environment variable that only this rank has
 */
#define _GNU_SOURCE
#include "check.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LARGEST 3000000

static int world_rank(void)
{
    const char *text = getenv("OMPI_COMM_WORLD_RANK");
    if (text == NULL) text = getenv("PMI_RANK");
    return text == NULL ? 0 : atoi(text);
}

static void deny(unsigned call)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1 /* EPERM */),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges");
    REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "no filter");
}

static void limit(int what, rlim_t value)
{
    struct rlimit limits;
    getrlimit(what, &limits);
    limits.rlim_cur = value;
    REQUIRE(setrlimit(what, &limits) == 0, "limit %d of %llu", what, (unsigned long long)value);
}

static rlim_t address_space(void)
{
    long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    REQUIRE(statm != NULL && fscanf(statm, "%ld", &pages) == 1, "no /proc/self/statm");
    fclose(statm);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

static rlim_t next_file(void)
{
    int file = dup(0);
    REQUIRE(file >= 0, "no file");
    close(file);
    return (rlim_t)file;
}

/* Another process wakes this one up again. */
static void stop(unsigned seconds)
{
    const pid_t self = getpid(), waker = fork();
    if (waker == 0) {
        sleep(seconds);
        kill(self, SIGCONT);
        _exit(0);
    }
    raise(SIGSTOP);
    waitpid(waker, NULL, 0);
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "none", *value = argc > 2 ? argv[2] : "0";
    const int whose = argc > 3 ? atoi(argv[3]) : -1, mine = whose < 0 || whose == world_rank();
    static char variable[200];
    if (mine && strcmp(kind, "setting") == 0) {
        snprintf(variable, sizeof variable, "%s", value);
        putenv(variable);
    }
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    unsigned char *bytes = malloc(LARGEST);
    REQUIRE(bytes != NULL, "no memory");
    memset(bytes, 1, LARGEST);
    if (mine && strcmp(kind, "deny") == 0) deny((unsigned)atoi(value));
    if (mine && strcmp(kind, "nofile") == 0) limit(RLIMIT_NOFILE, next_file());
    if (mine && strcmp(kind, "fsize") == 0) limit(RLIMIT_FSIZE, 0);
    if (mine && strcmp(kind, "space") == 0) limit(RLIMIT_AS, address_space() + ((rlim_t)atoi(value) << 20));
    MPI_Comm dup = MPI_COMM_NULL;
    const int sizes[] = {1, 5000, 70000, 300000, 1100000, LARGEST};
    uint64_t message = 0;
    for (int round = 0; round < 12; round++) {
        if (round == 6) MPI_Comm_dup(MPI_COMM_WORLD, &dup);
        if (round == 7 && mine && strcmp(kind, "stop") == 0) stop((unsigned)atoi(value));
        for (int at = 0; at < 6; at++)
            broadcast(bytes, sizes[at], round % size, round < 6 ? MPI_COMM_WORLD : dup, ++message);
    }
    MPI_Comm_free(&dup);
    free(bytes);
    if (rank == 0) printf("ok %llu broadcasts\n", (unsigned long long)message);
    MPI_Finalize();
    return 0;
}
