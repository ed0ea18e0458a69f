/* The replacement queues of the virtual I/O cache: lru, lfu and arc, as lists that tell places. */
#include "queue.h"

#include <stdlib.h>
#include <string.h>

enum { T1, T2, B1, B2, NOWHERE }; /* lists of arc */

/* ---- lru ---- */

static cz_move lru(cz_queue *queue, uint64_t key) {
    cz_stack *stack = &queue->stacks[0];
    int32_t page = cz_keyed_find(&queue->keyed, key), vacated = queue->length;
    if (page != CZ_NO_PAGE) {
        int32_t position = cz_stack_remove(stack, page);
        cz_stack_push(stack, page);
        return (cz_move){position, position, 0};
    }
    if (queue->length == queue->n) {
        page = cz_stack_pop(stack);
        cz_keyed_remove(&queue->keyed, page);
        cz_stack_expect(stack, &queue->keyed);
        vacated--;
    } else {
        page = queue->used++;
        queue->length++;
    }
    cz_keyed_add(&queue->keyed, page, key);
    cz_stack_push(stack, page);
    return (cz_move){-1, vacated, 0};
}

/* ---- lfu: classes of pages that were asked equally often, each in order of recency, one behind the other ---- */

/* An empty class between two others. */
static int32_t new_class(cz_queue *queue, int64_t count, int32_t higher, int32_t lower) {
    int32_t own = queue->free_class;
    queue->free_class = queue->classes[own].lower;
    queue->classes[own] = (cz_class){.count = count, .front = CZ_NO_PAGE, .higher = higher, .lower = lower};
    if (higher != CZ_NO_PAGE)
        queue->classes[higher].lower = own;
    if (lower != CZ_NO_PAGE)
        queue->classes[lower].higher = own;
    if (lower == CZ_NO_PAGE)
        queue->bottom = own;
    return own;
}

static void free_class(cz_queue *queue, int32_t own) {
    const cz_class *class = &queue->classes[own];
    if (class->higher != CZ_NO_PAGE)
        queue->classes[class->higher].lower = class->lower;
    if (class->lower != CZ_NO_PAGE)
        queue->classes[class->lower].higher = class->higher;
    else
        queue->bottom = class->higher;
    queue->classes[own].lower = queue->free_class;
    queue->free_class = own;
}

/* Take a page out of the list and out of its class, which stays, empty or not; returns its place. */
static int32_t take_out(cz_queue *queue, int32_t page) {
    cz_class *class = &queue->classes[queue->class_of[page]];
    int32_t place = cz_tree_remove(&queue->tree, page);
    class->size--;
    if (class->front == page)
        class->front = class->size ? cz_tree_page(&queue->tree, place) : CZ_NO_PAGE;
    return place;
}

/* Put a page at the front of a class; `before` is the page behind which the class stands, if it is empty. */
static int32_t put_in(cz_queue *queue, int32_t page, int32_t own, int32_t before) {
    cz_class *class = &queue->classes[own];
    int32_t place = cz_tree_insert(&queue->tree, page, class->front != CZ_NO_PAGE ? class->front : before);
    class->front = page;
    class->size++;
    queue->class_of[page] = own;
    return place;
}

static cz_move lfu_again(cz_queue *queue, int32_t page) {
    int32_t own = queue->class_of[page], up = queue->classes[own].higher;
    int64_t count = queue->classes[own].count + 1;
    bool stands = up != CZ_NO_PAGE && queue->classes[up].count == count;
    int32_t position = take_out(queue, page);
    if (!stands && queue->classes[own].size == 0) { /* it goes where it was, and its class with it */
        queue->classes[own].count = count;
        int32_t behind = position < queue->tree.count ? cz_tree_page(&queue->tree, position) : CZ_NO_PAGE;
        return (cz_move){position, position, put_in(queue, page, own, behind)};
    }
    if (!stands)
        up = new_class(queue, count, up, own);
    int32_t filled = put_in(queue, page, up, queue->classes[own].front);
    if (queue->classes[own].size == 0)
        free_class(queue, own);
    return (cz_move){position, position, filled};
}

