/* Replacement queues: pages in the order of what they are worth, ids alone, and where a page stands among them. */
#ifndef CZ_QUEUE_H
#define CZ_QUEUE_H

#include "bytes.h"
#include "internal.h"

#define CZ_MOST_QUEUE (1 << 26) /* pages of a queue */

/* What a reference does to a queue: positions count from the head, 0. Pages from `filled` to the one before `vacated`
 * move back by one; `filled` is where the page stands afterwards. */
typedef struct cz_move {
    int32_t position; /* of the page before it moved, -1 where the queue did not have it */
    int32_t vacated, filled;
} cz_move;

#define CZ_NO_PAGE (-1)

/* ---- pages by key: queue_keyed.c ---- */
typedef struct cz_bucket {
    uint64_t key;
    int32_t page; /* CZ_NO_PAGE: none */
} cz_bucket;
/* Open addressing, at most half full, no tombstones. Buckets have the keys, so that a look-up is one line of memory. */
typedef struct cz_keyed {
    cz_bucket *buckets;
    uint64_t *keys; /* by page */
    int32_t *at;    /* by page: where it is in the list that has it, a number of a stack or a leaf */
    uint32_t mask;
    int shift;
    int32_t most;
} cz_keyed;

bool cz_keyed_new(cz_keyed *keyed, int32_t most);
void cz_keyed_free(cz_keyed *keyed);
size_t cz_keyed_bytes(const cz_keyed *keyed);
int32_t cz_keyed_find(const cz_keyed *keyed, uint64_t key);     /* CZ_NO_PAGE where it is not known */
void cz_keyed_add(cz_keyed *keyed, int32_t page, uint64_t key); /* neither may be known */
void cz_keyed_remove(cz_keyed *keyed, int32_t page);
/* Have the memory of pages at hand that are removed soon: of one its key, of one that comes before it its bucket. */
void cz_keyed_expect(const cz_keyed *keyed, int32_t soon, int32_t next);

/* ---- a list ordered by recency, most recent first: queue_stack.c ---- */
/* Pages are numbered as they enter, and a number is void once its page has left. A page's place is the numbers above its
 * own, less the void ones: bits, and over their words a tree that counts the void numbers in each left half. When the
 * numbers run out, those of the pages are packed. Mattson et al., "Evaluation techniques for storage hierarchies", IBM
 * Systems Journal 9(2), 1970. Pages taken from the tail are below all others, so their numbers need no mark. */
typedef struct cz_stack {
    uint64_t *words; /* bits of void numbers */
    int32_t *left;   /* void numbers in left halves; NULL where no place is asked for */
    int32_t *pages;  /* by number */
    int32_t *at;     /* by page: its number */
    int32_t numbers, next, least, live, voids;
} cz_stack;

bool cz_stack_new(cz_stack *stack, int32_t most, bool places, int32_t *at);
void cz_stack_free(cz_stack *stack);
size_t cz_stack_bytes(const cz_stack *stack);
void cz_stack_push(cz_stack *stack, int32_t page);
int32_t cz_stack_remove(cz_stack *stack, int32_t page); /* its place, 0 for the most recent; -1 of one without places */
int32_t cz_stack_pop(cz_stack *stack);                  /* the least recent, out of the stack */
void cz_stack_expect(const cz_stack *stack, const cz_keyed *keyed); /* pops of pages that are removed then */

/* ---- a list in any order, with places: queue_tree.c ---- */
enum { CZ_LEAF = 60, CZ_FAN = 61 };
typedef struct cz_leaf {
    int32_t parent, at, used, spare;
    int32_t pages[CZ_LEAF]; /* CZ_NO_PAGE from `used` on */
} cz_leaf;
typedef struct cz_branch {
    int32_t parent, at, used, above;              /* levels above the leaves, from 1 */
    int32_t child[CZ_FAN + 1], count[CZ_FAN + 1]; /* one more than it keeps, before it is split */
} cz_branch;
/* A tree of counts: a leaf has pages in order, a branch the number of pages below each child. It is not kept balanced as
 * pages leave: when its leaves run out it is packed, which takes about as many steps as there were insertions since. */
typedef struct cz_tree {
    cz_leaf *leaves;
    cz_branch *branches;
    int32_t *at;    /* by page: its leaf */
    int32_t *order; /* room for all pages while packing */
    int32_t most, n_leaves, n_branches, used_leaves, used_branches, root, last, count;
} cz_tree;

bool cz_tree_new(cz_tree *tree, int32_t most, int32_t *at);
void cz_tree_free(cz_tree *tree);
size_t cz_tree_bytes(const cz_tree *tree);
int32_t cz_tree_page(const cz_tree *tree, int32_t place);            /* 0 <= place < count */
int32_t cz_tree_remove(cz_tree *tree, int32_t page);                 /* its place */
int32_t cz_tree_insert(cz_tree *tree, int32_t page, int32_t before); /* CZ_NO_PAGE: at the end; its place */

/* ---- the queues: queue.c ---- */
typedef struct cz_class {
    int64_t count; /* references of each of its pages */
    int32_t front, size, higher, lower;
} cz_class;

typedef struct cz_queue {
    enum cz_queue_name name;
    int32_t n, used, length; /* used: pages that were ever known at once; length: pages in the queue */
    cz_keyed keyed;          /* arc: with those of the histories */
    cz_stack stacks[4];      /* lru: one; arc: T1, T2, B1 and B2 */
    cz_tree tree;            /* lfu */
    cz_class *classes;
    int32_t *class_of, bottom, free_class; /* the class of the lowest count; those that are not used, by `lower` */
    uint8_t *list;                         /* arc: which stack has a page */
    double target;                         /* arc: of T1 */
} cz_queue;

bool cz_queue_new(cz_queue *queue, enum cz_queue_name name, int64_t n); /* false without memory */
void cz_queue_free(cz_queue *queue);
size_t cz_queue_bytes(const cz_queue *queue);
/* lfu: put a page before all others, with as many references as the first one or more. */
void cz_queue_begin(cz_queue *queue, int32_t page, int32_t first, int64_t count);
/* Pages with what orders them, from the last to the first; and back into a queue that is new. */
void cz_queue_put(const cz_queue *queue, cz_writer *out);
bool cz_queue_take(cz_queue *queue, cz_bytes *in);
cz_move cz_queue_reference(cz_queue *queue, uint64_t key);

#endif
