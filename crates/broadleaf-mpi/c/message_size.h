/* Size classes of messages, identical on all ranks. No MPI call is used, so that a test can try every size without
 * the memory. */
#ifndef BROADLEAF_MESSAGE_SIZE_H
#define BROADLEAF_MESSAGE_SIZE_H

#include <stdint.h>

typedef enum {
    BL_SIZE_IMPOSSIBLE, /* negative, or more than the 2^63 - 1 bytes that MPI can describe: the MPI refuses it */
    BL_SIZE_NONE,       /* no bytes */
    BL_SIZE_SMALL,      /* fewer than the threshold */
    BL_SIZE_PLANNED,
} bl_size;

/* Of `count` elements of `size` packed bytes; *bytes is set where there can be such a message. */
static inline bl_size bl_size_of(int64_t count, int64_t size, uint64_t threshold, uint64_t *bytes)
{
    int64_t product;
    if (count < 0 || size < 0 || __builtin_mul_overflow(count, size, &product)) return BL_SIZE_IMPOSSIBLE;
    *bytes = (uint64_t)product;
    if (*bytes == 0) return BL_SIZE_NONE;
    return *bytes < threshold ? BL_SIZE_SMALL : BL_SIZE_PLANNED;
}

#endif
