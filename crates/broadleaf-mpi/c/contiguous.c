/* Is the memory of an element already its packed form: one run of bytes without gaps, in the order of the type?
 *
 * Equal size and extent are not enough, since a type may name its parts out of order. So the type is decoded by its
 * constructors. A type that cannot be decoded counts as scattered, which is always correct and only costs a copy. The
 * result is cached on the type. */
#include "contiguous.h"

#include <stddef.h>

#include "engine.h"

static int keyval = MPI_KEYVAL_INVALID;
static char scattered_mark, run_mark;

/* Consecutive bytes [first, first + bytes) from the element's address, in type order. */
typedef struct {
    int is_run;
    MPI_Aint first, bytes;
} run;

static const run nothing = {1, 0, 0}, scattered = {0, 0, 0};

static run then(run so_far, run next)
{
    if (!so_far.is_run || !next.is_run) return scattered;
    if (next.bytes == 0) return so_far;
    if (so_far.bytes == 0) return next;
    if (next.first != so_far.first + so_far.bytes) return scattered;
    so_far.bytes += next.bytes;
    return so_far;
}

static run moved(run piece, MPI_Aint by)
{
    piece.first += by;
    return piece;
}

static run repeated(run piece, MPI_Aint count, MPI_Aint stride)
{
    if (!piece.is_run || count == 0 || piece.bytes == 0) return count == 0 ? nothing : piece;
    if (count > 1 && stride != piece.bytes) return scattered;
    piece.bytes *= count;
    return piece;
}

/* How a type was made. */
typedef struct {
    int combiner;
    int int_count, address_count, type_count;
    int large; /* made with counts that the plain query cannot give */
    int *ints;
    MPI_Aint *addresses;
    MPI_Datatype *types;
} recipe;

static int read_envelope(MPI_Datatype type, recipe *recipe)
{
#ifdef BROADLEAF_HAVE_BCAST_C
    if (bl_mpi.Type_get_envelope_c != NULL) {
        MPI_Count ints, addresses, large, types;
        int error = bl_mpi.Type_get_envelope_c(type, &ints, &addresses, &large, &types, &recipe->combiner);
        recipe->int_count = (int)ints;
        recipe->address_count = (int)addresses;
        recipe->type_count = (int)types;
        recipe->large = large > 0;
        return error;
    }
#endif
    recipe->large = 0;
    return bl_mpi.Type_get_envelope(type, &recipe->int_count, &recipe->address_count, &recipe->type_count,
                                  &recipe->combiner);
}

