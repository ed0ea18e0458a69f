/* LRU: the page used longest ago leaves (kernels/evict/lru.py). */
#include "reuse_check.h"

typedef struct lru {
    cz_link *links;
    uint8_t *resident;
    int64_t capacity;
    struct {
        int64_t used;
    } n;
} lru;

static void *make(cz_memory *memory, cz_table *pages, int64_t capacity) {
    lru *state = cz_memory_scratch(memory, 1, sizeof *state);
    if (state == NULL)
        return NULL;
    state->capacity = capacity;
    state->links = cz_memory_room(memory, (size_t)pages->most, sizeof *state->links, &pages->n.used);
    state->resident = cz_memory_room(memory, (size_t)pages->most, sizeof *state->resident, &pages->n.used);
    cz_memory_keep(memory, &state->n, sizeof state->n);
    if (!memory->failed)
        cz_link_ends(state->links);
    return state;
}

static int serve(void *data, int32_t slot, uint32_t id, int64_t i, bool metadata, int32_t *victim) {
    (void)id;
    (void)i;
    (void)metadata;
    lru *state = data;
    bool hit = state->resident[slot];
    if (hit) {
        cz_unlink(state->links, slot);
    } else if (state->n.used == state->capacity) {
        *victim = cz_pop_tail(state->links, 0);
        state->resident[*victim] = 0;
    } else {
        state->n.used++;
    }
    state->resident[slot] = 1;
    cz_link_head(state->links, 0, slot);
    return hit ? CZ_HIT : CZ_ADMITTED;
}

static bool holds(const void *data, int32_t slot) {
    return ((const lru *)data)->resident[slot];
}

static int64_t most(int64_t capacity) {
    return capacity;
}

static bool sound(const void *data, cz_check *check) {
    const lru *state = data;
    int64_t length;
    if (!cz_list_sound(state->links, 0, check, &length) || length != state->n.used || length > state->capacity)
        return false;
    for (int64_t slot = 0; slot < check->slots; slot++)
        if (state->resident[slot] != check->found[slot])
            return false;
    return true;
}

const cz_classic_ops cz_lru_ops = {"lru", make, serve, holds, NULL, most, sound};
