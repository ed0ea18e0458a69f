/* Counts by key. A key has a record: its sums over each window stand ready, so that a key that is used again in the
 * same bucket is read in one cache line; only when buckets have passed are they added up again from the ring of counts.
 * Keys are found by open addressing. Neighbours stand beside each other in the table, since a request's segments follow
 * one another. Keys are linked in the order of their last use, so that the one unused longest goes when all are taken.
 */
#include <stdlib.h>
#include <string.h>

#include "history_keys.h"

#define NONE UINT32_MAX
#define AHEAD 16   /* keys whose memory is asked for at once */
#define RUN_BITS 3 /* keys of a run of so many (as a power of two) share a cache line of the table */
#define HELD 512   /* keys of a request whose place is held from reading to counting */

typedef struct slot {
    uint32_t id; /* of the record + 1; 0 is free */
    uint32_t tag;
} slot;

typedef struct link {
    uint32_t newer, older;
} link;

typedef struct record {
    int64_t key, newest; /* newest: the bucket it was last counted in */
    uint32_t sums[];     /* [2][windows] of the buckets up to `newest` */
} record;

struct cz_keys {
    cz_windows windows;
    uint32_t most, count, mask;
    int32_t depth;
    size_t record_bytes;
    uint64_t forgotten;
    slot *slots;
    link *links; /* most + 1: the last links the newest and the oldest */
    unsigned char *records;
    uint16_t *rings; /* [most][2][depth] */
    void *blocks[4]; /* what was allocated for these */
};

static record *record_of(const cz_keys *keys, uint32_t id) {
    return (record *)(void *)(keys->records + (size_t)id * keys->record_bytes);
}

static uint16_t *ring_of(const cz_keys *keys, uint32_t id) {
    return keys->rings + (size_t)id * 2 * (size_t)keys->depth;
}

/* ---- where a key stands ---- */

static uint32_t tag_of(int64_t key) {
    uint64_t run = (uint64_t)key >> RUN_BITS;
    uint64_t mixed = run * 0x9E3779B97F4A7C15ULL;
    mixed ^= mixed >> 32;
    return (uint32_t)(mixed ^ mixed >> 16) << RUN_BITS | ((uint32_t)key & ((1u << RUN_BITS) - 1));
}

static uint32_t find(const cz_keys *keys, int64_t key, uint32_t tag) {
    for (uint32_t at = tag & keys->mask; keys->slots[at].id; at = (at + 1) & keys->mask) {
        if (keys->slots[at].tag == tag && record_of(keys, keys->slots[at].id - 1)->key == key)
            return keys->slots[at].id - 1;
    }
    return NONE;
}

static void insert_slot(cz_keys *keys, uint32_t id, uint32_t tag) {
    uint32_t at = tag & keys->mask;
    while (keys->slots[at].id)
        at = (at + 1) & keys->mask;
    keys->slots[at] = (slot){id + 1, tag};
}

/* Free the slot of a record, and move up those behind it that would no longer be found. */
static void free_slot(cz_keys *keys, uint32_t id) {
    uint32_t mask = keys->mask, gap = tag_of(record_of(keys, id)->key) & mask;
    while (keys->slots[gap].id != id + 1)
        gap = (gap + 1) & mask;
    for (uint32_t at = (gap + 1) & mask; keys->slots[at].id; at = (at + 1) & mask) {
        uint32_t home = keys->slots[at].tag & mask;
        if (((at - home) & mask) < ((at - gap) & mask))
            continue;
        keys->slots[gap] = keys->slots[at];
        gap = at;
    }
    keys->slots[gap].id = 0;
}

/* ---- order of use ---- */

static void unlink_key(cz_keys *keys, uint32_t id) {
    link own = keys->links[id];
    keys->links[own.newer].older = own.older;
    keys->links[own.older].newer = own.newer;
}

static void link_newest(cz_keys *keys, uint32_t id) {
    link *ends = &keys->links[keys->most];
    keys->links[id] = (link){keys->most, ends->older};
    keys->links[ends->older].newer = id;
    ends->older = id;
}

static void use(cz_keys *keys, uint32_t id) {
    if (keys->links[keys->most].older == id)
        return;
    unlink_key(keys, id);
    link_newest(keys, id);
}

/* ---- counts ---- */

