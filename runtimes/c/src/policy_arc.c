/* Evictions that adapt to what they regret: arc, larc (kernels/evict). */
#include "policy_parts.h"

/* ---- arc: lists T1, T2, B1, B2, the most recent first; marks are one more ---- */

enum { T1, T2, B1, B2, NOWHERE };

typedef struct arc {
    struct {
        int64_t length[NOWHERE];
        double target;
    } n;
} arc;

static void arc_make(cz_composed *p, const double *values) {
    (void)values;
    arc *state = p->state = cz_memory_scratch(&p->memory, 1, sizeof *state);
    if (state)
        cz_memory_keep(&p->memory, &state->n, sizeof state->n);
}

static void enter(cz_composed *p, int64_t *length, int list, int32_t node) {
    p->nodes[node].mark = (uint8_t)(list + 1);
    length[list]++;
    cz_node_head(p->nodes, list, node);
}

static int32_t drop_tail(cz_composed *p, int64_t *length, int list) {
    int32_t node = cz_node_pop(p->nodes, list);
    p->nodes[node].mark = 0;
    length[list]--;
    return node;
}

static void take_out(cz_composed *p, int64_t *length, int32_t node) {
    cz_node_out(p->nodes, node);
    length[p->nodes[node].mark - 1]--;
}

static void arc_touch(cz_composed *p, int32_t node, int64_t i) {
    (void)i;
    arc *state = p->state;
    take_out(p, state->n.length, node);
    enter(p, state->n.length, T2, node);
}

/* Evict a page of T1 or T2 into its history. */
static int32_t replace(cz_composed *p, arc *state, bool was_in_b2) {
    double recent = (double)state->n.length[T1];
    bool first = recent > 0 && (recent > state->n.target || (was_in_b2 && recent == state->n.target));
    int32_t node = drop_tail(p, state->n.length, first ? T1 : T2);
    enter(p, state->n.length, first ? B1 : B2, node);
    return node;
}

/* The list whose least recent page is forgotten for a page that no list knows: Case IV; NOWHERE for none. */
static int too_long(const cz_composed *p, const arc *state) {
    const int64_t *length = state->n.length;
    int64_t recent = length[T1] + length[B1];
    if (recent == p->capacity)
        return length[T1] < recent ? B1 : T1;
    return recent + length[T2] + length[B2] == 2 * p->capacity ? B2 : NOWHERE;
}

/* Move the target towards the history that was asked: Cases II and III. */
static void adapt(const cz_composed *p, arc *state, int where) {
    double b1 = (double)state->n.length[B1], b2 = (double)state->n.length[B2], most = (double)p->capacity;
    double step = where == B1 ? b2 / b1 : b1 / b2, target;
    step = step > 1.0 ? step : 1.0;
    target = where == B1 ? state->n.target + step : state->n.target - step;
    state->n.target = target > most ? most : target < 0.0 ? 0.0 : target;
}

static int32_t arc_insert(cz_composed *p, int32_t node, int64_t i) {
    (void)i;
    arc *state = p->state;
    int64_t *length = state->n.length;
    int where = p->nodes[node].mark ? p->nodes[node].mark - 1 : NOWHERE, forget = NOWHERE;
    int32_t victim = CZ_NONE;
    if (where == NOWHERE)
        forget = too_long(p, state);
    else
        adapt(p, state, where);
    if (forget == T1) {
        victim = drop_tail(p, length, T1);
    } else {
        if (forget != NOWHERE)
            cz_policy_gone(p, drop_tail(p, length, forget));
        if (length[T1] + length[T2] == p->capacity)
            victim = replace(p, state, where == B2);
    }
    if (where != NOWHERE)
        take_out(p, length, node);
    enter(p, length, where == NOWHERE ? T1 : T2, node);
    return victim;
}

static int64_t arc_most(int64_t capacity, const double *values) {
    (void)values;
    return 2 * capacity;
}

const cz_evict_ops cz_evict_arc = {arc_make, arc_touch, arc_insert, arc_most, NULL};

/* ---- larc: lists CACHE, FILTER, the most recent first; marks are one more ---- */

enum { CACHE, FILTER, LISTS };

typedef struct larc {
    struct {
        int64_t length[LISTS];
        double size; /* of the filter */
    } n;
} larc;

static void larc_make(cz_composed *p, const double *values) {
    (void)values;
    larc *state = p->state = cz_memory_scratch(&p->memory, 1, sizeof *state);
    if (!state)
        return;
    state->n.size = 0.1 * (double)p->capacity;
    cz_memory_keep(&p->memory, &state->n, sizeof state->n);
}

static void larc_touch(cz_composed *p, int32_t node, int64_t i) {
    (void)i;
    larc *state = p->state;
    double capacity = (double)p->capacity, least = 0.1 * capacity,
           size = state->n.size - capacity / (capacity - state->n.size);
    state->n.size = size > least ? size : least;
    cz_node_out(p->nodes, node);
    cz_node_head(p->nodes, CACHE, node);
}

static void filter(cz_composed *p, larc *state, int32_t node) {
    double most = state->n.size > 1.0 ? state->n.size : 1.0;
    enter(p, state->n.length, FILTER, node);
    if ((double)state->n.length[FILTER] > most)
        cz_policy_gone(p, drop_tail(p, state->n.length, FILTER));
}

static int32_t larc_insert(cz_composed *p, int32_t node, int64_t i) {
    (void)i;
    larc *state = p->state;
    double capacity = (double)p->capacity, most = 0.9 * capacity, size = state->n.size + capacity / state->n.size;
    int32_t victim = CZ_NONE;
    state->n.size = size < most ? size : most;
    if (!p->nodes[node].mark) {
        filter(p, state, node);
        return CZ_REFUSED;
    }
    take_out(p, state->n.length, node);
    if (state->n.length[CACHE] == p->capacity)
        victim = drop_tail(p, state->n.length, CACHE);
    enter(p, state->n.length, CACHE, node);
    return victim;
}

static int64_t larc_most(int64_t capacity, const double *values) {
    (void)values;
    return 2 * capacity + 1;
}

const cz_evict_ops cz_evict_larc = {larc_make, larc_touch, larc_insert, larc_most, NULL};
