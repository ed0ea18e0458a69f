/* Saved states with some bytes changed. */
#ifndef CZ_FORGED_H
#define CZ_FORGED_H

#include <stdint.h>
#include <string.h>

static inline uint64_t draw(void) {
    static uint64_t drawn = 1;
    drawn = drawn * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return drawn >> 33;
}

/* Overwrite some bytes, as often of the last ones, where counters lie, as of any: with ones, zeros, or a small or a drawn
 * number. */
static inline void forge(unsigned char *data, size_t size) {
    size_t length = (size_t)1 << draw() % 6, last = size < 1600 ? size : 1600;
    size_t at = draw() % 2 ? size - 4 * (1 + (size_t)draw() % (last / 4)) : 4 * ((size_t)draw() % (size / 4));
    length = length > size - at ? size - at : length;
    switch (draw() % 4) {
    case 0:
        memset(data + at, 0xff, length);
        break;
    case 1:
        memset(data + at, 0, length);
        break;
    case 2:
        data[at] = (unsigned char)(data[at] + 1 + draw() % 9);
        break;
    default:
        memset(data + at, (int)(draw() & 0x7f), length);
    }
}

#endif