/* Clear the buckets that have passed since the key was last counted, and add up its windows again. */
static void settle(cz_keys *keys, uint32_t id, int64_t bucket) {
    record *own = record_of(keys, id);
    int64_t passed = bucket - own->newest, depth = keys->depth;
    uint16_t *ring = ring_of(keys, id);
    int32_t windows = keys->windows.count, now = (int32_t)(bucket % depth);
    own->newest = bucket;
    if (passed >= depth) {
        memset(ring, 0, 2 * (size_t)depth * sizeof *ring);
        memset(own->sums, 0, 2 * (size_t)windows * sizeof *own->sums);
        return;
    }
    for (int32_t back = 0, at = now; back < passed; back++, at = at ? at - 1 : (int32_t)depth - 1)
        ring[at] = ring[depth + at] = 0;
    for (int kind = 0; kind < 2; kind++, ring += depth) {
        uint32_t total = 0;
        for (int32_t w = 0, back = 0, at = now; w < windows; w++) {
            for (; back < keys->windows.length[w]; back++, at = at ? at - 1 : (int32_t)depth - 1)
                total += ring[at];
            own->sums[kind * windows + w] = total;
        }
    }
}

static void count(cz_keys *keys, uint32_t id, int32_t now, int op) {
    record *own = record_of(keys, id);
    uint16_t *ring = ring_of(keys, id) + (op ? keys->depth : 0);
    int32_t windows = keys->windows.count;
    if (ring[now] == CZ_MAX_COUNT)
        return;
    ring[now]++;
    for (int32_t w = 0; w < windows; w++)
        own->sums[op * windows + w]++;
}

static uint32_t take_record(cz_keys *keys, int64_t bucket) {
    if (keys->count < keys->most)
        return keys->count++;
    uint32_t oldest = keys->links[keys->most].newer;
    keys->forgotten += record_of(keys, oldest)->newest > bucket - keys->depth;
    free_slot(keys, oldest);
    unlink_key(keys, oldest);
    return oldest;
}

static uint32_t add_key(cz_keys *keys, int64_t key, uint32_t tag, int64_t bucket) {
    uint32_t id = take_record(keys, bucket);
    record *own = record_of(keys, id);
    memset(own, 0, keys->record_bytes);
    memset(ring_of(keys, id), 0, 2 * (size_t)keys->depth * sizeof(uint16_t));
    own->key = key;
    own->newest = bucket;
    insert_slot(keys, id, tag);
    link_newest(keys, id);
    return id;
}

static void add_sums(const cz_keys *keys, uint32_t id, uint32_t *sums) {
    const record *own = record_of(keys, id);
    for (int32_t w = 0; w < 2 * keys->windows.count; w++) {
        uint32_t total = sums[w] + own->sums[w]; /* at most 2^22 + 2^28 */
        sums[w] = total < CZ_MAX_FEATURE ? total : CZ_MAX_FEATURE;
    }
}

/* Read n keys, at most AHEAD: first all places are asked for, then all records, so that memory is waited for once. */
static void read_keys(cz_keys *keys, int64_t first, int32_t n, int64_t bucket, uint32_t *sums, uint32_t *ids) {
    uint32_t tags[AHEAD];
    for (int32_t i = 0; i < n; i++) {
        tags[i] = tag_of(first + i);
        __builtin_prefetch(&keys->slots[tags[i] & keys->mask]);
    }
    for (int32_t i = 0; i < n; i++) {
        ids[i] = find(keys, first + i, tags[i]);
        if (ids[i] != NONE)
            __builtin_prefetch(ring_of(keys, ids[i]), 1);
    }
    for (int32_t i = 0; i < n; i++) {
        if (ids[i] == NONE)
            continue;
        use(keys, ids[i]);
        if (record_of(keys, ids[i])->newest < bucket)
            settle(keys, ids[i], bucket);
        add_sums(keys, ids[i], sums);
    }
}

void cz_keys_access(cz_keys *keys, int64_t first, int64_t n, int64_t bucket, int op, uint32_t *sums) {
    uint32_t held[HELD], passing[AHEAD];
    int32_t now = (int32_t)(bucket % keys->depth);
    for (int64_t i = 0; i < n; i += AHEAD) {
        int32_t some = n - i < AHEAD ? (int32_t)(n - i) : AHEAD;
        read_keys(keys, first + i, some, bucket, sums, i + AHEAD <= HELD ? held + i : passing);
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t key = first + i;
        uint32_t tag = tag_of(key), id = i < HELD ? held[i] : find(keys, key, tag);
        /* a request of more keys than the table takes may have pushed out its own */
        if (id == NONE || record_of(keys, id)->key != key)
            id = add_key(keys, key, tag, bucket);
        count(keys, id, now, op);
    }
}

