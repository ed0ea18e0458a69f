/* Azor-like: metadata before data, and among data a page enters only past its victim's count (kernels/evict/azor.py).
 *
 * The kernel packs a rank into 63 bits and so takes 2^31 accesses; here the access number has 64 bits of its own.
 */
#include "reuse_check.h"

#define METADATA (UINT32_C(1) << 31)
#define MOST (METADATA - 1)

typedef struct rank {
    int64_t time;   /* of the latest access */
    uint32_t count; /* of accesses, MOST at most, and METADATA */
    int32_t slot;
} rank;
typedef struct azor {
    rank *heap;    /* none above its page's own; entry k is above 4k + 1 to 4k + 4; the least is on top */
    int64_t *last; /* of each page */
    uint32_t *counts;
    uint8_t *resident;
    int64_t capacity, used;
} azor;

static inline bool less(rank one, rank other) {
    return one.count < other.count || (one.count == other.count && one.time < other.time);
}

static void *make(cz_memory *memory, cz_table *pages, int64_t capacity) {
    azor *state = cz_memory_scratch(memory, 1, sizeof *state);
    if (state == NULL)
        return NULL;
    state->capacity = capacity;
    state->heap = cz_memory_room(memory, (size_t)capacity, sizeof *state->heap, NULL);
    state->last = cz_table_last(pages, memory);
    state->counts = cz_memory_room(memory, (size_t)pages->most, sizeof *state->counts, &pages->n.used);
    state->resident = cz_memory_room(memory, (size_t)pages->most, sizeof *state->resident, &pages->n.used);
    cz_memory_keep(memory, &state->used, sizeof state->used);
    return state;
}

static void rise(azor *state, int64_t k) {
    rank moved = state->heap[k];
    while (k > 0 && less(moved, state->heap[(k - 1) / 4])) {
        state->heap[k] = state->heap[(k - 1) / 4];
        k = (k - 1) / 4;
    }
    state->heap[k] = moved;
}

static void sink(azor *state) {
    rank *heap = state->heap, moved = heap[0];
    int64_t k = 0;
    for (int64_t child = 1; child < state->used; child = 4 * k + 1) {
        int64_t end = child + 4 < state->used ? child + 4 : state->used;
        for (int64_t other = child + 1; other < end; other++)
            if (less(heap[other], heap[child]))
                child = other;
        if (!less(heap[child], moved))
            break;
        heap[k] = heap[child];
        k = child;
    }
    heap[k] = moved;
}

static rank own_of(const azor *state, int32_t slot) {
    return (rank){.time = state->last[slot], .count = state->counts[slot], .slot = slot};
}

/* Bring the page of least rank to the top, up to date; stop as soon as all are seen to be no less than `limit`. */
static void freshen(azor *state, const rank *limit) {
    for (;;) {
        rank *top = &state->heap[0], own = own_of(state, top->slot);
        if ((limit != NULL && !less(*top, *limit)) || (top->count == own.count && top->time == own.time))
            return;
        *top = own;
        sink(state);
    }
}

static int serve(void *data, int32_t slot, uint32_t id, int64_t i, bool metadata, int32_t *victim) {
    (void)id;
    azor *state = data;
    uint32_t counted = state->counts[slot];
    state->counts[slot] = (counted + ((counted & MOST) < MOST)) | (metadata ? METADATA : 0);
    state->last[slot] = i;
    if (state->resident[slot])
        return CZ_HIT;
    rank own = own_of(state, slot);
    if (state->used < state->capacity) {
        state->heap[state->used] = own;
        rise(state, state->used++);
        state->resident[slot] = 1;
        return CZ_ADMITTED;
    }
    bool is_data = !(own.count & METADATA);
    freshen(state, is_data ? &own : NULL);
    if (is_data && state->heap[0].count >= own.count)
        return CZ_BYPASSED;
    *victim = state->heap[0].slot;
    state->resident[*victim] = 0;
    state->resident[slot] = 1;
    state->heap[0] = own;
    sink(state);
    return CZ_ADMITTED;
}

static bool holds(const void *data, int32_t slot) {
    return ((const azor *)data)->resident[slot];
}

static void forget(void *data, int32_t slot) {
    ((azor *)data)->counts[slot] = 0;
}

static int64_t most(int64_t capacity) {
    return capacity;
}

static bool sound(const void *data, cz_check *check) {
    const azor *state = data;
    if (state->used < 0 || state->used > state->capacity)
        return false;
    for (int64_t k = 0; k < state->used; k++) {
        int32_t slot = state->heap[k].slot;
        if (!cz_slot_sound(check, slot) || check->found[slot]++)
            return false;
    }
    for (int64_t slot = 0; slot < check->slots; slot++)
        if (state->resident[slot] != check->found[slot])
            return false;
    return true;
}

const cz_classic_ops cz_azor_ops = {"azor", make, serve, holds, forget, most, sound};
