/* Inputs of forests of lifetimes, equal to those of src/cachezoo/kernels/deaths.py bit for bit: whole numbers below
 * 2^24. The clock is the number of page writes of the host.
 *
 * Pages, chunks and regions have a table each, of sets of four places, which are two lines of the cache. A number
 * belongs to one set; where its places are all taken, the one that was written longest ago is forgotten. So memory is
 * what it is from the first write on, and a look-up reads two lines that lie side by side. */
#include <stdlib.h>

#include "lifetimes.h"

#define WAYS 4
#define LEVELS 3
#define UNKNOWN (-1)
#define MAX_VALUE (1 << 24)
#define LOG_BITS 16
#define ONE_HEAT 256
#define MOST_ALIGNED 10
#define CHUNK_PAGES 4
#define REGION_PAGES 128
#define PAGES_PER_CHUNK_KEPT 4
#define PAGES_PER_REGION_KEPT 16
#define MIX 0x9E3779B1ULL
#define HIGH 0x7FFFFFFFULL
#define LINE 64
#define MOST_NUMBER ((int64_t)1 << 55)

typedef struct record {
    int64_t key;  /* number + 1; 0 is free */
    int64_t last; /* page write that wrote it last */
    int32_t life; /* of the version that died last there, -1 for none */
    int32_t mean; /* decayed, of the logarithms of such lifetimes, -1 for none */
    int32_t heat; /* page writes, halved at each multiple of the half-life */
    int32_t unused;
} record;
_Static_assert(sizeof(record) * WAYS == 2 * LINE, "a set is two lines of the cache");

typedef struct table {
    record *records;
    uint64_t sets;
    int bits; /* of the sets */
    uint64_t held, forgotten;
} table;

struct cz_lifetimes {
    table level[LEVELS]; /* pages, chunks, regions */
    int64_t half_life;
    int64_t now, run, end, time_us; /* end: of the last request, and its time; -1 before the first */
};

enum { AGE, LIFE, MEAN, HEAT, PER_LEVEL };
enum { PAGES, CHUNKS, REGIONS };

/* Pages of a page, a chunk and a region. */
static inline int64_t pages_in(int level) {
    return level == PAGES ? 1 : level == CHUNKS ? CHUNK_PAGES : REGION_PAGES;
}

/* How many pages are remembered for one of them. */
static int64_t pages_kept(int level) {
    return level == PAGES ? 1 : level == CHUNKS ? PAGES_PER_CHUNK_KEPT : PAGES_PER_REGION_KEPT;
}

/* ---- tables ---- */

static bool table_new(table *made, int64_t places) {
    made->sets = (uint64_t)places / WAYS;
    while (made->sets >> (made->bits + 1))
        made->bits++;
    made->records = aligned_alloc(LINE, (size_t)places * sizeof *made->records);
    if (made->records)
        memset(made->records, 0, (size_t)places * sizeof *made->records);
    return made->records != NULL;
}

static record *set_of(const table *in, int64_t number) {
    uint64_t n = (uint64_t)number;
    return in->records + ((n + (n >> in->bits & HIGH) * MIX) & (in->sets - 1)) * WAYS;
}

static const record *find(const table *in, int64_t number) {
    const record *set = set_of(in, number);
    for (int k = 0; k < WAYS; k++)
        if (set[k].key == number + 1)
            return &set[k];
    return NULL;
}

/* The record of a number; where it has none, a free one of its set, or that of the one that it replaces. */
static record *record_for(table *in, int64_t number) {
    record *set = set_of(in, number), *taken = set;
    for (int k = 0; k < WAYS; k++) {
        if (set[k].key == number + 1)
            return &set[k];
        if (taken->key && (!set[k].key || set[k].last < taken->last))
            taken = &set[k];
    }
    *(taken->key ? &in->forgotten : &in->held) += 1;
    *taken = (record){.key = number + 1, .life = UNKNOWN, .mean = UNKNOWN};
    return taken;
}

/* ---- values ---- */

static int32_t capped(int64_t value) {
    return value < MAX_VALUE ? (int32_t)value : MAX_VALUE;
}

