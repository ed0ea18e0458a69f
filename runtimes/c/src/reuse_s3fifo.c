/* S3-FIFO: a small queue that sifts, a main one that keeps, ghosts (kernels/evict/s3fifo.py, kernels/ghosts.py). */
#include "reuse_check.h"

enum { FREQUENCY = 3, SMALL = 4, MAIN = 8, PROMOTE = 2 }; /* a page's mark: frequency in the low bits, and its queue */

typedef struct ring {
    int32_t *slots;
    int64_t oldest, used;
} ring;
typedef struct s3fifo {
    uint8_t *mark;
    int32_t *log, *slot_of; /* ghosts, oldest first; -1 where one was taken. Where a page's lies in it */
    int64_t capacity, share, size;
    struct {
        int64_t first, span, live, evicted;
    } n;
    ring small, main;
} s3fifo;

static int64_t ghosts_of(int64_t capacity) {
    return (int64_t)((double)capacity * 0.9);
}

static void *make(cz_memory *memory, cz_table *pages, int64_t capacity) {
    s3fifo *state = cz_memory_scratch(memory, 1, sizeof *state);
    if (state == NULL)
        return NULL;
    int64_t share = (int64_t)((double)capacity * 0.1), room = ghosts_of(capacity);
    state->capacity = capacity;
    state->share = share > 1 ? share : 1;
    state->size = room > 0 ? 2 * room : 1;
    state->mark = cz_memory_room(memory, (size_t)pages->most, sizeof *state->mark, &pages->n.used);
    state->slot_of = cz_memory_room(memory, (size_t)pages->most, sizeof *state->slot_of, &pages->n.used);
    state->log = cz_memory_room(memory, (size_t)state->size, sizeof *state->log, NULL);
    state->small.slots = cz_memory_room(memory, (size_t)capacity, sizeof *state->small.slots, NULL);
    state->main.slots = cz_memory_room(memory, (size_t)capacity, sizeof *state->main.slots, NULL);
    cz_memory_keep(memory, &state->n, sizeof state->n);
    cz_memory_keep(memory, &state->small.oldest, 2 * sizeof(int64_t));
    cz_memory_keep(memory, &state->main.oldest, 2 * sizeof(int64_t));
    for (int64_t k = 0; !memory->failed && k < state->size; k++)
        state->log[k] = CZ_NONE;
    return state;
}

/* Move the live ghosts of a log that is one stretch to its start, in order. */
static void close_up(s3fifo *state) {
    int64_t to = state->n.first, from = to;
    for (int64_t k = 0; k < state->size; k++) {
        int32_t slot = state->log[from];
        if (slot >= 0) {
            state->log[from] = CZ_NONE;
            state->log[to] = slot;
            state->slot_of[slot] = (int32_t)to;
            to = to + 1 < state->size ? to + 1 : 0;
        }
        from = from + 1 < state->size ? from + 1 : 0;
    }
}

static void drop_first(s3fifo *state) {
    state->log[state->n.first] = CZ_NONE;
    state->n.first = state->n.first + 1 < state->size ? state->n.first + 1 : 0;
    state->n.span--;
}

static void remember(s3fifo *state, int32_t slot) {
    if (state->size == 1)
        return;
    if (state->n.live == state->size / 2) {
        while (state->log[state->n.first] < 0)
            drop_first(state);
        drop_first(state);
        state->n.live--;
    } else if (state->n.span == state->size) {
        close_up(state);
        state->n.span = state->n.live;
    }
    int64_t at = state->n.first + state->n.span;
    at -= at >= state->size ? state->size : 0;
    state->log[at] = slot;
    state->slot_of[slot] = (int32_t)at;
    state->n.span++;
    state->n.live++;
}

static bool take_ghost(s3fifo *state, int32_t slot) {
    if (state->log[state->slot_of[slot]] != slot)
        return false;
    state->log[state->slot_of[slot]] = CZ_NONE;
    state->n.live--;
    return true;
}

static void push(ring *queue, int64_t capacity, int32_t slot) {
    int64_t at = queue->oldest + queue->used++;
    queue->slots[at < capacity ? at : at - capacity] = slot;
}

static int32_t pop(ring *queue, int64_t capacity) {
    int32_t slot = queue->slots[queue->oldest];
    queue->oldest = queue->oldest + 1 < capacity ? queue->oldest + 1 : 0;
    queue->used--;
    return slot;
}

