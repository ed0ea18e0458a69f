/* LIRS: pages that come back after few others keep almost all of the cache (kernels/evict/lirs.py), at its defaults. */
#include "reuse_check.h"

/* What a page is: nothing; LIR; HIR and resident, in the stack or not; HIR, gone, but in the stack. */
enum { NOWHERE, LIR, HIR, QUEUED, GHOST };
enum { LOW, HIGH }; /* ends of the stack's two lists: LIR pages, HIR pages */

typedef struct lirs {
    cz_link *stack, *queue;
    int64_t *last; /* of each page */
    uint8_t *kind;
    int64_t lirs, hirs, longest;
    struct {
        int64_t low, high, queued;
    } n;
} lirs;

static int64_t hirs_of(int64_t capacity) {
    int64_t hirs = (int64_t)(0.01 * (double)capacity);
    return hirs > 1 ? hirs : 1;
}

static void *make(cz_memory *memory, cz_table *pages, int64_t capacity) {
    lirs *state = cz_memory_scratch(memory, 1, sizeof *state);
    if (state == NULL)
        return NULL;
    size_t slots = (size_t)pages->most;
    state->hirs = hirs_of(capacity);
    state->lirs = capacity - state->hirs;
    state->longest = (int64_t)(2.0 * (double)capacity);
    state->stack = cz_memory_room(memory, slots, sizeof *state->stack, &pages->n.used);
    state->queue = cz_memory_room(memory, slots, sizeof *state->queue, &pages->n.used);
    state->last = cz_table_last(pages, memory);
    state->kind = cz_memory_room(memory, slots, sizeof *state->kind, &pages->n.used);
    cz_memory_keep(memory, &state->n, sizeof state->n);
    if (!memory->failed) {
        cz_link_ends(state->stack);
        cz_link_ends(state->queue);
    }
    return state;
}

/* Take a HIR page out of the stack. */
static void drop_high(lirs *state, int32_t slot) {
    cz_unlink(state->stack, slot);
    state->n.high--;
    state->kind[slot] = state->kind[slot] == GHOST ? NOWHERE : QUEUED;
}

/* Take out of the stack what lies below its lowest LIR page. */
static void prune(lirs *state) {
    int64_t bottom = state->last[state->stack[LOW].before];
    for (int32_t slot = state->stack[HIGH].before; slot >= CZ_FIRST_SLOT && state->last[slot] < bottom;
         slot = state->stack[HIGH].before)
        drop_high(state, slot);
}

/* A HIR page of the stack becomes LIR, the lowest LIR page becomes HIR and joins the queue. */
static void promote(lirs *state, int32_t slot) {
    cz_unlink(state->stack, slot);
    int32_t lowest = cz_pop_tail(state->stack, LOW);
    state->kind[lowest] = QUEUED;
    cz_link_head(state->queue, 0, lowest);
    state->kind[slot] = LIR;
    cz_link_head(state->stack, LOW, slot);
    state->n.high--;
    prune(state);
}

/* A resident HIR page goes on top of the stack, which may then be too long. */
static void stack_high(lirs *state, int32_t slot) {
    if (state->lirs == 0) {
        state->kind[slot] = QUEUED;
        return;
    }
    state->kind[slot] = HIR;
    cz_link_head(state->stack, HIGH, slot);
    state->n.high++;
    if (state->n.low + state->n.high > state->longest)
        drop_high(state, state->stack[HIGH].before);
}

static void touch(lirs *state, int32_t slot) {
    uint8_t kind = state->kind[slot];
    if (kind == LIR) {
        bool lowest = state->stack[slot].after == LOW;
        cz_unlink(state->stack, slot);
        cz_link_head(state->stack, LOW, slot);
        if (lowest)
            prune(state);
        return;
    }
    cz_unlink(state->queue, slot);
    if (kind == HIR) {
        promote(state, slot);
    } else {
        stack_high(state, slot);
        cz_link_head(state->queue, 0, slot);
    }
}

/* The front of the queue leaves the cache; in the stack it stays as a ghost. */
static int32_t drive_out(lirs *state) {
    int32_t slot = cz_pop_tail(state->queue, 0);
    state->kind[slot] = state->kind[slot] == HIR ? GHOST : NOWHERE;
    return slot;
}

static int serve(void *data, int32_t slot, uint32_t id, int64_t i, bool metadata, int32_t *victim) {
    (void)id;
    (void)metadata;
    lirs *state = data;
    state->last[slot] = i;
    if (state->kind[slot] >= LIR && state->kind[slot] <= QUEUED) {
        touch(state, slot);
        return CZ_HIT;
    }
    if (state->n.low < state->lirs) {
        state->n.low++;
        state->kind[slot] = LIR;
        cz_link_head(state->stack, LOW, slot);
        return CZ_ADMITTED;
    }
    if (state->n.queued < state->hirs)
        state->n.queued++;
    else
        *victim = drive_out(state);
    if (state->kind[slot] == GHOST) {
        promote(state, slot);
    } else {
        stack_high(state, slot);
        cz_link_head(state->queue, 0, slot);
    }
    return CZ_ADMITTED;
}

static bool holds(const void *data, int32_t slot) {
    return ((const lirs *)data)->kind[slot] != NOWHERE;
}

static int64_t most(int64_t capacity) {
    return 2 * capacity + hirs_of(capacity) + 1;
}

/* In which list of the stack pages of a kind are, and whether they are in the queue. */
static const uint8_t stack_of[] = {0, LOW + 1, HIGH + 1, 0, HIGH + 1}, queue_of[] = {0, 0, 1, 1, 0};

static bool sound(const void *data, cz_check *check) {
    const lirs *state = data;
    int64_t low, high, queued;
    if (!cz_list_sound(state->stack, LOW, check, &low) || !cz_list_sound(state->stack, HIGH, check, &high))
        return false;
    for (int64_t slot = 0; slot < check->slots; slot++)
        if (state->kind[slot] > GHOST || stack_of[state->kind[slot]] != check->found[slot])
            return false;
    cz_check_anew(check);
    if (!cz_list_sound(state->queue, 0, check, &queued))
        return false;
    for (int64_t slot = 0; slot < check->slots; slot++) {
        if (queue_of[state->kind[slot]] != check->found[slot])
            return false;
        check->found[slot] = state->kind[slot] >= LIR && state->kind[slot] <= QUEUED;
    }
    bool full = low == state->lirs, stacked = high == 0 || state->lirs > 0;
    return low == state->n.low && high == state->n.high && queued == state->n.queued && low <= state->lirs &&
           queued <= state->hirs && low + high <= state->longest && (full || high + queued == 0) && stacked;
}

const cz_classic_ops cz_lirs_ops = {"lirs", make, serve, holds, NULL, most, sound};