static int32_t lfu_forget(cz_queue *queue) {
    int32_t page = cz_tree_page(&queue->tree, queue->length - 1), own = queue->class_of[page];
    take_out(queue, page);
    if (queue->classes[own].size == 0)
        free_class(queue, own);
    cz_keyed_remove(&queue->keyed, page);
    return page;
}

static cz_move lfu(cz_queue *queue, uint64_t key) {
    int32_t page = cz_keyed_find(&queue->keyed, key), vacated = queue->length;
    if (page != CZ_NO_PAGE)
        return lfu_again(queue, page);
    if (queue->length == queue->n) {
        page = lfu_forget(queue);
        vacated--;
    } else {
        page = queue->used++;
        queue->length++;
    }
    int32_t last = queue->bottom;
    if (last == CZ_NO_PAGE || queue->classes[last].count != 1)
        last = new_class(queue, 1, last, CZ_NO_PAGE);
    cz_keyed_add(&queue->keyed, page, key);
    return (cz_move){-1, vacated, put_in(queue, page, last, CZ_NO_PAGE)}; /* nothing stands behind that class */
}

void cz_queue_begin(cz_queue *queue, int32_t page, int32_t first, int64_t count) {
    int32_t own = first == CZ_NO_PAGE ? CZ_NO_PAGE : queue->class_of[first];
    if (own == CZ_NO_PAGE || queue->classes[own].count != count)
        own = new_class(queue, count, CZ_NO_PAGE, own);
    put_in(queue, page, own, first);
}

/* ---- arc: Megiddo and Modha, FAST 2003, Fig. 4; the queue is T2, then T1, and B1 and B2 are its histories ---- */

static void forget(cz_queue *queue, int32_t page) {
    queue->list[page] = NOWHERE;
    cz_keyed_remove(&queue->keyed, page);
}

static int32_t forget_last(cz_queue *queue, int list) {
    int32_t page = cz_stack_pop(&queue->stacks[list]);
    forget(queue, page);
    cz_stack_expect(&queue->stacks[list], &queue->keyed);
    return page;
}

/* Evict a page of T1 or T2 into its history; returns its place in the queue. */
static int32_t replace(cz_queue *queue, bool was_in_b2) {
    int32_t recent = queue->stacks[T1].live, often = queue->stacks[T2].live;
    bool first = recent > 0 && (recent > queue->target || (was_in_b2 && recent == queue->target));
    int from = first ? T1 : T2;
    int32_t page = cz_stack_pop(&queue->stacks[from]);
    queue->list[page] = (uint8_t)(from + B1);
    cz_stack_push(&queue->stacks[from + B1], page);
    return first ? often + recent - 1 : often - 1;
}

/* Make room for a page that no list knows (Case IV): sets the place that becomes free; returns the page. */
static int32_t arc_room(cz_queue *queue, int32_t *vacated) {
    int32_t n = queue->n, recent = queue->stacks[T1].live, often = queue->stacks[T2].live,
            known = recent + queue->stacks[B1].live, page = CZ_NO_PAGE;
    int64_t all = (int64_t)known + often + queue->stacks[B2].live;
    if (known == n && recent == n) { /* T1 is all: its last page goes, and has no history */
        *vacated = n - 1;
        return forget_last(queue, T1);
    }
    if (known == n)
        page = forget_last(queue, B1);
    else if (all == 2 * (int64_t)n)
        page = forget_last(queue, B2);
    *vacated = recent + often == n ? replace(queue, false) : recent + often;
    return page != CZ_NO_PAGE ? page : queue->used++;
}

/* Move the target towards the history that was asked: Cases II and III. */
static void adapt(cz_queue *queue, int list) {
    double one = queue->stacks[B1].live, other = queue->stacks[B2].live;
    if (list == B1) {
        double step = other / one;
        queue->target += step > 1.0 ? step : 1.0;
        if (queue->target > queue->n)
            queue->target = queue->n;
    } else {
        double step = one / other;
        queue->target -= step > 1.0 ? step : 1.0;
        if (queue->target < 0.0)
            queue->target = 0.0;
    }
}