/* Base-2 logarithm of 1 + value in units of 2^-16, a straight line between powers of two. */
static int32_t log2_of(int32_t value) {
    uint64_t number = (uint64_t)value + 1;
    int bits = 63 - __builtin_clzll(number);
    return (int32_t)(((uint64_t)bits << LOG_BITS) + (number << LOG_BITS >> bits) - (1u << LOG_BITS));
}

static int32_t heat_of(const cz_lifetimes *own, const record *found, int64_t now) {
    int64_t passed = now / own->half_life - found->last / own->half_life;
    return found->heat >> (passed < 31 ? passed : 31);
}

static float since(const record *found, int64_t now) {
    return (float)(found ? capped(now - found->last) : UNKNOWN);
}

static void describe(const cz_lifetimes *own, int level, int64_t number, int64_t now, float *row) {
    const record *found = find(&own->level[level], number / pages_in(level));
    row[AGE] = since(found, now);
    row[LIFE] = (float)(found ? found->life : UNKNOWN);
    row[MEAN] = (float)(found ? found->mean : UNKNOWN);
    row[HEAT] = (float)(found ? heat_of(own, found, now) : 0);
}

static void count(cz_lifetimes *own, int level, int64_t number, int64_t now, int32_t life) {
    record *found = record_for(&own->level[level], number / pages_in(level));
    found->heat = heat_of(own, found, now) + ONE_HEAT;
    found->last = now;
    if (life == UNKNOWN)
        return;
    int32_t log = log2_of(life);
    found->mean = found->mean < 0 ? log : (3 * found->mean + log) >> 2;
    found->life = life;
}

static int aligned(int64_t number) {
    int bits = number ? __builtin_ctzll((uint64_t)number) : MOST_ALIGNED;
    return bits < MOST_ALIGNED ? bits : MOST_ALIGNED;
}

/* ---- requests ---- */

cz_written cz_lifetimes_begin(const cz_lifetimes *own, int64_t time_us, int64_t first, int64_t pages) {
    int64_t gap = own->time_us < 0 ? -1 : time_us > own->time_us ? time_us - own->time_us : 0;
    return (cz_written){first, pages, (float)capped(gap)};
}

static int64_t run_before(const cz_lifetimes *own, const cz_written *written) {
    bool follows = own->end >= 0 && (written->first == own->end || written->first == own->end + 1);
    return follows ? own->run : 0;
}

void cz_lifetimes_describe(const cz_lifetimes *own, const cz_written *written, int64_t page,
                           float row[CZ_LIFETIME_INPUTS]) {
    int64_t number = written->first + page, now = own->now + page;
    for (int level = 0; level < LEVELS; level++)
        describe(own, level, number, now, row + level * PER_LEVEL);
    row += LEVELS * PER_LEVEL;
    row[0] = since(number ? find(&own->level[PAGES], number - 1) : NULL, now);
    row[1] = since(find(&own->level[PAGES], number + 1), now);
    row[2] = (float)capped(written->pages);
    row[3] = (float)capped(page);
    row[4] = (float)capped(run_before(own, written));
    row[5] = written->gap_us;
    row[6] = (float)capped(number / REGION_PAGES);
    row[7] = (float)(number % CHUNK_PAGES);
    row[8] = (float)aligned(number);
}

void cz_lifetimes_count(cz_lifetimes *own, const cz_written *written, int64_t time_us) {
    own->run = run_before(own, written) + written->pages;
    for (int64_t i = 0; i < written->pages; i++) {
        int64_t number = written->first + i, now = own->now + i;
        const record *page = find(&own->level[PAGES], number);
        int32_t life = page ? capped(now - page->last) : UNKNOWN;
        count(own, CHUNKS, number, now, life);
        count(own, REGIONS, number, now, life);
        count(own, PAGES, number, now, life);
    }
    own->now += written->pages;
    own->end = written->first + written->pages - 1;
    own->time_us = time_us > own->time_us ? time_us : own->time_us;
}

/* ---- all of it ---- */

