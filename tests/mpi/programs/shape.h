/* One message of ints under fifteen kinds of datatype. Every kind has the same type signature, so the ranks of one
 * broadcast may each use another. */
#ifndef SHAPE_H
#define SHAPE_H

#include "check.h"

#define SHAPES 15

typedef struct {
    MPI_Datatype type;
    int count;
    void *address;   /* passed to MPI_Bcast */
    MPI_Aint *place; /* of every int, from the buffer's first byte, in the order of the message */
    size_t room;     /* bytes of the buffer that the elements span, holes included */
    int is_predefined;
} shape;

/* Room for any shape of that many ints. */
static inline size_t shape_room(int ints) { return 16 * (size_t)ints + 64; }

static inline void put_places(shape *shape, int ints, MPI_Aint first, MPI_Aint step)
{
    for (int at = 0; at < ints; at++) shape->place[at] = first + step * at;
}

/* Runs of 1 to 3 ints, with a hole of one int behind each. */
static inline int runs(int ints, uint64_t seed, int *lengths, int *offsets, MPI_Aint *place)
{
    int count = 0, at = 0, offset = 0;
    while (at < ints) {
        int length = 1 + (int)(draw(&seed) % 3);
        if (length > ints - at) length = ints - at;
        lengths[count] = length;
        offsets[count++] = offset;
        for (int in = 0; in < length; in++) place[at++] = 4 * (MPI_Aint)(offset + in);
        offset += length + 1;
    }
    return count;
}

/* `ints` ints in `buffer` (of shape_room), as the kind has it; the type is committed. */
static inline shape shape_make(int kind, int ints, unsigned char *buffer, uint64_t seed)
{
    shape s = {.type = MPI_DATATYPE_NULL, .count = 1, .address = buffer, .room = shape_room(ints)};
    s.place = malloc((size_t)(ints + 1) * sizeof *s.place);
    int *lengths = malloc(2 * (size_t)(ints + 1) * sizeof *lengths), *offsets = lengths + ints + 1;
    MPI_Aint *bytes = malloc((size_t)(ints + 1) * sizeof *bytes);
    REQUIRE(s.place && lengths && bytes, "no memory");
    put_places(&s, ints, 0, 4);
    MPI_Datatype inner;
    switch (kind) {
    case 0: /* predefined */
        s.type = MPI_INT, s.count = ints, s.is_predefined = 1;
        break;
    case 1: /* contiguous, one element for all */
        MPI_Type_contiguous(ints, MPI_INT, &s.type);
        break;
    case 2: /* a duplicate, many elements */
        MPI_Type_dup(MPI_INT, &s.type), s.count = ints;
        break;
    case 3: /* vector: every second int */
        MPI_Type_vector(ints, 1, 2, MPI_INT, &s.type);
        put_places(&s, ints, 0, 8);
        break;
    case 4: /* hvector with a stride that is no multiple of the element */
        MPI_Type_create_hvector(ints, 1, 6, MPI_INT, &s.type);
        put_places(&s, ints, 0, 6);
        break;
    case 5: /* indexed runs with holes */
        MPI_Type_indexed(runs(ints, seed, lengths, offsets, s.place), lengths, offsets, MPI_INT, &s.type);
        break;
    case 6: { /* hindexed runs, the last run first */
        int count = runs(ints, seed, lengths, offsets, s.place);
        for (int at = 0, element = 0; at < count; at++) {
            bytes[at] = 4 * (MPI_Aint)(offsets[count - 1] + lengths[count - 1] - offsets[at] - lengths[at]);
            for (int in = 0; in < lengths[at]; in++) s.place[element++] = bytes[at] + 4 * in;
        }
        MPI_Type_create_hindexed(count, lengths, bytes, MPI_INT, &s.type);
        break;
    }
    case 7: /* indexed block, from the end to the beginning */
        for (int at = 0; at < ints; at++) offsets[at] = ints - 1 - at;
        MPI_Type_create_indexed_block(ints, 1, offsets, MPI_INT, &s.type);
        put_places(&s, ints, 4 * (MPI_Aint)(ints - 1), -4);
        break;
    case 8: /* hindexed block */
        for (int at = 0; at < ints; at++) bytes[at] = 12 * (MPI_Aint)at;
        MPI_Type_create_hindexed_block(ints, 1, bytes, MPI_INT, &s.type);
        put_places(&s, ints, 0, 12);
        break;
    case 9: { /* struct of two fields with a hole between */
        int field[] = {ints / 2, ints - ints / 2};
        MPI_Aint at[] = {0, 4 * (MPI_Aint)(ints / 2) + 20};
        MPI_Datatype types[] = {MPI_INT, MPI_INT};
        MPI_Type_create_struct(2, field, at, types, &s.type);
        for (int i = ints / 2; i < ints; i++) s.place[i] += 20;
        break;
    }
    case 10: /* resized: an int in every sixteen bytes */
        MPI_Type_create_resized(MPI_INT, 0, 16, &s.type), s.count = ints;
        put_places(&s, ints, 0, 16);
        break;
    case 11: { /* the middle column of a matrix of three */
        int sizes[] = {ints, 3}, part[] = {ints, 1}, starts[] = {0, 1};
        MPI_Type_create_subarray(2, sizes, part, starts, MPI_ORDER_C, MPI_INT, &s.type);
        put_places(&s, ints, 4, 12);
        break;
    }
    case 12: { /* absolute addresses */
        MPI_Aint first;
        MPI_Get_address(buffer + 32, &first);
        MPI_Type_create_hindexed(1, &ints, &first, MPI_INT, &s.type);
        s.address = MPI_BOTTOM;
        put_places(&s, ints, 32, 4);
        break;
    }
    case 13: /* a negative extent */
        MPI_Type_create_resized(MPI_INT, 0, -4, &s.type), s.count = ints;
        s.address = buffer + 4 * (size_t)(ints - 1);
        put_places(&s, ints, 4 * (MPI_Aint)(ints - 1), -4);
        break;
    default: { /* elements before their address: a negative lower bound */
        int one = 1;
        MPI_Aint back = -16;
        MPI_Type_create_hindexed(1, &one, &back, MPI_INT, &inner);
        MPI_Type_create_resized(inner, -16, 8, &s.type), s.count = ints;
        MPI_Type_free(&inner);
        s.address = buffer + 16;
        put_places(&s, ints, 0, 8);
    }
    }
    free(lengths);
    free(bytes);
    if (!s.is_predefined) MPI_Type_commit(&s.type);
    return s;
}

static inline void shape_free(shape *s)
{
    if (!s->is_predefined) MPI_Type_free(&s->type);
    free(s->place);
}

#endif