/* ---- life ---- */

/* Zeros that begin at a cache line; NULL where there is no memory for them. */
static void *zeros(size_t count, size_t each, void **block) {
    if (each && count > (SIZE_MAX - 64) / each)
        return NULL;
    *block = calloc(1, count * each + 64);
    return *block ? (unsigned char *)*block + (64 - (uintptr_t)*block % 64) : NULL;
}

int cz_keys_new(const cz_windows *windows, int64_t most, cz_keys **keys) {
    *keys = NULL;
    if (most < 1 || most > CZ_MOST_KEYS)
        return CZ_BAD_CALL;
    cz_keys *made = calloc(1, sizeof *made);
    if (!made)
        return CZ_NO_MEMORY;
    made->windows = *windows;
    made->depth = windows->length[windows->count - 1];
    made->most = (uint32_t)most;
    made->mask = (1u << RUN_BITS) - 1;
    while (made->mask < 2 * made->most - 1)
        made->mask = 2 * made->mask + 1;
    size_t bytes = sizeof(record) + 2 * (size_t)windows->count * sizeof(uint32_t);
    made->record_bytes = (bytes + 63) / 64 * 64; /* one cache line with up to 6 windows */
    made->slots = zeros((size_t)made->mask + 1, sizeof *made->slots, &made->blocks[0]);
    made->links = zeros((size_t)most + 1, sizeof *made->links, &made->blocks[1]);
    made->records = zeros((size_t)most, made->record_bytes, &made->blocks[2]);
    made->rings = zeros((size_t)most, 2 * (size_t)made->depth * sizeof *made->rings, &made->blocks[3]);
    if (!made->slots || !made->links || !made->records || !made->rings) {
        cz_keys_free(made);
        return CZ_NO_MEMORY;
    }
    /* Places in the table are hit at random: what is not there yet would cost a page fault each. */
    for (size_t i = 0; i <= made->mask; i += 4096 / sizeof(slot))
        ((volatile slot *)made->slots)[i].id = 0;
    made->links[most] = (link){made->most, made->most};
    *keys = made;
    return CZ_OK;
}

void cz_keys_free(cz_keys *keys) {
    if (!keys)
        return;
    for (size_t i = 0; i < sizeof keys->blocks / sizeof *keys->blocks; i++)
        free(keys->blocks[i]);
    free(keys);
}

int64_t cz_keys_count(const cz_keys *keys) {
    return keys->count;
}

uint64_t cz_keys_forgotten(const cz_keys *keys) {
    return keys->forgotten;
}

size_t cz_keys_bytes(const cz_keys *keys) {
    size_t each = sizeof(link) + keys->record_bytes + 2 * (size_t)keys->depth * sizeof(uint16_t);
    return sizeof *keys + ((size_t)keys->mask + 1) * sizeof(slot) + keys->most * each;
}

/* ---- saved states: records from the one unused longest to the newest ---- */

void cz_keys_save(const cz_keys *keys, cz_writer *out) {
    cz_put(out, keys->count, 4);
    cz_put(out, keys->forgotten, 8);
    for (uint32_t id = keys->links[keys->most].newer; id != keys->most; id = keys->links[id].newer) {
        const record *own = record_of(keys, id);
        cz_put(out, (uint64_t)own->key, 8);
        cz_put(out, (uint64_t)own->newest, 8);
        for (int32_t i = 0; i < 2 * keys->depth; i++)
            cz_put(out, ring_of(keys, id)[i], 2);
    }
}

bool cz_keys_restore(cz_keys *keys, cz_bytes *in, int64_t latest) {
    uint32_t n = (uint32_t)cz_take(in, 4);
    keys->forgotten = cz_take(in, 8);
    if (in->failed || n > keys->most)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        int64_t key = (int64_t)cz_take(in, 8), newest = (int64_t)cz_take(in, 8);
        uint32_t tag = tag_of(key);
        if (in->failed || key < 0 || newest < 0 || newest > latest || find(keys, key, tag) != NONE)
            return false;
        uint32_t id = add_key(keys, key, tag, newest);
        for (int32_t k = 0; k < 2 * keys->depth; k++)
            ring_of(keys, id)[k] = (uint16_t)cz_take(in, 2);
        settle(keys, id, newest);
    }
    return !in->failed;
}