cz_lifetimes *cz_lifetimes_new(int64_t pages, int64_t half_life) {
    cz_lifetimes *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    *made = (cz_lifetimes){.half_life = half_life, .end = -1, .time_us = -1};
    for (int level = 0; level < LEVELS; level++)
        if (!table_new(&made->level[level], pages / pages_kept(level))) {
            cz_lifetimes_free(made);
            return NULL;
        }
    return made;
}

void cz_lifetimes_free(cz_lifetimes *own) {
    if (!own)
        return;
    for (int level = 0; level < LEVELS; level++)
        free(own->level[level].records);
    free(own);
}

uint64_t cz_lifetimes_keys(const cz_lifetimes *own) {
    return own->level[0].held + own->level[1].held + own->level[2].held;
}

uint64_t cz_lifetimes_forgotten(const cz_lifetimes *own) {
    return own->level[0].forgotten + own->level[1].forgotten + own->level[2].forgotten;
}

size_t cz_lifetimes_bytes(const cz_lifetimes *own) {
    size_t bytes = sizeof *own;
    for (int level = 0; level < LEVELS; level++)
        bytes += own->level[level].sets * WAYS * sizeof(record);
    return bytes;
}

void cz_lifetimes_save(const cz_lifetimes *own, cz_writer *out) {
    const int64_t numbers[] = {own->now, own->run, own->end, own->time_us};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        cz_put(out, (uint64_t)numbers[i], 8);
    for (int level = 0; level < LEVELS; level++) {
        const table *from = &own->level[level];
        cz_put(out, from->forgotten, 8);
        for (uint64_t k = 0; k < from->sets * WAYS; k++) {
            const record *one = &from->records[k];
            cz_put(out, (uint64_t)one->key, 8);
            if (!one->key)
                continue;
            cz_put(out, (uint64_t)one->last, 8);
            cz_put(out, (uint32_t)one->life, 4);
            cz_put(out, (uint32_t)one->mean, 4);
            cz_put(out, (uint32_t)one->heat, 4);
        }
    }
}

/* A record that the state before could have had in this set. */
static bool sound(const cz_lifetimes *own, const table *in, uint64_t k, const record *one) {
    const record *set = in->records + k / WAYS * WAYS;
    if (one->key < 1 || one->key > MOST_NUMBER || set_of(in, one->key - 1) != set || one->last < 0 ||
        one->last >= own->now || one->life < UNKNOWN || one->life > MAX_VALUE || one->mean < UNKNOWN ||
        one->mean > MAX_VALUE || one->heat < 0 || one->heat > MAX_VALUE)
        return false;
    for (const record *before = set; before < in->records + k; before++)
        if (before->key == one->key)
            return false;
    return true;
}

static bool restore_table(cz_lifetimes *own, table *in, cz_bytes *from) {
    in->forgotten = cz_take(from, 8);
    for (uint64_t k = 0; k < in->sets * WAYS && !from->failed; k++) {
        record one = {.key = (int64_t)cz_take(from, 8)};
        if (!one.key)
            continue;
        one.last = (int64_t)cz_take(from, 8);
        one.life = (int32_t)cz_take(from, 4);
        one.mean = (int32_t)cz_take(from, 4);
        one.heat = (int32_t)cz_take(from, 4);
        if (from->failed || !sound(own, in, k, &one))
            return false;
        in->records[k] = one;
        in->held++;
    }
    return !from->failed;
}

bool cz_lifetimes_restore(cz_lifetimes *own, cz_bytes *in) {
    own->now = (int64_t)cz_take(in, 8);
    own->run = (int64_t)cz_take(in, 8);
    own->end = (int64_t)cz_take(in, 8);
    own->time_us = (int64_t)cz_take(in, 8);
    bool whole = !in->failed && own->now >= 0 && own->now < (int64_t)1 << 62 && own->run >= 0 && own->run <= own->now &&
                 own->end >= -1 && own->end <= MOST_NUMBER && own->time_us >= -1;
    for (int level = 0; level < LEVELS && whole; level++)
        whole = restore_table(own, &own->level[level], in);
    return whole && !in->left;
}
