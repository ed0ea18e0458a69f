/* sid.bin: ranges of chunks of one stream, and the search for the range of a chunk. */
#include <stdlib.h>
#include <string.h>

#include "streams.h"

#define HEAD 24
#define RANGE_BYTES 5
#define MOST_CHUNKS ((uint64_t)1 << 32)
#define WIDTH 16      /* keys of an inner node: a line of the cache */
#define LEAF 12       /* ranges of a leaf: with their streams they fill a line */
#define MOST_LEVELS 8 /* 12 * 16^8 are more than 2^32 */
#define LINE 64

typedef int32_t four __attribute__((vector_size(16), may_alias));

typedef struct leaf {
    int32_t keys[LEAF];
    unsigned char streams[LEAF], rest[LINE - 5 * LEAF];
} leaf;
_Static_assert(sizeof(leaf) == LINE, "a leaf is a line of the cache");

static const unsigned char MAGIC[8] = {'C', 'Z', 'S', 'I', 'D', '1', 0, 0};

/* A search tree without pointers. Leaves hold the ranges: first chunks and streams. Each level of nodes above holds the
 * first key of every leaf or node below. A search counts, in one node of each level and in a leaf, the keys that are not
 * above the chunk: no branch hangs on data, and a million ranges are six lines. Keys are kept with their highest bit
 * turned, so that comparisons with sign, which every CPU has for vectors, order them. What fills the last node or leaf
 * of a level is above every chunk but the last, which is answered by itself. */
struct cz_table {
    leaf *leaves;
    int levels;
    int32_t *keys[MOST_LEVELS]; /* from the one above the leaves up */
    uint32_t ranges, n_streams;
    unsigned char last; /* the last range's stream */
};

static int32_t turned(uint32_t chunk) {
    return (int32_t)(chunk ^ 0x80000000u);
}

static uint32_t u32_at(const unsigned char *data) {
    uint32_t found;
    memcpy(&found, data, sizeof found);
    return found;
}

static int damaged(const char *where, const char *problem, unsigned long long number, cz_error *error) {
    return cz_fail(error, CZ_BAD_BUNDLE, "%s: %s (%llu); fit the model again, or copy the bundle again", where, problem,
                   number);
}

static int check_head(const unsigned char *data, size_t size, const char *where, cz_error *error) {
    uint64_t ranges;
    if (size < HEAD)
        return damaged(where, "it has fewer bytes than its header's 24", size, error);
    memcpy(&ranges, data + 16, sizeof ranges);
    if (memcmp(data, MAGIC, sizeof MAGIC) != 0)
        return damaged(where, "it does not begin with CZSID1", *data, error);
    if (u32_at(data + 8) != CZ_CHUNK_BYTES)
        return damaged(where, "its chunks do not have 32768 bytes", u32_at(data + 8), error);
    if (u32_at(data + 12) < 1 || u32_at(data + 12) > CZ_MOST_STREAMS)
        return damaged(where, "it does not have 1 to 256 streams", u32_at(data + 12), error);
    if (ranges < 1 || ranges > MOST_CHUNKS || size - HEAD != RANGE_BYTES * ranges)
        return damaged(where, "its size is not that of its ranges", ranges, error);
    return CZ_OK;
}

static int check_ranges(const unsigned char *data, uint32_t ranges, const char *where, cz_error *error) {
    const unsigned char *starts = data + HEAD, *streams = starts + 4 * (size_t)ranges;
    uint32_t count = u32_at(data + 12);
    if (u32_at(starts) != 0)
        return damaged(where, "its first range does not start at chunk 0", u32_at(starts), error);
    for (uint32_t i = 1; i < ranges; i++)
        if (u32_at(starts + 4 * (size_t)i) <= u32_at(starts + 4 * (size_t)(i - 1)))
            return damaged(where, "a range does not start behind the one before", i, error);
    for (uint32_t i = 0; i < ranges; i++)
        if (streams[i] >= count)
            return damaged(where, "a range has a stream that there is not", i, error);
    return CZ_OK;
}

