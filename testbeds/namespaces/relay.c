/* Cables that delay and lose packets, where the kernel has no netem.
 *
 *     relay NAME HOSTS DELAY_S JITTER_S LOSS SEED
 *
 * Lays one cable a host, from e0 in the namespace NAME-0, NAME-1, ... to port0, port1, ... in NAME-switch, prints "ready",
 * and forwards packets until it is ended. A packet is lost with probability LOSS; others arrive after DELAY_S and an
 * exponentially distributed time of mean JITTER_S, in the order in which they were sent. Both ends of a cable are TAP devices. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { MOST_BYTES = 1600, MOST_QUEUED = 1 << 12 };

struct frame {
    double due_s;
    int bytes;
    char data[MOST_BYTES];
};

/* What has been read from one end and not been written to the other; a packet that finds it full is lost. */
struct queue {
    struct frame *frames;
    unsigned first, end;
};

static void enter(const char *name, const char *suffix)
{
    char path[256];
    snprintf(path, sizeof path, "/run/netns/%s-%s", name, suffix);
    int namespace = open(path, O_RDONLY);
    if (namespace < 0 || setns(namespace, CLONE_NEWNET) != 0) {
        perror(path);
        exit(1);
    }
    close(namespace);
}

static int tap(const char *device)
{
    int end = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    snprintf(request.ifr_name, IFNAMSIZ, "%s", device);
    if (end < 0 || ioctl(end, TUNSETIFF, &request) != 0) {
        perror("/dev/net/tun");
        exit(1);
    }
    return end;
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

int main(int argc, char **argv)
{
    if (argc != 7) {
        fprintf(stderr, "usage: relay NAME HOSTS DELAY_S JITTER_S LOSS SEED\n");
        return 2;
    }
    const char *name = argv[1];
    int ends = 2 * atoi(argv[2]);
    double delay_s = atof(argv[3]), jitter_s = atof(argv[4]), loss = atof(argv[5]);
    srand48(atol(argv[6]));
    struct pollfd *polled = calloc(ends, sizeof *polled);
    struct queue *queues = calloc(ends, sizeof *queues);
    /* Ends 2 i and 2 i + 1 are the host's and the switch's of cable i. The last namespace entered is the switch's, where
     * taking the network down finds this process. */
    for (int side = 0; side < 2; side++) {
        for (int end = side; end < ends; end += 2) {
            char suffix[16], device[16];
            snprintf(suffix, sizeof suffix, "%d", end / 2);
            snprintf(device, sizeof device, "port%d", end / 2);
            enter(name, side == 0 ? suffix : "switch");
            polled[end] = (struct pollfd){tap(side == 0 ? "e0" : device), POLLIN, 0};
            queues[end].frames = malloc(MOST_QUEUED * sizeof *queues->frames);
            if (queues[end].frames == NULL) {
                perror("relay");
                return 1;
            }
        }
    }
    puts("ready");
    fflush(stdout);
    for (;;) {
        double next_s = INFINITY, now = now_s();
        for (int end = 0; end < ends; end++) {
            struct queue *queue = &queues[end];
            for (; queue->first != queue->end; queue->first++) {
                struct frame *frame = &queue->frames[queue->first % MOST_QUEUED];
                if (frame->due_s > now) {
                    next_s = fmin(next_s, frame->due_s);
                    break;
                }
                /* A device that is down or full takes no packet, which is then lost. */
                if (write(polled[end ^ 1].fd, frame->data, frame->bytes) < 0)
                    continue;
            }
        }
        double wait_s = fmax(0, fmin(next_s - now, 1));
        struct timespec wait = {(time_t)wait_s, (long)(1e9 * (wait_s - (time_t)wait_s))};
        if (ppoll(polled, ends, &wait, NULL) <= 0)
            continue;
        now = now_s();
        for (int end = 0; end < ends; end++) {
            struct queue *queue = &queues[end];
            if (!polled[end].revents)
                continue;
            for (;;) {
                struct frame spare, *frame = &spare;
                if (queue->end - queue->first < MOST_QUEUED)
                    frame = &queue->frames[queue->end % MOST_QUEUED];
                frame->bytes = read(polled[end].fd, frame->data, MOST_BYTES);
                if (frame->bytes <= 0)
                    break;
                if (frame == &spare || drand48() < loss)
                    continue;
                frame->due_s = now + delay_s - jitter_s * log(1 - drand48());
                if (queue->end != queue->first) {
                    double last_s = queue->frames[(queue->end - 1) % MOST_QUEUED].due_s;
                    frame->due_s = fmax(frame->due_s, last_s);
                }
                queue->end++;
            }
        }
    }
}