/* The page that leaves from the small queue, CZ_NONE if all are promoted. */
static int32_t sift(s3fifo *state) {
    while (state->small.used > 0) {
        int32_t slot = pop(&state->small, state->capacity);
        if ((state->mark[slot] & FREQUENCY) < PROMOTE) {
            state->mark[slot] = 0;
            return slot;
        }
        state->mark[slot] = MAIN;
        push(&state->main, state->capacity, slot);
    }
    return CZ_NONE;
}

/* The page that leaves from the main queue. */
static int32_t reinsert(s3fifo *state) {
    int32_t slot = pop(&state->main, state->capacity);
    while (state->mark[slot] & FREQUENCY) {
        state->mark[slot]--;
        push(&state->main, state->capacity, slot);
        slot = pop(&state->main, state->capacity);
    }
    state->mark[slot] = 0;
    return slot;
}

static int32_t evict(s3fifo *state) {
    state->n.evicted = 1;
    int32_t slot = state->main.used <= state->capacity - state->share ? sift(state) : CZ_NONE;
    if (slot < 0)
        return reinsert(state);
    remember(state, slot);
    return slot;
}

static int serve(void *data, int32_t slot, uint32_t id, int64_t i, bool metadata, int32_t *victim) {
    (void)id;
    (void)i;
    (void)metadata;
    s3fifo *state = data;
    if (state->mark[slot]) {
        state->mark[slot] += (state->mark[slot] & FREQUENCY) != FREQUENCY;
        return CZ_HIT;
    }
    bool known = take_ghost(state, slot);
    if (state->small.used + state->main.used == state->capacity)
        *victim = evict(state);
    bool to_main = known || (!state->n.evicted && state->small.used >= state->share);
    push(to_main ? &state->main : &state->small, state->capacity, slot);
    state->mark[slot] = to_main ? MAIN : SMALL;
    return CZ_ADMITTED;
}

static bool holds(const void *data, int32_t slot) {
    const s3fifo *state = data;
    return state->mark[slot] || state->log[state->slot_of[slot]] == slot;
}

static int64_t most(int64_t capacity) {
    return capacity + ghosts_of(capacity) + 1;
}

/* The pages of a queue are found as its mark. */
static bool ring_sound(const ring *queue, int64_t capacity, uint8_t mark, cz_check *check) {
    if (queue->oldest < 0 || queue->oldest >= capacity || queue->used < 0 || queue->used > capacity)
        return false;
    for (int64_t k = 0; k < queue->used; k++) {
        int64_t at = queue->oldest + k;
        int32_t slot = queue->slots[at < capacity ? at : at - capacity];
        if (!cz_slot_sound(check, slot) || check->found[slot] != 0)
            return false;
        check->found[slot] = mark;
    }
    return true;
}

static bool ghosts_sound(const s3fifo *state, const cz_check *check) {
    int64_t live = 0;
    if (state->n.first < 0 || state->n.first >= state->size || state->n.span < 0 || state->n.span > state->size)
        return false;
    for (int64_t k = 0; k < state->size; k++) {
        int64_t from_first = k >= state->n.first ? k - state->n.first : k + state->size - state->n.first;
        int32_t slot = state->log[k];
        if (slot == CZ_NONE)
            continue;
        if (from_first >= state->n.span || !cz_slot_sound(check, slot) || state->slot_of[slot] != k ||
            state->mark[slot] != 0)
            return false;
        live++;
    }
    return live == state->n.live && live <= state->size / 2;
}

static bool sound(const void *data, cz_check *check) {
    const s3fifo *state = data;
    if (!ring_sound(&state->small, state->capacity, SMALL, check) ||
        !ring_sound(&state->main, state->capacity, MAIN, check) ||
        state->small.used + state->main.used > state->capacity)
        return false;
    for (int64_t slot = 0; slot < check->slots; slot++)
        if ((state->mark[slot] & ~FREQUENCY) != check->found[slot] || (!check->found[slot] && state->mark[slot]) ||
            state->slot_of[slot] < 0 || state->slot_of[slot] >= state->size)
            return false;
    return ghosts_sound(state, check);
}

const cz_classic_ops cz_s3fifo_ops = {"s3fifo", make, serve, holds, NULL, most, sound};
