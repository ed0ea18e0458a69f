/* A bundle as one .zip. There is one such archive of its files: stored, ordered, without dates. So it is not searched
 * for what it holds: it is read from its beginning, and each header must be the only one that is possible there. */
#include <stdlib.h>
#include <string.h>

#include "store.h"

#define LOCAL 30
#define CENTRAL 46
#define END 22
#define MOST_ENTRIES 65535

typedef struct archive {
    const unsigned char *data;
    size_t size, at;
} archive;

static uint32_t number(const unsigned char *at, int bytes) {
    uint32_t value = 0;
    for (int i = bytes - 1; i >= 0; i--)
        value = value << 8 | at[i];
    return value;
}

static unsigned char *put(unsigned char *at, uint32_t value, int bytes) {
    for (int i = 0; i < bytes; i++)
        *at++ = (unsigned char)(value >> (8 * i));
    return at;
}

static uint32_t crc32_of(const unsigned char *data, size_t size) {
    uint32_t table[256], crc = 0xffffffff;
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++)
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320 : 0);
    }
    for (size_t i = 0; i < size; i++)
        crc = crc >> 8 ^ table[(crc ^ data[i]) & 0xff];
    return ~crc;
}

/* What both headers of a file hold: version 2.0, no flags, stored, 1980-01-01, sums and lengths. */
static unsigned char *common(unsigned char *at, uint32_t crc, uint32_t size, uint32_t name) {
    at = put(at, 20, 2);
    at = put(at, 0, 2);
    at = put(at, 0, 2);
    at = put(at, 0x210000, 4);
    at = put(at, crc, 4);
    at = put(at, size, 4);
    at = put(at, size, 4);
    at = put(at, name, 2);
    return put(at, 0, 2);
}

static bool same(archive *in, const void *wanted, size_t size) {
    if (in->size - in->at < size || memcmp(in->data + in->at, wanted, size) != 0)
        return false;
    in->at += size;
    return true;
}

/* One file, from its header on; names rise, so none is there twice. */
static int read_file(archive *in, cz_store *store, bool *good, cz_error *error) {
    unsigned char header[LOCAL];
    size_t left = in->size - in->at;
    *good = false;
    if (left < LOCAL)
        return CZ_OK;
    const unsigned char *at = in->data + in->at;
    uint32_t size = number(at + 18, 4), length = number(at + 26, 2);
    if (length == 0 || length > left - LOCAL || size > left - LOCAL - length)
        return CZ_OK;
    const char *name = (const char *)at + LOCAL;
    const unsigned char *body = at + LOCAL + length;
    common(put(header, 0x04034b50, 4), crc32_of(body, size), size, length);
    if (!same(in, header, LOCAL) || memchr(name, 0, length))
        return CZ_OK;
    in->at += length + size;
    unsigned char *data = malloc((size_t)size + 1);
    if (!data)
        return cz_fail(error, CZ_NO_MEMORY, "%s: no memory to read it", store->where);
    memcpy(data, body, size);
    int result = cz_store_add(store, name, length, data, size, error);
    size_t last = store->count - 1;
    *good = !result && (last == 0 || strcmp(store->entries[last - 1].path, store->entries[last].path) < 0);
    return result;
}

static bool same_directory(archive *in, const cz_store *store) {
    size_t first = in->at, place = 0;
    for (size_t i = 0; i < store->count; i++) {
        const cz_entry *entry = &store->entries[i];
        unsigned char header[CENTRAL];
        size_t length = strlen(entry->path), size = (size_t)entry->size;
        unsigned char *at = put(put(header, 0x02014b50, 4), 0x0314, 2); /* of Unix, 2.0 */
        at = common(at, crc32_of(entry->data, size), (uint32_t)size, (uint32_t)length);
        at = put(put(put(at, 0, 2), 0, 2), 0, 2);
        put(put(at, (uint32_t)0100644 << 16, 4), (uint32_t)place, 4);
        if (!same(in, header, CENTRAL) || !same(in, entry->path, length))
            return false;
        place += LOCAL + length + size;
    }
    unsigned char end[END];
    unsigned char *at = put(put(end, 0x06054b50, 4), 0, 4);
    at = put(put(at, (uint32_t)store->count, 2), (uint32_t)store->count, 2);
    at = put(put(at, (uint32_t)(in->at - first), 4), (uint32_t)first, 4);
    put(at, 0, 2);
    return same(in, end, END) && in->at == in->size;
}

int cz_zip_read(const unsigned char *data, size_t size, cz_store *store, cz_error *error) {
    archive in = {.data = data, .size = size};
    bool good = size >= END && size <= CZ_MOST_FILE;
    while (good && in.size - in.at >= 4 && number(in.data + in.at, 4) == 0x04034b50 && store->count < MOST_ENTRIES) {
        int result = read_file(&in, store, &good, error);
        if (result)
            return result;
    }
    if (good && same_directory(&in, store))
        return CZ_OK;
    return cz_refuse(store->where, error, "unpack it and load the folder, or export it again",
                     "not a readable zip, or not the one archive of its files");
}
