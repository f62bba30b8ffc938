/* Any (address, count, datatype) as packed bytes. Ranks of one broadcast may pass different pairs of equal
 * signature, so the packed form is the only one they share. */
#include "runtime.h"

#include <limits.h>

/* Packing takes `int` sizes; more elements than this many bytes are packed in turns. */
#define TURN_BYTES (1 << 30)

int bl_packed_bytes(MPI_Count count, MPI_Datatype type, uint64_t *bytes)
{
    MPI_Count size;
    int error = PMPI_Type_size_x(type, &size);
    if (error != MPI_SUCCESS) return error;
    if (count < 0 || size < 0) return MPI_ERR_COUNT;
    if (__builtin_mul_overflow((uint64_t)count, (uint64_t)size, bytes)) return MPI_ERR_COUNT;
    return MPI_SUCCESS;
}

typedef struct {
    MPI_Count elements; /* in one turn */
    MPI_Aint extent;
    uint64_t size; /* packed bytes of one element */
} turns;

static int plan_turns(MPI_Count count, MPI_Datatype type, uint64_t bytes, turns *turns)
{
    MPI_Aint lb;
    int error = PMPI_Type_get_extent(type, &lb, &turns->extent);
    if (error != MPI_SUCCESS) return error;
    turns->size = bytes / (uint64_t)count;
    /* An element beyond what an int can count. MPI_Pack cannot say it; its callers then get an error, not
     * wrong data. */
    if (turns->size > INT_MAX) return MPI_ERR_COUNT;
    turns->elements = (MPI_Count)(TURN_BYTES / turns->size);
    if (turns->elements == 0) turns->elements = 1;
    return MPI_SUCCESS;
}

/* MPICH's checks take the null address of MPI_BOTTOM for a mistake when they pack, so packing under it starts from
 * another address, and the type is moved back by as much. */
static int move_from_bottom(uintptr_t *address, MPI_Datatype *type, int *moved)
{
    static char elsewhere;
    *moved = *address == 0;
    if (!*moved) return MPI_SUCCESS;
    int one = 1;
    MPI_Aint back = -(MPI_Aint)&elsewhere;
    MPI_Datatype given = *type;
    *address = (uintptr_t)&elsewhere;
    int error = PMPI_Type_create_hindexed(1, &one, &back, given, type);
    *moved = error == MPI_SUCCESS;
    return error == MPI_SUCCESS ? PMPI_Type_commit(type) : error;
}

static int pack(uintptr_t data, MPI_Count count, MPI_Datatype type, unsigned char *packed, const turns *turns)
{
    int error = MPI_SUCCESS;
    for (MPI_Count at = 0; error == MPI_SUCCESS && at < count; at += turns->elements) {
        int now = (int)(count - at < turns->elements ? count - at : turns->elements);
        int room = (int)((uint64_t)now * turns->size), used = 0;
        const void *from = (const void *)(data + (uintptr_t)(at * turns->extent));
        error = PMPI_Pack(from, now, type, packed + (uint64_t)at * turns->size, room, &used, MPI_COMM_SELF);
        if (error == MPI_SUCCESS && used != room) error = MPI_ERR_INTERN;
    }
    return error;
}

static int unpack(const unsigned char *packed, uintptr_t data, MPI_Count count, MPI_Datatype type,
                  const turns *turns)
{
    int error = MPI_SUCCESS;
    for (MPI_Count at = 0; error == MPI_SUCCESS && at < count; at += turns->elements) {
        int now = (int)(count - at < turns->elements ? count - at : turns->elements);
        int room = (int)((uint64_t)now * turns->size), used = 0;
        void *to = (void *)(data + (uintptr_t)(at * turns->extent));
        error = PMPI_Unpack(packed + (uint64_t)at * turns->size, room, &used, to, now, type, MPI_COMM_SELF);
        if (error == MPI_SUCCESS && used != room) error = MPI_ERR_INTERN;
    }
    return error;
}

int bl_pack(const void *data, MPI_Count count, MPI_Datatype type, unsigned char *packed, uint64_t bytes)
{
    turns turns;
    int moved = 0;
    uintptr_t address = (uintptr_t)data;
    int error = plan_turns(count, type, bytes, &turns);
    if (error == MPI_SUCCESS) error = move_from_bottom(&address, &type, &moved);
    if (error == MPI_SUCCESS) error = pack(address, count, type, packed, &turns);
    if (moved) PMPI_Type_free(&type);
    return error;
}

int bl_unpack(const unsigned char *packed, uint64_t bytes, void *data, MPI_Count count, MPI_Datatype type)
{
    turns turns;
    int moved = 0;
    uintptr_t address = (uintptr_t)data;
    int error = plan_turns(count, type, bytes, &turns);
    if (error == MPI_SUCCESS) error = move_from_bottom(&address, &type, &moved);
    if (error == MPI_SUCCESS) error = unpack(packed, address, count, type, &turns);
    if (moved) PMPI_Type_free(&type);
    return error;
}
