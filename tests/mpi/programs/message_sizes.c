/* Every count with every size of element, around every power of two and at random, against 128-bit arithmetic: what the
 * library decides of a message, without the message. Needs no MPI.
 *
 *   message_sizes DRAWS */
#include "../../../crates/broadleaf-mpi/c/message_size.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t state = 1;

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t draw(void)
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static const char *const names[] = {"impossible", "none", "small", "planned"};

static void check(int64_t count, int64_t size, uint64_t threshold)
{
    const __int128 product = (__int128)count * size;
    bl_size expected = BL_SIZE_PLANNED;
    if (count < 0 || size < 0 || product > INT64_MAX)
        expected = BL_SIZE_IMPOSSIBLE;
    else if (product == 0)
        expected = BL_SIZE_NONE;
    else if (product < (__int128)threshold)
        expected = BL_SIZE_SMALL;
    uint64_t bytes = 77;
    const bl_size found = bl_size_of(count, size, threshold, &bytes);
    const uint64_t right = expected == BL_SIZE_IMPOSSIBLE ? 77 : (uint64_t)product;
    if (found == expected && bytes == right) return;
    printf("%lld x %lld bytes, threshold %llu: %s of %llu bytes, not %s of %llu\n", (long long)count, (long long)size,
           (unsigned long long)threshold, names[found], (unsigned long long)bytes, names[expected],
           (unsigned long long)right);
    exit(1);
}

/* 2^bit and its neighbours, and what a signed count makes of them. */
static int64_t near(int bit, int by)
{
    return (int64_t)(((uint64_t)1 << bit) + (uint64_t)by);
}

/* As long as any number of bits. */
static int64_t drawn(void)
{
    return (int64_t)(draw() >> (draw() % 64));
}

int main(int argc, char **argv)
{
    const uint64_t thresholds[] = {0, 1, 65536, INT_MAX, UINT_MAX, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX};
    const long draws = argc > 1 ? atol(argv[1]) : 1000000;
    long checked = 0;
    for (int count = 0; count < 64; count++)
        for (int size = 0; size < 64; size++)
            for (int by = 0; by < 9; by++)
                for (int threshold = 0; threshold < 8; threshold++, checked++)
                    check(near(count, by % 3 - 1), near(size, by / 3 - 1), thresholds[threshold]);
    for (long at = 0; at < draws; at++, checked++) check(drawn(), drawn(), (uint64_t)drawn());
    printf("ok %ld\n", checked);
    return 0;
}
