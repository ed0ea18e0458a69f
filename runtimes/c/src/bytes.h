/* Numbers in saved states, little-endian on every machine. `at` is NULL where only the size is asked for. */
#ifndef CZ_BYTES_H
#define CZ_BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct cz_writer {
    unsigned char *at;
    size_t size; /* written so far */
} cz_writer;

typedef struct cz_bytes {
    const unsigned char *at;
    size_t left;
    bool failed; /* more was asked for than there is */
} cz_bytes;

static inline void cz_put(cz_writer *out, uint64_t value, int bytes) {
    for (int i = 0; out->at && i < bytes; i++)
        out->at[out->size + (size_t)i] = (unsigned char)(value >> (8 * i));
    out->size += (size_t)bytes;
}

static inline void cz_put_bytes(cz_writer *out, const void *from, size_t n) {
    if (out->at && n)
        memcpy(out->at + out->size, from, n);
    out->size += n;
}

static inline uint64_t cz_take(cz_bytes *in, int bytes) {
    uint64_t value = 0;
    if (in->left < (size_t)bytes)
        in->failed = true;
    if (in->failed)
        return 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)in->at[i] << (8 * i);
    in->at += bytes;
    in->left -= (size_t)bytes;
    return value;
}

static inline const unsigned char *cz_take_bytes(cz_bytes *in, size_t n) {
    if (in->left < n)
        in->failed = true;
    if (in->failed)
        return NULL;
    const unsigned char *found = in->at;
    in->at += n;
    in->left -= n;
    return found;
}

#endif
