#include "manager.h"

#include <stdlib.h>
#include <string.h>

#include "index.h"

#define MOST_CAPACITY ((int64_t)1 << 30)
enum { ABSENT = 0, SOON, MEAN, LATE };
enum { BYPASSED = 0, ADMITTED, HIT };

typedef struct node {
    int64_t stamp; /* the page access at which its clock in its queue began */
    uint8_t queue, top, dirty;
} node;

/* Rings: by use, the head the one used last; and by entry, the head the one whose clock began last. Node n + q is the
 * sentinel of queue q + 1 in either. */
struct cz_manager {
    cz_rules rules;
    cz_index index;
    cz_rings used, entered;
    node *nodes;
    int32_t *spare; /* free slots, the next one last */
    int32_t spares;
    int64_t accesses, length[CZ_QUEUES], top_length[CZ_QUEUES];
    int32_t top_last[CZ_QUEUES]; /* last page of a queue's most recent share, or the sentinel */
    cz_counters counts;
};

int cz_manager_new(const cz_rules *rules, cz_manager **manager, cz_error *error) {
    int64_t n = rules->capacity;
    if (n < 1 || n > MOST_CAPACITY)
        return cz_fail(error, CZ_BAD_CALL, "capacity: a cache of %lld pages; give 1 to %lld", (long long)n,
                       (long long)MOST_CAPACITY);
    cz_manager *made = calloc(1, sizeof *made);
    if (!made)
        return cz_fail(error, CZ_NO_MEMORY, "no memory for a cache");
    made->rules = *rules;
    made->nodes = calloc((size_t)n, sizeof *made->nodes);
    made->spare = malloc((size_t)n * sizeof *made->spare);
    if (!made->nodes || !made->spare || cz_index_new(&made->index, n) || cz_rings_new(&made->used, n, CZ_QUEUES) ||
        cz_rings_new(&made->entered, n, CZ_QUEUES)) {
        cz_manager_free(made);
        return cz_fail(error, CZ_NO_MEMORY, "no memory for a cache of %lld pages", (long long)n);
    }
    for (int64_t slot = 0; slot < n; slot++)
        made->spare[n - 1 - slot] = (int32_t)slot;
    made->spares = (int32_t)n;
    for (int q = 0; q < CZ_QUEUES; q++)
        made->top_last[q] = (int32_t)n + q;
    *manager = made;
    return CZ_OK;
}

void cz_manager_free(cz_manager *manager) {
    if (!manager)
        return;
    free(manager->nodes);
    free(manager->spare);
    cz_index_free(&manager->index);
    cz_rings_free(&manager->used);
    cz_rings_free(&manager->entered);
    free(manager);
}

static int32_t sentinel(const cz_manager *m, int q) {
    return (int32_t)m->rules.capacity + q;
}

/* Move the border of queue q until its top holds its share, rounded down. */
static void balance(cz_manager *m, int q) {
    int64_t share = m->length[q] * m->rules.percent / 100;
    for (; m->top_length[q] > share; m->top_length[q]--) {
        int32_t page = m->top_last[q];
        m->nodes[page].top = 0;
        m->top_last[q] = m->used.before[page];
    }
    for (; m->top_length[q] < share; m->top_length[q]++) {
        int32_t page = m->used.after[m->top_length[q] > 0 ? m->top_last[q] : sentinel(m, q)];
        m->nodes[page].top = 1;
        m->top_last[q] = page;
    }
}

static void enter_head(cz_manager *m, int32_t page, int q) {
    cz_link(&m->used, sentinel(m, q), page);
    m->nodes[page].queue = (uint8_t)(q + 1);
    m->nodes[page].top = 1;
    if (m->top_length[q] == 0)
        m->top_last[q] = page;
    m->length[q]++;
    m->top_length[q]++;
    balance(m, q);
}

static void enter_tail(cz_manager *m, int32_t page, int q) {
    cz_link(&m->used, cz_tail(&m->used, sentinel(m, q)), page);
    m->nodes[page].queue = (uint8_t)(q + 1);
    m->nodes[page].top = 0;
    m->length[q]++;
    balance(m, q);
}

static void leave(cz_manager *m, int32_t page) {
    int q = m->nodes[page].queue - 1;
    cz_unlink(&m->used, page);
    m->length[q]--;
    if (m->nodes[page].top) {
        if (m->top_last[q] == page)
            m->top_last[q] = m->used.before[page];
        m->top_length[q]--;
        m->nodes[page].top = 0;
    }
    m->nodes[page].queue = ABSENT;
    balance(m, q);
}

