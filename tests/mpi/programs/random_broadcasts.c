/* Random broadcasts: fifteen kinds of datatype (each rank its own), nine kinds of communicator, any root, from no
 * bytes at all to LARGEST, while other traffic goes on: sends and wildcard receives on the same communicator, and
 * other collectives, blocking and not. Every int is compared, and so are the bytes between.
 *
 *   random_broadcasts COUNT LARGEST_BYTES SEED */
#include "shape.h"

#define COMMS 9
#define GUARD 0xA5

static int rank, size;

/* The kinds; MPI_COMM_NULL where this rank is no member. */
static MPI_Comm comm_make(int kind, uint64_t seed)
{
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Group world, part;
    int period = 1, dims = size;
    switch (kind) {
    case 0: MPI_Comm_dup(MPI_COMM_WORLD, &comm); break;
    case 1: MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm); break;
    case 2: MPI_Comm_split(MPI_COMM_WORLD, (int)(draw(&seed) >> 8) >> rank & 1, rank, &comm); break;
    case 3: MPI_Comm_split(MPI_COMM_WORLD, rank == (int)(seed % (uint64_t)size) ? MPI_UNDEFINED : 0, 0, &comm); break;
    case 4:
    case 5: { /* the upper ranks, backwards: made by all, or by its members alone */
        int range[1][3] = {{size - 1, size / 3, -1}};
        MPI_Comm_group(MPI_COMM_WORLD, &world);
        MPI_Group_range_incl(world, 1, range, &part);
        if (kind == 4) MPI_Comm_create(MPI_COMM_WORLD, part, &comm);
        else if (rank >= size / 3) MPI_Comm_create_group(MPI_COMM_WORLD, part, 7, &comm);
        MPI_Group_free(&part);
        MPI_Group_free(&world);
        break;
    }
    case 6: MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &comm); break;
    case 7: MPI_Cart_create(MPI_COMM_WORLD, 1, &dims, &period, 0, &comm); break;
    default: { /* two halves, an intercommunicator between them, and merged again */
        MPI_Comm half, between;
        int high = rank >= (size + 1) / 2;
        MPI_Comm_split(MPI_COMM_WORLD, high, rank, &half);
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, high ? 0 : (size + 1) / 2, 11, &between);
        MPI_Intercomm_merge(between, high, &comm);
        MPI_Comm_free(&between);
        MPI_Comm_free(&half);
    }
    }
    return comm;
}

/* Other traffic on the communicator while it broadcasts. */
typedef struct {
    MPI_Request requests[4];
    int count, is_nonblocking;
    unsigned char sent[3000], received[3000];
    int mine, sum;
    uint64_t message;
    int before;
} traffic;

static void traffic_begin(traffic *t, MPI_Comm comm, int kind, uint64_t message)
{
    int me, members;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &members);
    *t = (traffic){.message = message, .before = (me + members - 1) % members};
    if (kind & 1) {
        /* A receive from any source with any tag: it must never match a broadcast's message. */
        MPI_Irecv(t->received, sizeof t->received, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &t->requests[t->count++]);
        fill(t->sent, sizeof t->sent, message * 64 + (uint64_t)me);
        MPI_Isend(t->sent, sizeof t->sent, MPI_BYTE, (me + 1) % members, (int)(message % 32000), comm,
                  &t->requests[t->count++]);
    }
    if (kind & 2) {
        t->mine = me + 1;
        t->is_nonblocking = 1;
        MPI_Iallreduce(&t->mine, &t->sum, 1, MPI_INT, MPI_SUM, comm, &t->requests[t->count++]);
    }
    if (kind & 4) MPI_Barrier(comm);
}

static void traffic_end(traffic *t, MPI_Comm comm)
{
    int members;
    MPI_Comm_size(comm, &members);
    MPI_Waitall(t->count, t->requests, MPI_STATUSES_IGNORE);
    if (t->is_nonblocking) REQUIRE(t->sum == members * (members + 1) / 2, "an all-reduce beside gave %d", t->sum);
    if (t->count > t->is_nonblocking) compare(t->received, sizeof t->received, t->message * 64 + (uint64_t)t->before);
}

