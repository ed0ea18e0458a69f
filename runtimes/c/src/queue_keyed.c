/* Pages of a queue by key. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "queue.h"

#define HUGE_PAGE ((size_t)1 << 21)

/* Memory that is asked all over: in huge pages where there are such, which spares look-ups of addresses. */
static void *room_for(size_t bytes) {
    if (bytes < HUGE_PAGE)
        return malloc(bytes);
    void *made = aligned_alloc(HUGE_PAGE, (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE);
#ifdef MADV_HUGEPAGE
    if (made)
        madvise(made, bytes, MADV_HUGEPAGE); /* it may be refused */
#endif
    return made;
}

/* The place where a key would be best: every bit of it tells. */
static uint32_t home_of(const cz_keyed *keyed, uint64_t key) {
    uint64_t mixed = (key ^ key >> 32) * UINT64_C(0x9E3779B97F4A7C15);
    return (uint32_t)(((mixed ^ mixed >> 29) * UINT64_C(0xBF58476D1CE4E5B9)) >> keyed->shift);
}

bool cz_keyed_new(cz_keyed *keyed, int32_t most) {
    int bits = 3;
    while (((int64_t)1 << bits) < 2 * (int64_t)most)
        bits++;
    size_t buckets = (size_t)1 << bits;
    *keyed = (cz_keyed){.mask = (uint32_t)(buckets - 1), .shift = 64 - bits, .most = most};
    keyed->buckets = room_for(buckets * sizeof *keyed->buckets);
    keyed->keys = room_for((size_t)most * sizeof *keyed->keys);
    keyed->at = room_for((size_t)most * sizeof *keyed->at);
    if (!keyed->buckets || !keyed->keys || !keyed->at)
        return false;
    for (size_t i = 0; i < buckets; i++)
        keyed->buckets[i] = (cz_bucket){0, CZ_NO_PAGE};
    return true;
}

void cz_keyed_free(cz_keyed *keyed) {
    free(keyed->buckets);
    free(keyed->keys);
    free(keyed->at);
}

size_t cz_keyed_bytes(const cz_keyed *keyed) {
    size_t buckets = (size_t)keyed->mask + 1, most = (size_t)keyed->most;
    return buckets * sizeof *keyed->buckets + most * (sizeof *keyed->keys + sizeof *keyed->at);
}

int32_t cz_keyed_find(const cz_keyed *keyed, uint64_t key) {
    const cz_bucket *buckets = keyed->buckets;
    uint32_t at = home_of(keyed, key);
    while (buckets[at].page != CZ_NO_PAGE && buckets[at].key != key)
        at = (at + 1) & keyed->mask;
    return buckets[at].page;
}

void cz_keyed_add(cz_keyed *keyed, int32_t page, uint64_t key) {
    uint32_t at = home_of(keyed, key);
    while (keyed->buckets[at].page != CZ_NO_PAGE)
        at = (at + 1) & keyed->mask;
    keyed->buckets[at] = (cz_bucket){key, page};
    keyed->keys[page] = key;
}

/* Close the gap: move back every later page of the run that may stand in it. */
void cz_keyed_remove(cz_keyed *keyed, int32_t page) {
    uint32_t mask = keyed->mask, gap = home_of(keyed, keyed->keys[page]);
    while (keyed->buckets[gap].page != page)
        gap = (gap + 1) & mask;
    for (uint32_t at = (gap + 1) & mask; keyed->buckets[at].page != CZ_NO_PAGE; at = (at + 1) & mask) {
        uint32_t home = home_of(keyed, keyed->buckets[at].key);
        if (((at - home) & mask) < ((at - gap) & mask))
            continue;
        keyed->buckets[gap] = keyed->buckets[at];
        gap = at;
    }
    keyed->buckets[gap].page = CZ_NO_PAGE;
}

void cz_keyed_expect(const cz_keyed *keyed, int32_t soon, int32_t next) {
    __builtin_prefetch(&keyed->keys[soon]);
    __builtin_prefetch(&keyed->buckets[home_of(keyed, keyed->keys[next])]);
}
