/* LFU with the counts of all pages that are known, resident or not (kernels/evict/lfu.py). */
#include "reuse_check.h"

typedef struct rank {
    int64_t count, last; /* accesses, and the latest one; of two pages the one with fewer, then older, is the lesser */
} rank;
typedef struct entry {
    rank rank; /* as it was when the page came to its place: never above the page's own */
    int64_t slot;
} entry;
typedef struct lfu {
    rank *own;
    uint8_t *resident;
    entry *heap; /* of the resident pages, the least first */
    int64_t capacity;
    struct {
        int64_t used;
    } n;
} lfu;

static bool less(const rank *left, const rank *right) {
    return left->count != right->count ? left->count < right->count : left->last < right->last;
}

static void *make(cz_memory *memory, cz_table *pages, int64_t capacity) {
    lfu *state = cz_memory_scratch(memory, 1, sizeof *state);
    if (state == NULL)
        return NULL;
    state->capacity = capacity;
    state->own = cz_memory_room(memory, (size_t)pages->most, sizeof *state->own, &pages->n.used);
    state->resident = cz_memory_room(memory, (size_t)pages->most, sizeof *state->resident, &pages->n.used);
    state->heap = cz_memory_room(memory, (size_t)capacity, sizeof *state->heap, NULL);
    cz_memory_keep(memory, &state->n, sizeof state->n);
    return state;
}

static void rise(lfu *state, int64_t at, entry added) {
    while (at > 0 && less(&added.rank, &state->heap[(at - 1) / 2].rank)) {
        state->heap[at] = state->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    state->heap[at] = added;
}

static void sink(lfu *state, entry added) {
    int64_t at = 0;
    for (int64_t child; (child = 2 * at + 1) < state->n.used; at = child) {
        child += child + 1 < state->n.used && less(&state->heap[child + 1].rank, &state->heap[child].rank);
        if (!less(&state->heap[child].rank, &added.rank))
            break;
        state->heap[at] = state->heap[child];
    }
    state->heap[at] = added;
}

/* Bring the page with the least rank to the top: entries learn of later accesses when they come there. */
static void freshen(lfu *state) {
    for (entry top = state->heap[0]; less(&top.rank, &state->own[top.slot]); top = state->heap[0]) {
        top.rank = state->own[top.slot];
        sink(state, top);
    }
}

static int serve(void *data, int32_t slot, uint32_t id, int64_t i, bool metadata, int32_t *victim) {
    (void)id;
    (void)metadata;
    lfu *state = data;
    rank *own = &state->own[slot];
    *own = (rank){own->count + 1, i};
    if (state->resident[slot])
        return CZ_HIT;
    if (state->n.used < state->capacity) {
        rise(state, state->n.used++, (entry){*own, slot});
    } else {
        freshen(state);
        if (less(own, &state->heap[0].rank))
            return CZ_BYPASSED;
        *victim = (int32_t)state->heap[0].slot;
        state->resident[*victim] = 0;
        sink(state, (entry){*own, slot});
    }
    state->resident[slot] = 1;
    return CZ_ADMITTED;
}

static bool holds(const void *data, int32_t slot) {
    return ((const lfu *)data)->resident[slot];
}

static void forget(void *data, int32_t slot) {
    ((lfu *)data)->own[slot] = (rank){0, 0};
}

static int64_t most(int64_t capacity) {
    return capacity;
}

static bool sound(const void *data, cz_check *check) {
    const lfu *state = data;
    if (state->n.used < 0 || state->n.used > state->capacity)
        return false;
    for (int64_t k = 0; k < state->n.used; k++) {
        int64_t slot = state->heap[k].slot;
        if (!cz_slot_sound(check, slot) || check->found[slot]++)
            return false;
    }
    for (int64_t slot = 0; slot < check->slots; slot++)
        if (state->resident[slot] != check->found[slot] || state->own[slot].count < 0 ||
            state->own[slot].count > check->accesses)
            return false;
    return true;
}

const cz_classic_ops cz_lfu_ops = {"lfu", make, serve, holds, forget, most, sound};
