/* Parts of the page cache of kind policy (policy_cache.c): pages by number, and the evictions.
 *
 * Each eviction does what the kernel of the same name does (src/cachezoo/kernels/evict): the same operations in the same
 * order, so outcomes and victims are the simulator's. A page that is known is a node; nodes below CZ_FIRST_NODE are the
 * ends of lists. A page is resident where its node has a slot. */
#ifndef CZ_POLICY_PARTS_H
#define CZ_POLICY_PARTS_H

#include "policy.h"
#include "reuse_parts.h"

/* Ends: 0 to 3 are the eviction's; then pages that are remembered though the eviction holds nothing of them, the newest
 * first, and those that it has just given up. */
enum { CZ_PREFETCHED = 3 }; /* an outcome, besides those of reuse_parts.h */
enum { CZ_UNHELD = 4, CZ_GONE = 5, CZ_FIRST_NODE = 6 };

typedef struct cz_node {
    uint64_t number : 52;
    uint64_t mark : 8; /* the eviction's: 0 where it holds neither the page nor a ghost of it */
    uint64_t dirty : 1;
    uint64_t known : 1; /* by its number; the page has become another one where it is not */
    uint64_t gone : 1;
    int32_t volume, next; /* next: of those that were given back */
    int32_t slot;         /* -1: not resident */
    uint32_t id;          /* by first appearance */
    int32_t before, after;
} cz_node;

typedef struct cz_composed cz_composed;
typedef struct cz_evict_ops {
    /* Its state, in p->state, for p->capacity pages and p->nodes_most nodes; the memory may have failed. */
    void (*make)(cz_composed *p, const double *values);
    void (*touch)(cz_composed *p, int32_t node, int64_t i); /* access i hit */
    /* Access i missed, and its page is let in: the node that leaves, CZ_NONE or CZ_REFUSED. The node has mark 0 and is in
     * no list, or is a ghost. Victims keep their slot; ghosts that are given up are passed to cz_policy_gone. */
    int32_t (*insert)(cz_composed *p, int32_t node, int64_t i);
    int64_t (*most)(int64_t capacity, const double *values); /* pages and ghosts that it holds at most */
    void (*fresh)(cz_composed *p, int32_t node);             /* the node is another page's from now on; may be NULL */
} cz_evict_ops;
extern const cz_evict_ops cz_evict_arc, cz_evict_clock, cz_evict_fifo, cz_evict_inlfu, cz_evict_larc, cz_evict_lfu,
    cz_evict_lirs, cz_evict_lru, cz_evict_s3fifo, cz_evict_sieve, cz_evict_twoq, cz_evict_wtinylfu;

struct cz_composed {
    cz_node *nodes;
    uint64_t *buckets; /* see policy_cache.c */
    const cz_evict_ops *ops;
    void *state;
    uint64_t *unused; /* a bit of each slot that no page has */
    int64_t *missed;  /* RejectX: of each node its last misses, the newest first, -1 where there is none */
    cz_policy_page *served;
    cz_policy_plan plan;
    cz_memory memory;
    int64_t capacity, nodes_most, buckets_most, ahead, window, misses; /* window, misses: RejectX's */
    uint64_t below;                                                    /* CoinFlip: draws that admit */
    uint32_t seed;
    enum cz_writes writes;
    bool keep, ids; /* pages are remembered though nothing holds them; all that are asked for get a number */
    bool fetch;     /* a page of the present request was admitted */
    struct {
        int64_t accesses, used, resident, unheld, word; /* used: nodes so far; word: of unused, where to look first */
        int64_t spares;                                 /* nodes that were given back */
        int32_t spare;                                  /* the first of them, 0: none */
        uint32_t ids;
        uint64_t requests, units, hits, admitted, bypassed, prefetched, evicted, dirty_evicted, forgotten;
    } n;
};

void cz_policy_gone(cz_composed *p, int32_t node); /* in no list, mark 0 */

/* ---- lists of nodes, as those of reuse_parts.h ---- */

static inline void cz_node_out(cz_node *nodes, int32_t node) {
    nodes[nodes[node].before].after = nodes[node].after;
    nodes[nodes[node].after].before = nodes[node].before;
}

static inline void cz_node_head(cz_node *nodes, int32_t end, int32_t node) {
    int32_t first = nodes[end].after;
    nodes[node].before = end;
    nodes[node].after = first;
    nodes[first].before = node;
    nodes[end].after = node;
}

static inline int32_t cz_node_pop(cz_node *nodes, int32_t end) {
    int32_t node = nodes[end].before;
    cz_node_out(nodes, node);
    return node;
}

#endif