static int is_basic(int combiner)
{
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

static int run_of(MPI_Datatype type, run *found);

static int read_contents(MPI_Datatype type, recipe *recipe)
{
    recipe->ints = bl_resize(NULL, (size_t)(recipe->int_count + 1) * sizeof *recipe->ints);
    recipe->addresses = bl_resize(NULL, (size_t)(recipe->address_count + 1) * sizeof *recipe->addresses);
    recipe->types = bl_resize(NULL, (size_t)(recipe->type_count + 1) * sizeof *recipe->types);
    if (recipe->ints == NULL || recipe->addresses == NULL || recipe->types == NULL) {
        recipe->type_count = 0;
        return MPI_ERR_NO_MEM;
    }
    int error = bl_mpi.Type_get_contents(type, recipe->int_count, recipe->address_count, recipe->type_count,
                                       recipe->ints, recipe->addresses, recipe->types);
    if (error != MPI_SUCCESS) recipe->type_count = 0;
    return error;
}

static void forget(recipe *made_from)
{
    for (int at = 0; at < made_from->type_count; at++) {
        recipe inner;
        if (read_envelope(made_from->types[at], &inner) == MPI_SUCCESS && !is_basic(inner.combiner))
            bl_mpi.Type_free(&made_from->types[at]);
    }
    bl_release(made_from->ints);
    bl_release(made_from->addresses);
    bl_release(made_from->types);
}

/* `lengths[i]` elements at `offsets[i]`: in bytes, or in `unit`s of bytes. One length stands for all where
 * `lengths_step` is 0. */
static run blocks(run element, MPI_Aint extent, int count, const int *lengths, int lengths_step,
                  const int *unit_offsets, const MPI_Aint *byte_offsets)
{
    run so_far = nothing;
    for (int at = 0; at < count && so_far.is_run; at++) {
        MPI_Aint offset = unit_offsets != NULL ? unit_offsets[at] * extent : byte_offsets[at];
        so_far = then(so_far, moved(repeated(element, lengths[at * lengths_step], extent), offset));
    }
    return so_far;
}

static int run_of_struct(const recipe *recipe, run *found)
{
    *found = nothing;
    for (int at = 0; at < recipe->ints[0] && found->is_run; at++) {
        run element;
        MPI_Aint lb, extent;
        int error = run_of(recipe->types[at], &element);
        if (error == MPI_SUCCESS) error = bl_mpi.Type_get_extent(recipe->types[at], &lb, &extent);
        if (error != MPI_SUCCESS) return error;
        *found = then(*found, moved(repeated(element, recipe->ints[1 + at], extent), recipe->addresses[at]));
    }
    return MPI_SUCCESS;
}

static int run_of_recipe(const recipe *recipe, run *found)
{
    if (recipe->combiner == MPI_COMBINER_STRUCT) return run_of_struct(recipe, found);
    *found = scattered;
    if (recipe->type_count != 1) return MPI_SUCCESS;
    run element;
    MPI_Aint lb, extent;
    int error = run_of(recipe->types[0], &element);
    if (error == MPI_SUCCESS) error = bl_mpi.Type_get_extent(recipe->types[0], &lb, &extent);
    if (error != MPI_SUCCESS) return error;
    const int *ints = recipe->ints;
    const MPI_Aint *addresses = recipe->addresses;
    int count = recipe->int_count > 0 ? ints[0] : 0;
    switch (recipe->combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED: *found = element; break;
    case MPI_COMBINER_CONTIGUOUS: *found = repeated(element, count, extent); break;
    case MPI_COMBINER_VECTOR:
        *found = repeated(repeated(element, ints[1], extent), count, ints[2] * extent);
        break;
    case MPI_COMBINER_HVECTOR:
        *found = repeated(repeated(element, ints[1], extent), count, addresses[0]);
        break;
    case MPI_COMBINER_INDEXED:
        *found = blocks(element, extent, count, ints + 1, 1, ints + 1 + count, NULL);
        break;
    case MPI_COMBINER_HINDEXED:
        *found = blocks(element, extent, count, ints + 1, 1, NULL, addresses);
        break;
    case MPI_COMBINER_INDEXED_BLOCK:
        *found = blocks(element, extent, count, ints + 1, 0, ints + 2, NULL);
        break;
    case MPI_COMBINER_HINDEXED_BLOCK:
        *found = blocks(element, extent, count, ints + 1, 0, NULL, addresses);
        break;
    default: break;
    }
    return MPI_SUCCESS;
}

static int run_of(MPI_Datatype type, run *found)
{
    recipe recipe = {0};
    *found = scattered;
    int error = read_envelope(type, &recipe);
    if (error != MPI_SUCCESS || recipe.large) return error;
    if (is_basic(recipe.combiner)) {
        /* MPI_SHORT_INT and similar types have gaps; no basic type is out of order. */
        MPI_Aint first, span;
        MPI_Count size;
        error = bl_mpi.Type_get_true_extent(type, &first, &span);
        if (error == MPI_SUCCESS) error = bl_mpi.Type_size_x(type, &size);
        if (error == MPI_SUCCESS && (MPI_Aint)size == span) *found = (run){1, first, span};
        return error;
    }
    error = read_contents(type, &recipe);
    if (error == MPI_SUCCESS) error = run_of_recipe(&recipe, found);
    forget(&recipe);
    return error;
}

int bl_contiguous_start(void)
{
    return bl_mpi.Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &keyval, NULL);
}

void bl_contiguous_finish(void)
{
    if (keyval != MPI_KEYVAL_INVALID) bl_mpi.Type_free_keyval(&keyval);
}

static int remembered_run(MPI_Datatype type, int *is_run)
{
    char *mark;
    int cached;
    recipe recipe;
    run found;
    int error = bl_mpi.Type_get_attr(type, keyval, &mark, &cached);
    if (error != MPI_SUCCESS) return error;
    if (cached) {
        *is_run = mark == &run_mark;
        return MPI_SUCCESS;
    }
    error = run_of(type, &found);
    *is_run = found.is_run;
    if (error == MPI_SUCCESS) error = read_envelope(type, &recipe);
    /* Basic types need no further decoding. */
    if (error != MPI_SUCCESS || is_basic(recipe.combiner)) return error;
    return bl_mpi.Type_set_attr(type, keyval, found.is_run ? &run_mark : &scattered_mark);
}

/* The types of most broadcasts: elements are contiguous from the address on. */
static int is_plain(MPI_Datatype type)
{
    return type == MPI_BYTE || type == MPI_CHAR || type == MPI_INT || type == MPI_FLOAT || type == MPI_DOUBLE ||
           type == MPI_LONG || type == MPI_UNSIGNED || type == MPI_UNSIGNED_CHAR || type == MPI_UINT64_T ||
           type == MPI_INT64_T;
}

/* `first`: where the run starts, from the address the program gave. */
int bl_in_place(MPI_Count count, MPI_Datatype type, MPI_Aint *first, int *in_place)
{
    if (is_plain(type)) {
        *first = 0;
        *in_place = 1;
        return MPI_SUCCESS;
    }
    MPI_Aint lb, extent, span;
    int error = remembered_run(type, in_place);
    if (error != MPI_SUCCESS || !*in_place) return error;
    error = bl_mpi.Type_get_true_extent(type, first, &span);
    if (error == MPI_SUCCESS) error = bl_mpi.Type_get_extent(type, &lb, &extent);
    /* Elements lie one behind the other only where the extent is the run's own length. */
    if (count > 1 && extent != span) *in_place = 0;
    return error;
}