static int value(uint64_t message, int at)
{
    uint64_t state = message << 32 | (uint32_t)at;
    return (int)draw(&state);
}

/* One broadcast; every rank draws its own datatype. */
static void one(MPI_Comm comm, int root, int ints, int kind, uint64_t message)
{
    static unsigned char *buffer, *described;
    static size_t room;
    if (room < shape_room(ints)) {
        room = shape_room(ints);
        buffer = realloc(buffer, room), described = realloc(described, room);
        REQUIRE(buffer && described, "no memory");
    }
    shape s = shape_make(kind, ints, buffer, message);
    int me;
    MPI_Comm_rank(comm, &me);
    memset(buffer, GUARD, s.room);
    memset(described, 0, s.room);
    for (int at = 0; at < ints; at++) {
        const int now = me == root ? value(message, at) : -1;
        memcpy(buffer + s.place[at], &now, 4);
        memset(described + s.place[at], 1, 4);
    }
    MPI_Bcast(s.address, s.count, s.type, root, comm);
    for (int at = 0; at < ints; at++) {
        int now;
        memcpy(&now, buffer + s.place[at], 4);
        REQUIRE(now == value(message, at), "message %llu from %d, datatype %d: int %d of %d",
                (unsigned long long)message, root, kind, at, ints);
    }
    for (size_t at = 0; at < s.room; at++)
        REQUIRE(described[at] || buffer[at] == GUARD, "message %llu, datatype %d: byte %zu is no part of it",
                (unsigned long long)message, kind, at);
    shape_free(&s);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const int count = argc > 1 ? atoi(argv[1]) : 300;
    const uint64_t largest = argc > 2 ? strtoull(argv[2], NULL, 10) : 400000;
    const uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    uint64_t shared = seed, own;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    own = seed ^ (uint64_t)(rank + 1) << 40;
    MPI_Comm comms[COMMS] = {0};
    for (int at = 0; at < COMMS; at++) comms[at] = comm_make(at, seed + (uint64_t)at);

    int magnitudes = 1;
    while (UINT64_C(1) << magnitudes < largest / 4) magnitudes++;
    for (int message = 1; message <= count; message++) {
        const int kind = (int)(draw(&shared) % (COMMS + 1));
        const uint64_t root = draw(&shared), beside = draw(&shared), magnitude = draw(&shared), length = draw(&shared);
        const int renew = draw(&shared) % 50 == 0;
        MPI_Comm comm = kind == COMMS ? MPI_COMM_WORLD : comms[kind];
        const int mine = (int)(draw(&own) % SHAPES);
        if (comm != MPI_COMM_NULL) {
            /* As many short messages as long ones; one in sixteen has no bytes. */
            uint64_t top = UINT64_C(1) << magnitude % (uint64_t)(magnitudes + 1);
            int ints = magnitude >> 40 & 15 ? (int)(length % (top + 1)) : 0, members;
            if ((uint64_t)ints > largest / 4) ints = (int)(largest / 4);
            MPI_Comm_size(comm, &members);
            traffic t;
            traffic_begin(&t, comm, (int)(beside % 16), (uint64_t)message);
            one(comm, (int)(root % (uint64_t)members), ints, ints < 2 ? 0 : mine, (uint64_t)message);
            traffic_end(&t, comm);
        }
        if (renew && kind < COMMS) {
            if (comm != MPI_COMM_NULL) MPI_Comm_free(&comms[kind]);
            comms[kind] = comm_make(kind, seed + (uint64_t)message);
        }
    }
    for (int at = 0; at < COMMS; at++)
        if (comms[at] != MPI_COMM_NULL) MPI_Comm_free(&comms[at]);
    if (rank == 0) printf("ok %d broadcasts\n", count);
    MPI_Finalize();
    return 0;
}
