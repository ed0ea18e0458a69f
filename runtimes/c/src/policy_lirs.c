/* LIRS: pages that come back after few others keep almost all of the cache (kernels/evict/lirs.py). */
#include "policy_parts.h"

enum { LOW, HIGH };                        /* the stack's two lists: LIR pages, HIR pages */
enum { NOWHERE, LIR, HIR, QUEUED, GHOST }; /* marks: HIR and resident, in the stack or not; gone, but in the stack */

typedef struct lirs {
    cz_link *queue; /* of resident HIR pages, its end is 0 */
    int64_t *last;  /* access, where the stack holds the page */
    int64_t lirs, hirs, longest;
    struct {
        int64_t low, high, queued;
    } n;
} lirs;

static int64_t hirs_of(int64_t capacity, const double *values) {
    int64_t hirs = (int64_t)(values[0] * (double)capacity);
    return hirs > 1 ? hirs : 1;
}

static void make(cz_composed *p, const double *values) {
    lirs *state = p->state = cz_memory_scratch(&p->memory, 1, sizeof *state);
    if (!state)
        return;
    size_t nodes = (size_t)p->nodes_most;
    state->hirs = hirs_of(p->capacity, values);
    state->lirs = p->capacity - state->hirs;
    state->longest = (int64_t)(values[1] * (double)p->capacity);
    state->queue = cz_memory_room(&p->memory, nodes, sizeof *state->queue, &p->n.used);
    state->last = cz_memory_room(&p->memory, nodes, sizeof *state->last, &p->n.used);
    cz_memory_keep(&p->memory, &state->n, sizeof state->n);
}

static void to_top(cz_composed *p, lirs *state, int end, int32_t node, int64_t i) {
    state->last[node] = i;
    cz_node_head(p->nodes, end, node);
}

/* Take a HIR page out of the stack. */
static void drop_high(cz_composed *p, lirs *state, int32_t node) {
    cz_node_out(p->nodes, node);
    state->n.high--;
    bool ghost = p->nodes[node].mark == GHOST;
    p->nodes[node].mark = ghost ? NOWHERE : QUEUED;
    if (ghost)
        cz_policy_gone(p, node);
}

/* Take out of the stack what lies below its lowest LIR page. */
static void prune(cz_composed *p, lirs *state) {
    int64_t bottom = state->last[p->nodes[LOW].before];
    for (int32_t node = p->nodes[HIGH].before; node >= CZ_FIRST_NODE && state->last[node] < bottom;
         node = p->nodes[HIGH].before)
        drop_high(p, state, node);
}

/* A HIR page of the stack becomes LIR, the lowest LIR page becomes HIR and joins the queue. */
static void promote(cz_composed *p, lirs *state, int32_t node, int64_t i) {
    cz_node_out(p->nodes, node);
    int32_t lowest = cz_node_pop(p->nodes, LOW);
    p->nodes[lowest].mark = QUEUED;
    cz_link_head(state->queue, 0, lowest);
    p->nodes[node].mark = LIR;
    to_top(p, state, LOW, node, i);
    state->n.high--;
    prune(p, state);
}

/* A resident HIR page goes on top of the stack, which may then be too long. */
static void stack_high(cz_composed *p, lirs *state, int32_t node, int64_t i) {
    if (state->lirs == 0) {
        p->nodes[node].mark = QUEUED;
        return;
    }
    p->nodes[node].mark = HIR;
    to_top(p, state, HIGH, node, i);
    state->n.high++;
    if (state->n.low + state->n.high > state->longest)
        drop_high(p, state, p->nodes[HIGH].before);
}

static void touch(cz_composed *p, int32_t node, int64_t i) {
    lirs *state = p->state;
    uint8_t mark = p->nodes[node].mark;
    if (mark == LIR) {
        bool lowest = p->nodes[node].after == LOW;
        cz_node_out(p->nodes, node);
        to_top(p, state, LOW, node, i);
        if (lowest)
            prune(p, state);
        return;
    }
    cz_unlink(state->queue, node);
    if (mark == HIR) {
        promote(p, state, node, i);
    } else {
        stack_high(p, state, node, i);
        cz_link_head(state->queue, 0, node);
    }
}

/* The front of the queue leaves the cache; in the stack it stays as a ghost. */
static int32_t drive_out(cz_composed *p, lirs *state) {
    int32_t node = cz_pop_tail(state->queue, 0);
    p->nodes[node].mark = p->nodes[node].mark == HIR ? GHOST : NOWHERE;
    return node;
}

static int32_t insert(cz_composed *p, int32_t node, int64_t i) {
    lirs *state = p->state;
    int32_t victim = CZ_NONE;
    if (state->n.low < state->lirs) {
        state->n.low++;
        p->nodes[node].mark = LIR;
        to_top(p, state, LOW, node, i);
        return CZ_NONE;
    }
    if (state->n.queued < state->hirs)
        state->n.queued++;
    else
        victim = drive_out(p, state);
    if (p->nodes[node].mark == GHOST) {
        promote(p, state, node, i);
    } else {
        stack_high(p, state, node, i);
        cz_link_head(state->queue, 0, node);
    }
    return victim;
}

static int64_t most(int64_t capacity, const double *values) {
    return (int64_t)(values[1] * (double)capacity) + hirs_of(capacity, values) + 1;
}

const cz_evict_ops cz_evict_lirs = {make, touch, insert, most, NULL};
