/* Memory that messages are sent from and received into. Messages walk through a buffer that is larger than they
 * are, as those of a long broadcast do; one place used again and again would measure the cache. */
#include "probe.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_BYTES = 16 << 20 };

static unsigned char *buffer;
static size_t size, position;

void bl_buffer_reserve(size_t bytes)
{
    if (bytes < LEAST_BYTES) bytes = LEAST_BYTES;
    if (bytes <= size) return;
    free(buffer);
    buffer = bl_memory(bytes);
    /* Its pages exist before anything is timed. */
    memset(buffer, 1, bytes);
    size = bytes;
    position = 0;
}

unsigned char *bl_buffer_next(size_t bytes)
{
    if (position + bytes > size) position = 0;
    unsigned char *place = buffer + position;
    position += bytes;
    return place;
}
