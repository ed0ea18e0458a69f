/* Where a unit of a volume stands among a fixed number of nodes, and lists of nodes. All memory at *_new. */
#ifndef CZ_INDEX_H
#define CZ_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CZ_NO_NODE (-1)

typedef struct cz_key {
    int64_t number; /* of the unit in its volume */
    int32_t volume;
} cz_key;

/* Keys by node, and nodes by key: open addressing, at most half full, no tombstones. */
typedef struct cz_index {
    cz_key *keys;     /* of each node; stale where the node is not in the index */
    int32_t *buckets; /* node or CZ_NO_NODE */
    uint64_t mask;
    int shift;
} cz_index;

/* 0, or -1 without memory; nodes is at least 1 and at most 1 << 30. */
int cz_index_new(cz_index *index, int64_t nodes);
void cz_index_free(cz_index *index);
size_t cz_index_bytes(const cz_index *index, int64_t nodes);
int32_t cz_index_find(const cz_index *index, int32_t volume, int64_t number);     /* CZ_NO_NODE where it is not */
void cz_index_add(cz_index *index, int32_t node, int32_t volume, int64_t number); /* neither may be in it */
void cz_index_remove(cz_index *index, int32_t node);                              /* it must be in it */

/* Rings of nodes; ring r of a set with n nodes begins and ends at n + r. Each node is in one ring. */
typedef struct cz_rings {
    int32_t *before, *after;
} cz_rings;

int cz_rings_new(cz_rings *rings, int64_t nodes, int heads);
void cz_rings_free(cz_rings *rings);

static inline void cz_unlink(cz_rings *rings, int32_t node) {
    rings->after[rings->before[node]] = rings->after[node];
    rings->before[rings->after[node]] = rings->before[node];
}

/* Put a node that is in no ring at a ring's head. */
static inline void cz_link(cz_rings *rings, int32_t head, int32_t node) {
    rings->before[node] = head;
    rings->after[node] = rings->after[head];
    rings->before[rings->after[head]] = node;
    rings->after[head] = node;
}

/* The node linked longest ago; the head itself where the ring is empty. */
static inline int32_t cz_tail(const cz_rings *rings, int32_t head) {
    return rings->before[head];
}

#endif
