#include "index.h"

#include <stdlib.h>

static uint64_t hashed(const cz_index *index, int32_t volume, int64_t number) {
    uint64_t mixed = (uint64_t)number + ((uint64_t)(uint32_t)volume << 50);
    mixed ^= mixed >> 29;
    return (mixed * UINT64_C(0x9E3779B97F4A7C15)) >> index->shift;
}

int cz_index_new(cz_index *index, int64_t nodes) {
    int bits = 1;
    while (((int64_t)1 << bits) < 2 * nodes)
        bits++;
    size_t buckets = (size_t)1 << bits;
    index->mask = buckets - 1;
    index->shift = 64 - bits;
    index->keys = calloc((size_t)nodes, sizeof *index->keys);
    index->buckets = malloc(buckets * sizeof *index->buckets);
    if (!index->keys || !index->buckets) {
        cz_index_free(index);
        return -1;
    }
    for (size_t place = 0; place < buckets; place++)
        index->buckets[place] = CZ_NO_NODE;
    return 0;
}

void cz_index_free(cz_index *index) {
    free(index->keys);
    free(index->buckets);
    index->keys = NULL;
    index->buckets = NULL;
}

size_t cz_index_bytes(const cz_index *index, int64_t nodes) {
    return (size_t)nodes * sizeof *index->keys + (size_t)(index->mask + 1) * sizeof *index->buckets;
}

int32_t cz_index_find(const cz_index *index, int32_t volume, int64_t number) {
    for (uint64_t place = hashed(index, volume, number);; place = (place + 1) & index->mask) {
        int32_t node = index->buckets[place];
        if (node == CZ_NO_NODE || (index->keys[node].number == number && index->keys[node].volume == volume))
            return node;
    }
}

void cz_index_add(cz_index *index, int32_t node, int32_t volume, int64_t number) {
    uint64_t place = hashed(index, volume, number);
    while (index->buckets[place] != CZ_NO_NODE)
        place = (place + 1) & index->mask;
    index->buckets[place] = node;
    index->keys[node] = (cz_key){number, volume};
}

/* Close the gap: move back every later key of the run that may go there. */
void cz_index_remove(cz_index *index, int32_t node) {
    uint64_t gap = hashed(index, index->keys[node].volume, index->keys[node].number);
    while (index->buckets[gap] != node)
        gap = (gap + 1) & index->mask;
    for (uint64_t place = (gap + 1) & index->mask;; place = (place + 1) & index->mask) {
        int32_t other = index->buckets[place];
        if (other == CZ_NO_NODE)
            break;
        uint64_t home = hashed(index, index->keys[other].volume, index->keys[other].number);
        if (((place - home) & index->mask) >= ((place - gap) & index->mask)) {
            index->buckets[gap] = other;
            gap = place;
        }
    }
    index->buckets[gap] = CZ_NO_NODE;
}

int cz_rings_new(cz_rings *rings, int64_t nodes, int heads) {
    size_t all = (size_t)nodes + (size_t)heads;
    rings->before = malloc(all * sizeof *rings->before);
    rings->after = malloc(all * sizeof *rings->after);
    if (!rings->before || !rings->after) {
        cz_rings_free(rings);
        return -1;
    }
    for (int64_t head = nodes; head < nodes + heads; head++)
        rings->before[head] = rings->after[head] = (int32_t)head;
    return 0;
}

void cz_rings_free(cz_rings *rings) {
    free(rings->before);
    free(rings->after);
    rings->before = rings->after = NULL;
}
