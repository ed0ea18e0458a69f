/* Evictions by count: inlfu, lfu (kernels/evict). Of two pages the one with fewer uses, then the older, leaves. */
#include "policy_parts.h"

typedef struct rank {
    int64_t count, last; /* uses, and the access of the latest one */
} rank;
typedef struct entry {
    rank rank; /* as it was when the page came to its place: never above the page's own */
    int64_t node;
} entry;
typedef struct lfu {
    rank *own;
    entry *heap; /* the least first; entry k is above 4k + 1 to 4k + 4 */
    struct {
        int64_t heaped, once; /* inlfu, once: entries of list 0 */
    } n;
} lfu;

static bool less(const rank *left, const rank *right) {
    return left->count != right->count ? left->count < right->count : left->last < right->last;
}

static void make(cz_composed *p, const double *values) {
    (void)values;
    lfu *state = p->state = cz_memory_scratch(&p->memory, 1, sizeof *state);
    if (!state)
        return;
    state->own = cz_memory_room(&p->memory, (size_t)p->nodes_most, sizeof *state->own, &p->n.used);
    state->heap = cz_memory_room(&p->memory, (size_t)p->capacity, sizeof *state->heap, NULL);
    cz_memory_keep(&p->memory, &state->n, sizeof state->n);
}

static void fresh(cz_composed *p, int32_t node) {
    ((lfu *)p->state)->own[node] = (rank){0, 0};
}

static void rise(lfu *state, int64_t at, entry added) {
    for (int64_t up; at > 0 && (up = (at - 1) / 4, less(&added.rank, &state->heap[up].rank)); at = up)
        state->heap[at] = state->heap[up];
    state->heap[at] = added;
}

static void sink(lfu *state, entry added) {
    int64_t at = 0;
    for (int64_t child; (child = 4 * at + 1) < state->n.heaped; at = child) {
        int64_t last = child + 4 < state->n.heaped ? child + 4 : state->n.heaped;
        for (int64_t other = child + 1; other < last; other++)
            child = less(&state->heap[other].rank, &state->heap[child].rank) ? other : child;
        if (!less(&state->heap[child].rank, &added.rank))
            break;
        state->heap[at] = state->heap[child];
    }
    state->heap[at] = added;
}

/* Bring the page of least rank to the top: entries learn of later uses when they come there. It stops where all are above
 * a limit, if there is one. */
static void freshen(lfu *state, const rank *limit) {
    for (entry top = state->heap[0]; less(&top.rank, &state->own[top.node]) && (!limit || less(&top.rank, limit));
         top = state->heap[0]) {
        top.rank = state->own[top.node];
        sink(state, top);
    }
}

static int64_t most(int64_t capacity, const double *values) {
    (void)values;
    return capacity;
}

/* ---- lfu: counts of all pages that are known; a page below all the residents stays out ---- */

static void lfu_touch(cz_composed *p, int32_t node, int64_t i) {
    rank *own = &((lfu *)p->state)->own[node];
    *own = (rank){own->count + 1, i};
}

static int32_t lfu_insert(cz_composed *p, int32_t node, int64_t i) {
    lfu *state = p->state;
    int32_t victim = CZ_NONE;
    lfu_touch(p, node, i);
    const rank *own = &state->own[node];
    if (state->n.heaped < p->capacity) {
        rise(state, state->n.heaped++, (entry){*own, node});
    } else {
        freshen(state, own);
        if (less(own, &state->heap[0].rank))
            return CZ_REFUSED;
        victim = (int32_t)state->heap[0].node;
        p->nodes[victim].mark = 0;
        sink(state, (entry){*own, node});
    }
    p->nodes[node].mark = 1;
    return victim;
}

const cz_evict_ops cz_evict_lfu = {make, lfu_touch, lfu_insert, most, fresh};

/* ---- inlfu: counts since the page entered. Pages used once are in list 0, which learns late of those used again ---- */

enum { ONCE = 1, AGAIN = 2, HEAPED = 3 };

static void inlfu_touch(cz_composed *p, int32_t node, int64_t i) {
    p->nodes[node].mark = p->nodes[node].mark == HEAPED ? HEAPED : AGAIN;
    lfu_touch(p, node, i);
}

static int32_t leave(cz_composed *p, lfu *state) {
    while (state->n.once > 0) {
        int32_t node = cz_node_pop(p->nodes, 0);
        state->n.once--;
        if (p->nodes[node].mark == ONCE)
            return node;
        p->nodes[node].mark = HEAPED;
        rise(state, state->n.heaped++, (entry){state->own[node], node});
    }
    freshen(state, NULL);
    int32_t node = (int32_t)state->heap[0].node;
    if (--state->n.heaped > 0)
        sink(state, state->heap[state->n.heaped]);
    return node;
}

static int32_t inlfu_insert(cz_composed *p, int32_t node, int64_t i) {
    lfu *state = p->state;
    int32_t victim = CZ_NONE;
    if (p->n.resident == p->capacity) {
        victim = leave(p, state);
        p->nodes[victim].mark = 0;
    }
    cz_node_head(p->nodes, 0, node);
    state->n.once++;
    p->nodes[node].mark = ONCE;
    state->own[node] = (rank){1, i};
    return victim;
}

const cz_evict_ops cz_evict_inlfu = {make, inlfu_touch, inlfu_insert, most, NULL};
