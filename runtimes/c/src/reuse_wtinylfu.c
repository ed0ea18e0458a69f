/* W-TinyLFU: a window, a segmented LRU, and a sketch of counts that decides who crosses (kernels/evict/wtinylfu.py).
 *
 * The sketch hashes a page's number by first appearance, as the kernel does.
 */
#include "reuse_check.h"

enum { OUT, WINDOW, PROBATION, PROTECTED }; /* where a page is; the ends of the lists are one less */
enum { COUNTERS = 16, LIMIT = 15 };
static const uint32_t multipliers[4] = {0x9E3779B1u, 0xB5297A4Du, 0x68E31DA5u, 0x1B56C4E9u};

typedef struct wtinylfu {
    cz_link *links;
    uint32_t *ids; /* of the pages that are held */
    uint8_t *where, *table;
    uint64_t width;
    int64_t window, main, protected, period;
    struct {
        int64_t age, held[4];
    } n;
} wtinylfu;

static void *make(cz_memory *memory, cz_table *pages, int64_t capacity) {
    wtinylfu *state = cz_memory_scratch(memory, 1, sizeof *state);
    if (state == NULL)
        return NULL;
    size_t slots = (size_t)pages->most;
    int64_t window = (int64_t)(0.01 * (double)capacity), period = (int64_t)(10.0 * (double)capacity);
    state->window = window > 1 ? window : 1;
    state->main = capacity - state->window;
    state->protected = (int64_t)(0.8 * (double)state->main + 1e-9);
    state->period = period > 2 ? period : 2;
    state->width = COUNTERS * (uint64_t)capacity;
    state->links = cz_memory_room(memory, slots, sizeof *state->links, &pages->n.used);
    state->ids = cz_memory_room(memory, slots, sizeof *state->ids, &pages->n.used);
    state->where = cz_memory_room(memory, slots, sizeof *state->where, &pages->n.used);
    state->table = cz_memory_room(memory, state->width, sizeof *state->table, NULL);
    cz_memory_keep(memory, &state->n, sizeof state->n);
    if (!memory->failed)
        cz_link_ends(state->links);
    return state;
}

static inline uint8_t *counter(const wtinylfu *state, uint32_t id, int k) {
    return &state->table[(uint64_t)((id + 1) * multipliers[k]) * state->width >> 32];
}

static int seen(const wtinylfu *state, uint32_t id) {
    int least = LIMIT;
    for (int k = 0; k < 4; k++)
        least = *counter(state, id, k) < least ? *counter(state, id, k) : least;
    return least;
}

/* An access; no count grows above LIMIT, and at the end of a period all are halved. */
static void count(wtinylfu *state, uint32_t id) {
    int raised = seen(state, id) + 1;
    raised = raised < LIMIT ? raised : LIMIT;
    for (int k = 0; k < 4; k++) {
        uint8_t *cell = counter(state, id, k);
        *cell = *cell < raised ? (uint8_t)raised : *cell;
    }
    if (++state->n.age < state->period)
        return;
    for (uint64_t cell = 0; cell < state->width; cell++)
        state->table[cell] >>= 1;
    state->n.age >>= 1;
}

static void enter(wtinylfu *state, int32_t slot, uint8_t to) {
    cz_link_head(state->links, to - 1, slot);
    state->n.held[to]++;
    state->where[slot] = to;
}

static void leave(wtinylfu *state, int32_t slot) {
    cz_unlink(state->links, slot);
    state->n.held[state->where[slot]]--;
    state->where[slot] = OUT;
}

static void touch(wtinylfu *state, int32_t slot) {
    uint8_t where = state->where[slot];
    leave(state, slot);
    enter(state, slot, where == WINDOW ? WINDOW : PROTECTED);
    if (state->n.held[PROTECTED] > state->protected) {
        int32_t oldest = state->links[PROTECTED - 1].before;
        leave(state, oldest);
        enter(state, oldest, PROBATION);
    }
}

/* The window's oldest page is weighed against what would leave the main part; returns the page that leaves. */
static int32_t weigh(wtinylfu *state) {
    int32_t candidate = state->links[WINDOW - 1].before;
    leave(state, candidate);
    if (state->n.held[PROBATION] + state->n.held[PROTECTED] < state->main) {
        enter(state, candidate, PROBATION);
        return CZ_NONE;
    }
    if (state->main == 0)
        return candidate;
    int32_t rival = state->links[(state->n.held[PROBATION] > 0 ? PROBATION : PROTECTED) - 1].before;
    if (seen(state, state->ids[candidate]) <= seen(state, state->ids[rival]))
        return candidate;
    leave(state, rival);
    enter(state, candidate, PROBATION);
    return rival;
}

static int serve(void *data, int32_t slot, uint32_t id, int64_t i, bool metadata, int32_t *victim) {
    (void)i;
    (void)metadata;
    wtinylfu *state = data;
    bool hit = state->where[slot] != OUT;
    if (hit) {
        touch(state, slot);
    } else {
        state->ids[slot] = id;
        enter(state, slot, WINDOW);
        if (state->n.held[WINDOW] > state->window)
            *victim = weigh(state);
    }
    count(state, id);
    return hit ? CZ_HIT : CZ_ADMITTED;
}

static bool holds(const void *data, int32_t slot) {
    return ((const wtinylfu *)data)->where[slot] != OUT;
}

static int64_t most(int64_t capacity) {
    return capacity + 1;
}

static bool sound(const void *data, cz_check *check) {
    const wtinylfu *state = data;
    const int64_t *held = state->n.held;
    for (int list = WINDOW; list <= PROTECTED; list++) {
        int64_t length;
        if (!cz_list_sound(state->links, list - 1, check, &length) || length != held[list])
            return false;
    }
    for (int64_t slot = 0; slot < check->slots; slot++)
        if (state->where[slot] != check->found[slot])
            return false;
    return held[OUT] == 0 && held[WINDOW] <= state->window && held[PROTECTED] <= state->protected &&
           held[PROBATION] + held[PROTECTED] <= state->main && state->n.age >= 0 && state->n.age < state->period;
}

const cz_classic_ops cz_wtinylfu_ops = {"wtinylfu", make, serve, holds, NULL, most, sound};
