/* A malloc that fails once, for a given number of bytes. */
#ifndef STARVED_H
#define STARVED_H

#include <stddef.h>

extern void *__libc_malloc(size_t bytes);
/* Whether the next allocation of `starved_bytes` fails. */
static int is_starved;
static size_t starved_bytes;

void *malloc(size_t bytes)
{
    int starved = 1;
    if (bytes == starved_bytes &&
        __atomic_compare_exchange_n(&is_starved, &starved, 0, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        return NULL;
    return __libc_malloc(bytes);
}

#endif
