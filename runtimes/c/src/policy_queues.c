/* Evictions that are queues by order of entry or of use: lru, fifo, clock, sieve, s3fifo, twoq (kernels/evict). */
#include "policy_parts.h"

static int64_t capacity_alone(int64_t capacity, const double *values) {
    (void)values;
    return capacity;
}

/* ---- lru, fifo: list 0, the oldest last ---- */

static void no_state(cz_composed *p, const double *values) {
    (void)values;
    p->state = NULL;
}

static void lru_touch(cz_composed *p, int32_t node, int64_t i) {
    (void)i;
    cz_node_out(p->nodes, node);
    cz_node_head(p->nodes, 0, node);
}

static void fifo_touch(cz_composed *p, int32_t node, int64_t i) {
    (void)p, (void)node, (void)i;
}

static int32_t oldest_leaves(cz_composed *p, int32_t node, int64_t i) {
    (void)i;
    int32_t victim = CZ_NONE;
    if (p->n.resident == p->capacity) {
        victim = cz_node_pop(p->nodes, 0);
        p->nodes[victim].mark = 0;
    }
    p->nodes[node].mark = 1;
    cz_node_head(p->nodes, 0, node);
    return victim;
}

const cz_evict_ops cz_evict_lru = {no_state, lru_touch, oldest_leaves, capacity_alone, NULL};
const cz_evict_ops cz_evict_fifo = {no_state, fifo_touch, oldest_leaves, capacity_alone, NULL};

/* ---- clock: the circle is list 0 from the hand on; what the hand passes goes to the head. Mark: 1 + references ---- */

typedef struct clock {
    uint8_t first, top;
} clock;

static void clock_make(cz_composed *p, const double *values) {
    clock *state = p->state = cz_memory_scratch(&p->memory, 1, sizeof *state);
    if (state)
        *state = (clock){(uint8_t)(1 + values[1]), (uint8_t)(1 << (int)values[0])};
}

static void clock_touch(cz_composed *p, int32_t node, int64_t i) {
    (void)i;
    const clock *state = p->state;
    p->nodes[node].mark += p->nodes[node].mark < state->top;
}

static int32_t clock_insert(cz_composed *p, int32_t node, int64_t i) {
    (void)i;
    const clock *state = p->state;
    int32_t victim = CZ_NONE;
    if (p->n.resident == p->capacity) {
        for (victim = cz_node_pop(p->nodes, 0); p->nodes[victim].mark > 1; victim = cz_node_pop(p->nodes, 0)) {
            p->nodes[victim].mark--;
            cz_node_head(p->nodes, 0, victim);
        }
        p->nodes[victim].mark = 0;
    }
    p->nodes[node].mark = state->first;
    cz_node_head(p->nodes, 0, node);
    return victim;
}

const cz_evict_ops cz_evict_clock = {clock_make, clock_touch, clock_insert, capacity_alone, NULL};

/* ---- sieve: list 0, the hand goes from its tail to its head. Mark: 1, 2 where it was used since ---- */

typedef struct sieve {
    struct {
        int64_t hand; /* node, 0: the oldest */
    } n;
} sieve;

static void sieve_make(cz_composed *p, const double *values) {
    (void)values;
    sieve *state = p->state = cz_memory_scratch(&p->memory, 1, sizeof *state);
    if (state)
        cz_memory_keep(&p->memory, &state->n, sizeof state->n);
}

static void sieve_touch(cz_composed *p, int32_t node, int64_t i) {
    (void)i;
    p->nodes[node].mark = 2;
}

static int32_t sieve_insert(cz_composed *p, int32_t node, int64_t i) {
    (void)i;
    sieve *state = p->state;
    cz_node *nodes = p->nodes;
    int32_t victim = CZ_NONE;
    if (p->n.resident == p->capacity) {
        victim = state->n.hand ? (int32_t)state->n.hand : nodes[0].before;
        while (nodes[victim].mark > 1) {
            nodes[victim].mark = 1;
            victim = nodes[victim].before ? nodes[victim].before : nodes[0].before;
        }
        nodes[victim].mark = 0;
        state->n.hand = nodes[victim].before;
        cz_node_out(nodes, victim);
    }
    nodes[node].mark = 1;
    cz_node_head(nodes, 0, node);
    return victim;
}

const cz_evict_ops cz_evict_sieve = {sieve_make, sieve_touch, sieve_insert, capacity_alone, NULL};

/* ---- ghosts: a list by order of entry, from whose middle any may be taken (kernels/ghosts.py) ---- */

static void haunt(cz_composed *p, int32_t end, uint8_t mark, int64_t room, int64_t *live, int32_t node) {
    if (room == 0)
        return;
    if (*live == room) {
        int32_t oldest = cz_node_pop(p->nodes, end);
        p->nodes[oldest].mark = 0;
        cz_policy_gone(p, oldest);
        --*live;
    }
    ++*live;
    p->nodes[node].mark = mark;
    cz_node_head(p->nodes, end, node);
}

/* ---- s3fifo. Mark: frequency in the low bits, and the queue ---- */

enum { SMALL, MAIN, GHOSTS }; /* ends */
enum { FREQUENCY = 3, IN_SMALL = 4, IN_MAIN = 8, GHOST = 16 };