static bool fill_leaves(cz_table *table, const unsigned char *starts, const unsigned char *streams) {
    size_t count = ((size_t)table->ranges + LEAF - 1) / LEAF;
    table->leaves = aligned_alloc(LINE, count * sizeof *table->leaves);
    if (!table->leaves)
        return false;
    for (size_t i = 0; i < count * LEAF; i++) {
        leaf *own = &table->leaves[i / LEAF];
        own->keys[i % LEAF] = i < table->ranges ? turned(u32_at(starts + 4 * i)) : INT32_MAX;
        own->streams[i % LEAF] = i < table->ranges ? streams[i] : 0;
    }
    return true;
}

/* The first key of each of `below` nodes, `step` numbers apart. */
static int32_t *level_of(const int32_t *keys, size_t below, size_t step) {
    size_t room = (below + WIDTH - 1) / WIDTH * WIDTH;
    int32_t *made = aligned_alloc(LINE, room * sizeof *made);
    for (size_t i = 0; made && i < room; i++)
        made[i] = i < below ? keys[i * step] : INT32_MAX;
    return made;
}

static bool build(cz_table *table, const unsigned char *starts, const unsigned char *streams) {
    if (!fill_leaves(table, starts, streams))
        return false;
    const int32_t *keys = table->leaves->keys;
    size_t below = ((size_t)table->ranges + LEAF - 1) / LEAF, step = LINE / sizeof *keys;
    while (below > 1) {
        int32_t *made = level_of(keys, below, step);
        if (!made)
            return false;
        table->keys[table->levels++] = made;
        keys = made;
        below = (below + WIDTH - 1) / WIDTH;
        step = WIDTH;
    }
    return true;
}

int cz_table_read(const unsigned char *data, size_t size, const char *where, cz_table **table, cz_error *error) {
    *table = NULL;
    int result = check_head(data, size, where, error);
    if (result)
        return result;
    uint32_t ranges = (uint32_t)((size - HEAD) / RANGE_BYTES);
    result = check_ranges(data, ranges, where, error);
    if (result)
        return result;
    cz_table *made = calloc(1, sizeof *made);
    const unsigned char *streams = data + HEAD + 4 * (size_t)ranges;
    if (made)
        *made = (cz_table){.ranges = ranges, .n_streams = u32_at(data + 12), .last = streams[ranges - 1]};
    if (!made || !build(made, data + HEAD, streams)) {
        cz_table_free(made);
        return cz_fail(error, CZ_NO_MEMORY, "%s: no memory for %lu ranges", where, (unsigned long)ranges);
    }
    *table = made;
    return CZ_OK;
}

void cz_table_free(cz_table *table) {
    if (!table)
        return;
    for (int level = 0; level < table->levels; level++)
        free(table->keys[level]);
    free(table->leaves);
    free(table);
}

uint32_t cz_table_streams(const cz_table *table) {
    return table->n_streams;
}

uint32_t cz_table_ranges(const cz_table *table) {
    return table->ranges;
}

/* How many of some keys are not above one: four at a time, as gcc and clang make it of any CPU's vectors. */
static inline size_t not_above(const int32_t *keys, int count, int32_t key) {
    const four *fours = (const four *)(const void *)keys; /* they begin at a line of the cache */
    four asked = {key, key, key, key}, found = {0, 0, 0, 0};
    for (int i = 0; i < count / 4; i++)
        found -= fours[i] <= asked; /* true is -1 */
    return (size_t)(found[0] + found[1] + found[2] + found[3]);
}

int cz_table_stream(const cz_table *table, uint64_t offset) {
    uint64_t chunk = offset / CZ_CHUNK_BYTES;
    if (chunk >= MOST_CHUNKS)
        return 0;
    if (chunk == MOST_CHUNKS - 1)
        return table->last;
    int32_t key = turned((uint32_t)chunk);
    size_t place = 0;
    /* The first key of all is chunk 0, so one is never above. */
    for (int level = table->levels - 1; level >= 0; level--)
        place = place * WIDTH + not_above(table->keys[level] + place * WIDTH, WIDTH, key) - 1;
    const leaf *own = &table->leaves[place];
    return own->streams[not_above(own->keys, LEAF, key) - 1];
}
