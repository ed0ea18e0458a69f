/* Counts of reads and writes by key (segments, or blocks) in the last buckets of requests. */
#ifndef CZ_HISTORY_KEYS_H
#define CZ_HISTORY_KEYS_H

#include "bytes.h"
#include "internal.h"

#define CZ_MOST_KEYS (1 << 28)
#define CZ_MAX_WINDOWS 64
#define CZ_MAX_COUNT 65535        /* counts of a bucket stop here */
#define CZ_MAX_FEATURE (1u << 22) /* features stop here: float32 holds them and the halves between them */

typedef struct cz_windows {
    int32_t count;
    int32_t length[CZ_MAX_WINDOWS]; /* buckets, rising; the last is the depth of the rings */
} cz_windows;

typedef struct cz_keys cz_keys;

/* A table of at most `most` keys; all its memory is allocated here. */
int cz_keys_new(const cz_windows *windows, int64_t most, cz_keys **keys);
void cz_keys_free(cz_keys *keys);
/* Add the counts of the keys first, first + 1, … to sums[2 * windows] (reads, then writes), which stop at
 * CZ_MAX_FEATURE; then count an access of the bucket in each. */
void cz_keys_access(cz_keys *keys, int64_t first, int64_t n, int64_t bucket, int op, uint32_t *sums);

int64_t cz_keys_count(const cz_keys *keys);
uint64_t cz_keys_forgotten(const cz_keys *keys); /* keys that went for room, whose counts had not aged out */
size_t cz_keys_bytes(const cz_keys *keys);
void cz_keys_save(const cz_keys *keys, cz_writer *out);
bool cz_keys_restore(cz_keys *keys, cz_bytes *in, int64_t latest); /* into a new table; no bucket is after `latest` */

#endif