/* Begin a page's clock: it becomes the newest of its queue by entry. */
static void clock_on(cz_manager *m, int32_t page, int q) {
    cz_link(&m->entered, sentinel(m, q), page);
    m->nodes[page].stamp = m->accesses;
}

/* Move pages whose clock ran out one queue down; those in the top of their queue get another period. */
static void demote(cz_manager *m) {
    for (int q = MEAN - 1; q <= LATE - 1; q++) {
        for (;;) {
            int32_t page = cz_tail(&m->entered, sentinel(m, q));
            if (page == sentinel(m, q) || m->accesses - m->nodes[page].stamp < m->rules.period)
                break;
            cz_unlink(&m->entered, page);
            if (m->nodes[page].top) {
                clock_on(m, page, q);
            } else {
                leave(m, page);
                enter_head(m, page, q - 1);
                clock_on(m, page, q - 1);
            }
        }
    }
}

/* Take a page out of the cache; its slot is the next one taken. */
static cz_unit take_out(cz_manager *m, int32_t page) {
    cz_unit gone = {.number = m->index.keys[page].number,
                    .volume = m->index.keys[page].volume,
                    .slot = page,
                    .dirty = m->nodes[page].dirty};
    leave(m, page);
    cz_unlink(&m->entered, page);
    cz_index_remove(&m->index, page);
    m->nodes[page].dirty = 0;
    m->spare[m->spares++] = page;
    return gone;
}

/* Drop the tail of soon, else of mean, else of late. */
static cz_unit evict(cz_manager *m) {
    int q = 0;
    while (m->length[q] == 0)
        q++;
    cz_unit gone = take_out(m, cz_tail(&m->used, sentinel(m, q)));
    m->counts.evicted++;
    m->counts.dirty_evicted += gone.dirty;
    return gone;
}

/* Move a resident page to the head of its queue or, where hits are decided on, to the queue of the decision. */
static void hit(cz_manager *m, int32_t page, int32_t queue) {
    int held = m->nodes[page].queue;
    leave(m, page);
    if (!m->rules.requeue) {
        enter_head(m, page, held - 1);
        return;
    }
    cz_unlink(&m->entered, page);
    if (queue == ABSENT)
        enter_tail(m, page, SOON - 1);
    else
        enter_head(m, page, queue - 1);
    clock_on(m, page, m->nodes[page].queue - 1);
}

static void touch(cz_manager *m, cz_unit *unit, bool write, int32_t queue, cz_served *served) {
    int32_t page = cz_index_find(&m->index, unit->volume, unit->number);
    unit->slot = page;
    if (page == CZ_NO_NODE)
        return;
    unit->outcome = HIT;
    served->hits++;
    hit(m, page, queue);
    if (write)
        m->nodes[page].dirty = 1;
}

/* Put a missing page into a queue; false where it is kept out. */
static bool enter(cz_manager *m, cz_unit *unit, bool write, int32_t queue, cz_unit *victim, bool *replaced) {
    int32_t into = queue == ABSENT && m->rules.fill && m->spares ? SOON : queue;
    *replaced = false;
    if (into == ABSENT)
        return false;
    if (!m->spares) {
        *victim = evict(m);
        *replaced = true;
    }
    int32_t page = m->spare[--m->spares];
    cz_index_add(&m->index, page, unit->volume, unit->number);
    enter_head(m, page, into - 1);
    clock_on(m, page, into - 1);
    m->nodes[page].dirty = write;
    unit->slot = page;
    unit->outcome = ADMITTED;
    return true;
}

static void fill(cz_manager *m, cz_unit *units, int64_t count, bool write, int32_t queue, cz_unit *victims,
                 cz_served *served) {
    for (int64_t k = 0; k < count; k++) {
        bool replaced;
        cz_unit *victim = &victims[served->victims];
        if (units[k].outcome == HIT || !enter(m, &units[k], write, queue, victim, &replaced))
            continue;
        served->admitted++;
        if (!replaced)
            continue;
        served->victims++;
        served->dirty_victims += victim->dirty;
        int64_t place = victim->number - units[0].number;
        if (victim->volume == units[0].volume && place >= 0 && place < count && units[place].outcome == ADMITTED)
            units[place].slot = CZ_NO_NODE;
    }
}

