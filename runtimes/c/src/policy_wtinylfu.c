/* W-TinyLFU: a window, a segmented LRU, and a sketch of counts that decides who crosses (kernels/evict/wtinylfu.py).
 *
 * The sketch hashes a page's number by first appearance, as the kernel does. */
#include "policy_parts.h"

enum { OUT, WINDOW, PROBATION, PROTECTED }; /* marks; the ends of the lists are one less */
enum { COUNTERS = 16, LIMIT = 15, HASHES = 4 };
static const uint32_t multipliers[HASHES] = {0x9E3779B1u, 0xB5297A4Du, 0x68E31DA5u, 0x1B56C4E9u};

typedef struct wtinylfu {
    uint8_t *table;
    uint64_t width;
    int64_t window, main, protected, period;
    struct {
        int64_t age, held[4];
    } n;
} wtinylfu;

static void make(cz_composed *p, const double *values) {
    wtinylfu *state = p->state = cz_memory_scratch(&p->memory, 1, sizeof *state);
    if (!state)
        return;
    double capacity = (double)p->capacity;
    int64_t window = (int64_t)(values[0] * capacity), period = (int64_t)(values[2] * capacity);
    state->window = window > 1 ? window : 1;
    state->main = p->capacity - state->window;
    state->protected = (int64_t)(values[1] * (double)state->main + 1e-9);
    state->period = period > 2 ? period : 2;
    state->width = COUNTERS * (uint64_t)p->capacity;
    state->table = cz_memory_room(&p->memory, state->width, sizeof *state->table, NULL);
    cz_memory_keep(&p->memory, &state->n, sizeof state->n);
}

static void cells(const wtinylfu *state, uint32_t id, uint8_t *found[HASHES]) {
    for (int k = 0; k < HASHES; k++)
        found[k] = &state->table[(uint64_t)((id + 1) * multipliers[k]) * state->width >> 32];
}

static uint8_t least(uint8_t *const cell[HASHES]) {
    uint8_t one = *cell[0] < *cell[1] ? *cell[0] : *cell[1], other = *cell[2] < *cell[3] ? *cell[2] : *cell[3];
    return one < other ? one : other;
}

static uint8_t seen(const wtinylfu *state, uint32_t id) {
    uint8_t *found[HASHES];
    cells(state, id, found);
    return least(found);
}

/* An access; no count grows above LIMIT, and at the end of a period all are halved. */
static void count(wtinylfu *state, uint8_t *const cell[HASHES]) {
    uint8_t raised = least(cell);
    raised += raised < LIMIT;
    for (int k = 0; k < HASHES; k++)
        *cell[k] = *cell[k] < raised ? raised : *cell[k];
    if (++state->n.age < state->period)
        return;
    for (uint64_t k = 0; k < state->width; k++)
        state->table[k] >>= 1;
    state->n.age >>= 1;
}

static void enter(cz_composed *p, wtinylfu *state, int32_t node, uint8_t to) {
    cz_node_head(p->nodes, to - 1, node);
    state->n.held[to]++;
    p->nodes[node].mark = to;
}

static void leave(cz_composed *p, wtinylfu *state, int32_t node) {
    cz_node_out(p->nodes, node);
    state->n.held[p->nodes[node].mark]--;
    p->nodes[node].mark = OUT;
}

/* The cells of a page are on their way while its lists change. */
static void ask(const cz_composed *p, int32_t node, uint8_t *cell[HASHES]) {
    cells(p->state, p->nodes[node].id, cell);
    for (int k = 0; k < HASHES; k++)
        __builtin_prefetch(cell[k], 1);
}

static void touch(cz_composed *p, int32_t node, int64_t i) {
    (void)i;
    wtinylfu *state = p->state;
    uint8_t was = p->nodes[node].mark, *cell[HASHES];
    ask(p, node, cell);
    leave(p, state, node);
    enter(p, state, node, was == WINDOW ? WINDOW : PROTECTED);
    if (state->n.held[PROTECTED] > state->protected) {
        int32_t oldest = p->nodes[PROTECTED - 1].before;
        leave(p, state, oldest);
        enter(p, state, oldest, PROBATION);
    }
    count(state, cell);
}

/* The window's oldest page is weighed against what would leave the main part; returns the page that leaves. */
static int32_t weigh(cz_composed *p, wtinylfu *state) {
    int32_t candidate = p->nodes[WINDOW - 1].before;
    leave(p, state, candidate);
    if (state->n.held[PROBATION] + state->n.held[PROTECTED] < state->main) {
        enter(p, state, candidate, PROBATION);
        return CZ_NONE;
    }
    if (state->main == 0)
        return candidate;
    int32_t rival = p->nodes[(state->n.held[PROBATION] > 0 ? PROBATION : PROTECTED) - 1].before;
    if (seen(state, p->nodes[candidate].id) <= seen(state, p->nodes[rival].id))
        return candidate;
    leave(p, state, rival);
    enter(p, state, candidate, PROBATION);
    return rival;
}

static int32_t insert(cz_composed *p, int32_t node, int64_t i) {
    (void)i;
    wtinylfu *state = p->state;
    uint8_t *cell[HASHES];
    ask(p, node, cell);
    enter(p, state, node, WINDOW);
    int32_t victim = state->n.held[WINDOW] > state->window ? weigh(p, state) : CZ_NONE;
    count(state, cell);
    return victim;
}

static int64_t most(int64_t capacity, const double *values) {
    (void)values;
    return capacity;
}

const cz_evict_ops cz_evict_wtinylfu = {make, touch, insert, most, NULL};
