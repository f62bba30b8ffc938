/* The same message under many datatypes: every rank describes its memory in another way of equal signature, and
 * the bytes between the described ones must stay unchanged. Every rank is root in turn. */
#include "check.h"

#define ELEMENTS 60000 /* ints, so 240 kB packed */
#define GUARD 0xA5

typedef struct {
    const char *name;
    MPI_Datatype type;
    int count;
    MPI_Aint start;  /* from the buffer's beginning to the address that is passed to MPI */
    MPI_Aint *place; /* of every int in the buffer, in the order of the message */
} shape;

static MPI_Aint *places(void)
{
    MPI_Aint *place = malloc(ELEMENTS * sizeof *place);
    REQUIRE(place != NULL, "no memory");
    return place;
}

static shape contiguous(void)
{
    shape shape = {"contiguous", MPI_INT, ELEMENTS, 0, places()};
    for (int i = 0; i < ELEMENTS; i++) shape.place[i] = 4 * i;
    return shape;
}

/* One element that stands for all, made of nested contiguous types. */
static shape nested(void)
{
    shape shape = {"nested", MPI_DATATYPE_NULL, 6, 0, places()};
    MPI_Datatype inner, dup;
    MPI_Type_contiguous(100, MPI_INT, &inner);
    MPI_Type_dup(inner, &dup);
    MPI_Type_vector(ELEMENTS / 600, 1, 1, dup, &shape.type);
    MPI_Type_free(&inner);
    MPI_Type_free(&dup);
    for (int i = 0; i < ELEMENTS; i++) shape.place[i] = 4 * i;
    return shape;
}

/* Two of every three ints. */
static shape gaps(void)
{
    shape shape = {"gaps", MPI_DATATYPE_NULL, ELEMENTS / 200, 0, places()};
    MPI_Datatype vector;
    MPI_Type_vector(100, 2, 3, MPI_INT, &vector);
    MPI_Type_create_resized(vector, 0, 1200, &shape.type);
    MPI_Type_free(&vector);
    for (int i = 0; i < ELEMENTS; i++) shape.place[i] = i / 200 * 1200 + i % 200 / 2 * 12 + i % 2 * 4;
    return shape;
}

/* Pairs in swapped order: no gap, size equals extent, and yet not one run. */
static shape swapped(void)
{
    shape shape = {"swapped", MPI_DATATYPE_NULL, ELEMENTS / 2, 0, places()};
    int lengths[] = {1, 1}, offsets[] = {1, 0};
    MPI_Type_indexed(2, lengths, offsets, MPI_INT, &shape.type);
    for (int i = 0; i < ELEMENTS; i++) shape.place[i] = 4 * (i ^ 1);
    return shape;
}

/* Elements that begin before their address: a negative lower bound. */
static shape negative(void)
{
    shape shape = {"negative", MPI_DATATYPE_NULL, ELEMENTS / 2, 8, places()};
    int lengths[] = {1, 1};
    MPI_Aint offsets[] = {-8, -4};
    MPI_Type_create_hindexed(2, lengths, offsets, MPI_INT, &shape.type);
    for (int i = 0; i < ELEMENTS; i++) shape.place[i] = 4 * i;
    return shape;
}

/* Elements that are laid from the end to the beginning: a negative extent. */
static shape backwards(void)
{
    shape shape = {"backwards", MPI_DATATYPE_NULL, ELEMENTS, 4 * (ELEMENTS - 1), places()};
    MPI_Type_create_resized(MPI_INT, 0, -4, &shape.type);
    for (int i = 0; i < ELEMENTS; i++) shape.place[i] = 4 * (ELEMENTS - 1 - i);
    return shape;
}

/* Absolute addresses under MPI_BOTTOM, in two blocks; `start` is not used. */
static shape bottom(unsigned char *buffer)
{
    shape shape = {"bottom", MPI_DATATYPE_NULL, 1, -1, places()};
    int lengths[] = {ELEMENTS / 3, ELEMENTS - ELEMENTS / 3};
    MPI_Aint offsets[2];
    MPI_Get_address(buffer + 400, &offsets[0]);
    offsets[1] = offsets[0] + 4 * lengths[0] + 4000;
    MPI_Type_create_hindexed(2, lengths, offsets, MPI_INT, &shape.type);
    for (int i = 0; i < ELEMENTS; i++) shape.place[i] = 400 + 4 * i + (i < lengths[0] ? 0 : 4000);
    return shape;
}

/* A struct of named types with a hole, as a compiler lays it out. */
static shape records(void)
{
    shape shape = {"records", MPI_DATATYPE_NULL, ELEMENTS / 3, 0, places()};
    int lengths[] = {1, 2};
    MPI_Aint offsets[] = {0, 8};
    MPI_Datatype types[] = {MPI_INT, MPI_INT}, packed;
    MPI_Type_create_struct(2, lengths, offsets, types, &packed);
    MPI_Type_create_resized(packed, 0, 16, &shape.type);
    MPI_Type_free(&packed);
    for (int i = 0; i < ELEMENTS; i++) shape.place[i] = i / 3 * 16 + (i % 3 == 0 ? 0 : 4 + i % 3 * 4);
    return shape;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const size_t room = 16 * ELEMENTS;
    unsigned char *buffer = malloc(room), *described = malloc(room);
    REQUIRE(buffer != NULL && described != NULL, "no memory");
    shape shapes[] = {contiguous(), nested(),    gaps(),          swapped(),
                      negative(),   backwards(), bottom(buffer), records()};
    const int kinds = sizeof shapes / sizeof *shapes;
    for (int kind = 0; kind < kinds; kind++)
        if (shapes[kind].type != MPI_INT) MPI_Type_commit(&shapes[kind].type);

    uint64_t message = 0;
    for (int round = 0; round < 2 * kinds; round++) {
        const int root = round % size;
        /* Neighbours differ, and every kind meets every other as the root's. */
        shape *mine = &shapes[(rank * (round / kinds + 1) + round) % kinds];
        message++;
        memset(buffer, GUARD, room);
        memset(described, 0, room);
        for (int i = 0; i < ELEMENTS; i++)
            for (int byte = 0; byte < 4; byte++) {
                if (rank == root) buffer[mine->place[i] + byte] = expected(message, 4 * i + byte);
                described[mine->place[i] + byte] = 1;
            }
        void *address = mine->start < 0 ? MPI_BOTTOM : buffer + mine->start;
        MPI_Bcast(address, mine->count, mine->type, root, MPI_COMM_WORLD);
        for (int i = 0; i < ELEMENTS; i++)
            for (int byte = 0; byte < 4; byte++)
                REQUIRE(buffer[mine->place[i] + byte] == expected(message, 4 * i + byte),
                        "round %d, %s: int %d", round, mine->name, i);
        for (size_t at = 0; at < room; at++)
            REQUIRE(described[at] || buffer[at] == GUARD, "round %d, %s: byte %zu is no part of the message",
                    round, mine->name, at);
    }
    for (int kind = 0; kind < kinds; kind++) {
        if (shapes[kind].type != MPI_INT) MPI_Type_free(&shapes[kind].type);
        free(shapes[kind].place);
    }
    free(buffer);
    free(described);
    if (rank == 0) printf("ok %llu broadcasts\n", (unsigned long long)message);
    MPI_Finalize();
    return 0;
}