/* Tags of a request: the queue of its first page where all were hits, else what was decided, if anything entered. */
static void tag(const cz_manager *m, const cz_unit *first, int64_t count, int32_t queue, cz_served *served) {
    int32_t held = ABSENT;
    served->queue = queue;
    if (served->hits == count) {
        held = m->nodes[first->slot].queue;
        if (!m->rules.requeue)
            served->queue = -1;
    } else if (served->admitted) {
        held = queue > SOON ? queue : SOON;
    }
    for (int i = 0; i < CZ_N_TAGS; i++)
        served->tags[i] = held != ABSENT && (i == 0 || i == held) ? 1.0f : 0.0f;
}

void cz_manager_serve(cz_manager *m, int32_t volume, int64_t first, int64_t count, bool write, int32_t queue,
                      cz_unit *units, cz_unit *victims, cz_served *served) {
    *served = (cz_served){0};
    for (int64_t k = 0; k < count; k++) {
        units[k] = (cz_unit){.number = first + k, .volume = volume, .outcome = BYPASSED};
        touch(m, &units[k], write, queue, served);
    }
    if (served->hits < count)
        fill(m, units, count, write, queue, victims, served);
    m->accesses += count;
    demote(m);
    tag(m, units, count, queue, served);
    m->counts.requests++;
    m->counts.decisions += served->queue >= 0;
    m->counts.units += (uint64_t)count;
    m->counts.hits += (uint64_t)served->hits;
    m->counts.admitted += (uint64_t)served->admitted;
    m->counts.bypassed += (uint64_t)(count - served->hits - served->admitted);
}

int32_t cz_manager_decide(const float outputs[CZ_N_TAGS], float threshold, bool single) {
    if (outputs[0] < threshold)
        return ABSENT;
    if (single)
        return MEAN;
    int32_t best = SOON;
    for (int32_t queue = MEAN; queue <= LATE; queue++)
        if (outputs[queue] > outputs[best])
            best = queue;
    return best;
}

bool cz_manager_drop(cz_manager *m, int32_t volume, int64_t number, cz_unit *unit) {
    int32_t page = cz_index_find(&m->index, volume, number);
    if (page == CZ_NO_NODE)
        return false;
    *unit = take_out(m, page);
    return true;
}

void cz_manager_set_rules(cz_manager *m, const cz_rules *rules) {
    m->rules = *rules;
}

int64_t cz_manager_accesses(const cz_manager *m) {
    return m->accesses;
}

int32_t cz_manager_queue(const cz_manager *m, int32_t slot) {
    return m->nodes[slot].queue;
}

bool cz_manager_holds(const cz_manager *m, int32_t slot, int32_t volume, int64_t number) {
    const cz_key *key = &m->index.keys[slot];
    return m->nodes[slot].queue != ABSENT && key->volume == volume && key->number == number;
}

int64_t cz_manager_requeue(cz_manager *m, const int32_t *slots, const uint8_t *queues, const int64_t *stamps,
                           int64_t n) {
    int64_t moved = 0;
    for (int64_t k = 0; k < n; k++) {
        moved += m->nodes[slots[k]].queue != (queues[k] == ABSENT ? SOON : queues[k]);
        leave(m, slots[k]);
        cz_unlink(&m->entered, slots[k]);
    }
    for (int64_t k = 0; k < n; k++) {
        int q = (queues[k] == ABSENT ? SOON : queues[k]) - 1;
        if (queues[k] != ABSENT)
            enter_head(m, slots[k], q);
        clock_on(m, slots[k], q);
        m->nodes[slots[k]].stamp = stamps[k];
    }
    for (int64_t k = n - 1; k >= 0; k--)
        if (queues[k] == ABSENT)
            enter_tail(m, slots[k], SOON - 1);
    return moved;
}

void cz_manager_stats(const cz_manager *m, cz_counters *counters) {
    size_t n = (size_t)m->rules.capacity;
    *counters = m->counts;
    counters->keys = (uint64_t)(n - (size_t)m->spares);
    counters->bytes = sizeof *m + n * (sizeof *m->nodes + sizeof *m->spare) + cz_index_bytes(&m->index, (int64_t)n) +
                      4 * (n + CZ_QUEUES) * sizeof *m->spare;
}