static cz_move arc_new(cz_queue *queue, uint64_t key) {
    int32_t vacated, page = arc_room(queue, &vacated), filled = queue->stacks[T2].live;
    cz_keyed_add(&queue->keyed, page, key);
    queue->list[page] = T1;
    cz_stack_push(&queue->stacks[T1], page);
    return (cz_move){-1, vacated, filled};
}

static cz_move arc(cz_queue *queue, uint64_t key) {
    int32_t page = cz_keyed_find(&queue->keyed, key), place;
    cz_move move;
    if (page == CZ_NO_PAGE)
        return arc_new(queue, key);
    int list = queue->list[page];
    if (list <= T2) {
        place = cz_stack_remove(&queue->stacks[list], page) + (list == T1 ? queue->stacks[T2].live : 0);
        move = (cz_move){place, place, 0};
    } else {
        int32_t held = queue->stacks[T1].live + queue->stacks[T2].live;
        adapt(queue, list);
        move = (cz_move){-1, held == queue->n ? replace(queue, list == B2) : held, 0};
        cz_stack_remove(&queue->stacks[list], page);
    }
    queue->list[page] = T2;
    cz_stack_push(&queue->stacks[T2], page);
    return move;
}

/* ---- all ---- */

cz_move cz_queue_reference(cz_queue *queue, uint64_t key) {
    if (queue->name == CZ_QUEUE_LRU)
        return lru(queue, key);
    if (queue->name == CZ_QUEUE_LFU)
        return lfu(queue, key);
    cz_move move = arc(queue, key);
    queue->length = queue->stacks[T1].live + queue->stacks[T2].live;
    return move;
}

static bool new_lfu(cz_queue *queue) {
    size_t n = (size_t)queue->n;
    queue->classes = malloc((n + 1) * sizeof *queue->classes); /* a page may be on its way to a new one */
    queue->class_of = malloc(n * sizeof *queue->class_of);
    if (!queue->classes || !queue->class_of || !cz_tree_new(&queue->tree, queue->n, queue->keyed.at))
        return false;
    for (int32_t i = 0; i <= queue->n; i++)
        queue->classes[i].lower = i + 1;
    queue->free_class = 0;
    queue->bottom = CZ_NO_PAGE;
    return true;
}

/* B2 may be all that is known but for a page. */
static bool new_arc(cz_queue *queue) {
    int32_t *at = queue->keyed.at;
    queue->list = malloc((size_t)queue->keyed.most);
    return queue->list && cz_stack_new(&queue->stacks[T2], queue->n, true, at) &&
           cz_stack_new(&queue->stacks[B1], queue->n, false, at) &&
           cz_stack_new(&queue->stacks[B2], queue->keyed.most, false, at);
}

bool cz_queue_new(cz_queue *queue, enum cz_queue_name name, int64_t n) {
    *queue = (cz_queue){.name = name, .n = (int32_t)n};
    if (!cz_keyed_new(&queue->keyed, (int32_t)(name == CZ_QUEUE_ARC ? 2 * n : n)))
        return false;
    if (name == CZ_QUEUE_LFU)
        return new_lfu(queue);
    if (!cz_stack_new(&queue->stacks[T1], queue->n, true, queue->keyed.at))
        return false;
    return name == CZ_QUEUE_LRU || new_arc(queue);
}

void cz_queue_free(cz_queue *queue) {
    cz_keyed_free(&queue->keyed);
    for (int list = T1; list < NOWHERE; list++)
        cz_stack_free(&queue->stacks[list]);
    cz_tree_free(&queue->tree);
    free(queue->classes);
    free(queue->class_of);
    free(queue->list);
}

size_t cz_queue_bytes(const cz_queue *queue) {
    size_t bytes = cz_keyed_bytes(&queue->keyed), n = (size_t)queue->n;
    if (queue->name == CZ_QUEUE_LFU)
        return bytes + cz_tree_bytes(&queue->tree) + n * (sizeof *queue->classes + sizeof *queue->class_of);
    for (int list = T1; list < NOWHERE; list++)
        bytes += cz_stack_bytes(&queue->stacks[list]);
    return bytes + (queue->name == CZ_QUEUE_ARC ? (size_t)queue->keyed.most * sizeof *queue->list : 0);
}
