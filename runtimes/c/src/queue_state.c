/* Queues in saved states: their pages in order, so that nothing read back is an index or a link. */
#include <math.h>

#include "queue.h"

static void put_stack(const cz_queue *queue, const cz_stack *stack, cz_writer *out) {
    cz_put(out, (uint64_t)stack->live, 4);
    for (int32_t number = stack->least; number < stack->next; number++)
        if (!(stack->words[number >> 6] >> (number & 63) & 1))
            cz_put(out, queue->keyed.keys[stack->pages[number]], 8);
}

static void put_lfu(const cz_queue *queue, cz_writer *out) {
    cz_put(out, (uint64_t)queue->length, 4);
    for (int32_t place = queue->length - 1; place >= 0; place--) {
        int32_t page = cz_tree_page(&queue->tree, place);
        cz_put(out, queue->keyed.keys[page], 8);
        cz_put(out, (uint64_t)queue->classes[queue->class_of[page]].count, 8);
    }
}

static void put_double(cz_writer *out, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    cz_put(out, bits, 8);
}

void cz_queue_put(const cz_queue *queue, cz_writer *out) {
    if (queue->name == CZ_QUEUE_LFU) {
        put_lfu(queue, out);
        return;
    }
    for (int list = 0; list < (queue->name == CZ_QUEUE_ARC ? 4 : 1); list++)
        put_stack(queue, &queue->stacks[list], out);
    if (queue->name == CZ_QUEUE_ARC)
        put_double(out, queue->target);
}

/* A page that no list has yet; CZ_NO_PAGE where one has it, or there is no more room. */
static int32_t take_page(cz_queue *queue, cz_bytes *in) {
    uint64_t key = cz_take(in, 8);
    if (in->failed || queue->used == queue->keyed.most || cz_keyed_find(&queue->keyed, key) != CZ_NO_PAGE)
        return CZ_NO_PAGE;
    cz_keyed_add(&queue->keyed, queue->used, key);
    return queue->used++;
}

static bool take_stack(cz_queue *queue, int list, int64_t most, cz_bytes *in) {
    uint64_t count = cz_take(in, 4);
    if (in->failed || count > (uint64_t)most)
        return false;
    for (uint64_t i = 0; i < count; i++) {
        int32_t page = take_page(queue, in);
        if (page == CZ_NO_PAGE)
            return false;
        if (queue->list)
            queue->list[page] = (uint8_t)list;
        cz_stack_push(&queue->stacks[list], page);
    }
    return true;
}

/* The lists are as long as ARC keeps them: |T1| + |B1| <= n, |T1| + |T2| <= n, all <= 2 n. A history has pages only
 * where the queue is full. */
static bool take_arc(cz_queue *queue, cz_bytes *in) {
    int64_t n = queue->n;
    for (int list = 0; list < 4; list++)
        if (!take_stack(queue, list, list == 3 ? 2 * n : n, in))
            return false;
    uint64_t bits = cz_take(in, 8);
    memcpy(&queue->target, &bits, sizeof bits);
    int64_t live[4];
    for (int list = 0; list < 4; list++)
        live[list] = queue->stacks[list].live;
    queue->length = (int32_t)(live[0] + live[1]);
    return !in->failed && queue->target >= 0 && queue->target <= (double)n && live[0] + live[2] <= n &&
           live[0] + live[1] <= n && (live[0] + live[1] == n || live[2] + live[3] == 0);
}

static bool take_lfu(cz_queue *queue, cz_bytes *in) {
    uint64_t count = cz_take(in, 4);
    int32_t before = CZ_NO_PAGE;
    int64_t least = 1;
    if (in->failed || count > (uint64_t)queue->n)
        return false;
    for (uint64_t i = 0; i < count; i++) {
        int32_t page = take_page(queue, in);
        int64_t uses = (int64_t)cz_take(in, 8);
        if (page == CZ_NO_PAGE || in->failed || uses < least || uses > INT64_MAX / 2)
            return false;
        cz_queue_begin(queue, page, before, uses);
        before = page;
        least = uses;
    }
    queue->length = (int32_t)count;
    return true;
}

bool cz_queue_take(cz_queue *queue, cz_bytes *in) {
    if (queue->name == CZ_QUEUE_LFU)
        return take_lfu(queue, in);
    if (queue->name == CZ_QUEUE_ARC)
        return take_arc(queue, in);
    bool found = take_stack(queue, 0, queue->n, in);
    queue->length = queue->stacks[0].live;
    return found;
}
