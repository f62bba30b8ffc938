/* Packing by MPI_Pack in turns, and by messages to oneself where an element is too large for it. */
#include "datatypes.h"

#include <limits.h>

#include "message_size.h"

/* Packing takes `int` sizes; more elements than this many bytes are packed in turns. */
#define TURN_BYTES (1 << 30)
/* A type of more bytes than an int counts is made of blocks of this size. */
#define BLOCK_BYTES (1 << 20)

int bl_packed_bytes(MPI_Count count, MPI_Datatype type, uint64_t *bytes)
{
    MPI_Count size;
    int error = bl_mpi.Type_size_x(type, &size);
    if (error != MPI_SUCCESS) return error;
    return bl_size_of(count, size, 0, bytes) == BL_SIZE_IMPOSSIBLE ? MPI_ERR_COUNT : MPI_SUCCESS;
}

typedef struct {
    MPI_Count elements; /* in one turn */
    MPI_Aint extent;
    uint64_t size; /* packed bytes of one element */
} turns;

static int plan_turns(MPI_Count count, MPI_Datatype type, uint64_t bytes, turns *turns)
{
    MPI_Aint lb;
    int error = bl_mpi.Type_get_extent(type, &lb, &turns->extent);
    if (error != MPI_SUCCESS) return error;
    turns->size = bytes / (uint64_t)count;
    turns->elements = (MPI_Count)(TURN_BYTES / turns->size);
    if (turns->elements == 0) turns->elements = 1;
    return MPI_SUCCESS;
}

/* MPICH's argument checks reject the null address of MPI_BOTTOM in MPI_Pack, so packing starts from another address,
 * and the type is shifted back by the same distance. */
static int move_from_bottom(uintptr_t *address, MPI_Datatype *type, int *moved)
{
    static char elsewhere;
    *moved = *address == 0;
    if (!*moved) return MPI_SUCCESS;
    int one = 1;
    MPI_Aint back = -(MPI_Aint)&elsewhere;
    MPI_Datatype given = *type;
    *address = (uintptr_t)&elsewhere;
    int error = bl_mpi.Type_create_hindexed(1, &one, &back, given, type);
    *moved = error == MPI_SUCCESS;
    return error == MPI_SUCCESS ? bl_mpi.Type_commit(type) : error;
}

/* Packed bytes as one element: matches data of every type. */
static int packed_type(uint64_t bytes, MPI_Datatype *type)
{
    MPI_Datatype block, parts[2];
    int error = bl_mpi.Type_contiguous(BLOCK_BYTES, MPI_PACKED, &block);
    if (error != MPI_SUCCESS) return error;
    int lengths[2] = {(int)(bytes / BLOCK_BYTES), (int)(bytes % BLOCK_BYTES)};
    MPI_Aint starts[2] = {0, (MPI_Aint)(bytes - bytes % BLOCK_BYTES)};
    parts[0] = block;
    parts[1] = MPI_PACKED;
    error = bl_mpi.Type_create_struct(2, lengths, starts, parts, type);
    bl_mpi.Type_free(&block);
    return error == MPI_SUCCESS ? bl_mpi.Type_commit(type) : error;
}

/* Packs or unpacks elements of more bytes than an int counts, which MPI_Pack does not support. A message to oneself
 * does: one type sends it, the other receives it. The communicator is private to the call, so that no other thread's
 * message is matched. */
static int copy_huge(int is_packing, uintptr_t data, MPI_Count count, MPI_Datatype type, uintptr_t packed,
                     const turns *turns)
{
    MPI_Datatype whole;
    MPI_Comm self;
    int error = packed_type(turns->size, &whole);
    if (error != MPI_SUCCESS) return error;
    error = bl_mpi.Comm_dup(MPI_COMM_SELF, &self);
    if (error == MPI_SUCCESS) {
        bl_mpi.Comm_set_errhandler(self, MPI_ERRORS_RETURN);
        for (MPI_Count at = 0; error == MPI_SUCCESS && at < count; at++) {
            void *element = (void *)(data + (uintptr_t)(at * turns->extent));
            void *bytes = (void *)(packed + (uint64_t)at * turns->size);
            error = bl_mpi.Sendrecv(is_packing ? element : bytes, 1, is_packing ? type : whole, 0, 0,
                                  is_packing ? bytes : element, 1, is_packing ? whole : type, 0, 0, self,
                                  MPI_STATUS_IGNORE);
        }
        bl_mpi.Comm_free(&self);
    }
    bl_mpi.Type_free(&whole);
    return error;
}

static int pack(uintptr_t data, MPI_Count count, MPI_Datatype type, unsigned char *packed, const turns *turns)
{
    int error = MPI_SUCCESS;
    if (turns->size > INT_MAX) return copy_huge(1, data, count, type, (uintptr_t)packed, turns);
    for (MPI_Count at = 0; error == MPI_SUCCESS && at < count; at += turns->elements) {
        int now = (int)(count - at < turns->elements ? count - at : turns->elements);
        int room = (int)((uint64_t)now * turns->size), used = 0;
        const void *from = (const void *)(data + (uintptr_t)(at * turns->extent));
        error = bl_mpi.Pack(from, now, type, packed + (uint64_t)at * turns->size, room, &used, MPI_COMM_SELF);
        if (error == MPI_SUCCESS && used != room) error = MPI_ERR_INTERN;
    }
    return error;
}

static int unpack(const unsigned char *packed, uintptr_t data, MPI_Count count, MPI_Datatype type,
                  const turns *turns)
{
    int error = MPI_SUCCESS;
    if (turns->size > INT_MAX) return copy_huge(0, data, count, type, (uintptr_t)packed, turns);
    for (MPI_Count at = 0; error == MPI_SUCCESS && at < count; at += turns->elements) {
        int now = (int)(count - at < turns->elements ? count - at : turns->elements);
        int room = (int)((uint64_t)now * turns->size), used = 0;
        void *to = (void *)(data + (uintptr_t)(at * turns->extent));
        error = bl_mpi.Unpack(packed + (uint64_t)at * turns->size, room, &used, to, now, type, MPI_COMM_SELF);
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
    if (moved) bl_mpi.Type_free(&type);
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
    if (moved) bl_mpi.Type_free(&type);
    return error;
}