typedef struct s3fifo {
    int64_t share, room;
    uint8_t promote;
    struct {
        int64_t small, main, ghosts, evicted;
    } n;
} s3fifo;

static void s3fifo_make(cz_composed *p, const double *values) {
    s3fifo *state = p->state = cz_memory_scratch(&p->memory, 1, sizeof *state);
    if (!state)
        return;
    int64_t share = (int64_t)((double)p->capacity * values[0]);
    state->share = share > 1 ? share : 1;
    state->room = (int64_t)((double)p->capacity * values[1]);
    state->promote = (uint8_t)values[2];
    cz_memory_keep(&p->memory, &state->n, sizeof state->n);
}

static void s3fifo_touch(cz_composed *p, int32_t node, int64_t i) {
    (void)i;
    p->nodes[node].mark += (p->nodes[node].mark & FREQUENCY) != FREQUENCY;
}

/* The page that leaves from the small queue, CZ_NONE if all are promoted. */
static int32_t sift(cz_composed *p, s3fifo *state) {
    while (state->n.small > 0) {
        int32_t node = cz_node_pop(p->nodes, SMALL);
        state->n.small--;
        if ((p->nodes[node].mark & FREQUENCY) < state->promote) {
            p->nodes[node].mark = 0;
            return node;
        }
        p->nodes[node].mark = IN_MAIN;
        cz_node_head(p->nodes, MAIN, node);
        state->n.main++;
    }
    return CZ_NONE;
}

/* The page that leaves from the main queue. */
static int32_t reinsert(cz_composed *p, s3fifo *state) {
    int32_t node = cz_node_pop(p->nodes, MAIN);
    while (p->nodes[node].mark & FREQUENCY) {
        p->nodes[node].mark--;
        cz_node_head(p->nodes, MAIN, node);
        node = cz_node_pop(p->nodes, MAIN);
    }
    p->nodes[node].mark = 0;
    state->n.main--;
    return node;
}

static int32_t s3fifo_insert(cz_composed *p, int32_t node, int64_t i) {
    (void)i;
    s3fifo *state = p->state;
    bool known = p->nodes[node].mark != 0;
    int32_t victim = CZ_NONE;
    if (known) {
        cz_node_out(p->nodes, node);
        state->n.ghosts--;
    }
    if (state->n.small + state->n.main == p->capacity) {
        state->n.evicted = 1;
        if (state->n.main <= p->capacity - state->share)
            victim = sift(p, state);
        if (victim >= 0)
            haunt(p, GHOSTS, GHOST, state->room, &state->n.ghosts, victim);
        else
            victim = reinsert(p, state);
    }
    bool to_main = known || (!state->n.evicted && state->n.small >= state->share);
    p->nodes[node].mark = to_main ? IN_MAIN : IN_SMALL;
    cz_node_head(p->nodes, to_main ? MAIN : SMALL, node);
    *(to_main ? &state->n.main : &state->n.small) += 1;
    return victim;
}

static int64_t s3fifo_most(int64_t capacity, const double *values) {
    return capacity + (int64_t)((double)capacity * values[1]);
}

const cz_evict_ops cz_evict_s3fifo = {s3fifo_make, s3fifo_touch, s3fifo_insert, s3fifo_most, NULL};

/* ---- twoq. Mark: A1in, Am, A1out ---- */

enum { A1IN, AM, A1OUT }; /* ends; marks are one more */

typedef struct twoq {
    int64_t kin, room;
    struct {
        int64_t in, ghosts;
    } n;
} twoq;

static void twoq_make(cz_composed *p, const double *values) {
    twoq *state = p->state = cz_memory_scratch(&p->memory, 1, sizeof *state);
    if (!state)
        return;
    state->kin = (int64_t)((double)p->capacity * values[0]);
    state->room = (int64_t)((double)p->capacity * values[1]);
    cz_memory_keep(&p->memory, &state->n, sizeof state->n);
}

static void twoq_touch(cz_composed *p, int32_t node, int64_t i) {
    (void)i;
    if (p->nodes[node].mark != AM + 1)
        return;
    cz_node_out(p->nodes, node);
    cz_node_head(p->nodes, AM, node);
}

static int32_t twoq_insert(cz_composed *p, int32_t node, int64_t i) {
    (void)i;
    twoq *state = p->state;
    bool known = p->nodes[node].mark != 0;
    int32_t victim = CZ_NONE;
    if (known) {
        cz_node_out(p->nodes, node);
        state->n.ghosts--;
    }
    if (p->n.resident < p->capacity) {
        ;
    } else if (state->n.in > state->kin || state->n.in == p->capacity) {
        victim = cz_node_pop(p->nodes, A1IN);
        state->n.in--;
        p->nodes[victim].mark = 0;
        haunt(p, A1OUT, A1OUT + 1, state->room, &state->n.ghosts, victim);
    } else {
        victim = cz_node_pop(p->nodes, AM);
        p->nodes[victim].mark = 0;
    }
    p->nodes[node].mark = known ? AM + 1 : A1IN + 1;
    cz_node_head(p->nodes, known ? AM : A1IN, node);
    state->n.in += !known;
    return victim;
}

const cz_evict_ops cz_evict_twoq = {twoq_make, twoq_touch, twoq_insert, s3fifo_most, NULL};
