/* The page cache of kind policy: pages by volume and number, an admission before an eviction, the next pages of a read. */
#include "policy_cache.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_NODES = INT32_MAX / 2, REMEMBERED = 1 << 20 };
#define MOST_NUMBER (INT64_C(1) << 50) /* of a page that is prefetched, as in the simulator */

static const cz_evict_ops *const evictions[] = {
    [CZ_EVICT_ARC] = &cz_evict_arc,     [CZ_EVICT_CLOCK] = &cz_evict_clock, [CZ_EVICT_FIFO] = &cz_evict_fifo,
    [CZ_EVICT_INLFU] = &cz_evict_inlfu, [CZ_EVICT_LARC] = &cz_evict_larc,   [CZ_EVICT_LFU] = &cz_evict_lfu,
    [CZ_EVICT_LIRS] = &cz_evict_lirs,   [CZ_EVICT_LRU] = &cz_evict_lru,     [CZ_EVICT_S3FIFO] = &cz_evict_s3fifo,
    [CZ_EVICT_SIEVE] = &cz_evict_sieve, [CZ_EVICT_TWOQ] = &cz_evict_twoq,   [CZ_EVICT_WTINYLFU] = &cz_evict_wtinylfu,
};

/* ---- nodes by number ---- */

/* Buckets are open: 32 bits of a page's hash, which say where it belongs, above its node; 0 where one is empty. So a
 * bucket of another page is mostly passed without a look at its node. */
static inline uint32_t hash_of(int32_t volume, int64_t number) {
    uint64_t mixed = (uint64_t)number + ((uint64_t)(uint32_t)volume << 50);
    mixed ^= mixed >> 29;
    return (uint32_t)((mixed * UINT64_C(0x9E3779B97F4A7C15)) >> 32);
}

static inline int64_t home_of(const cz_composed *p, uint32_t hash) {
    return (int64_t)((uint64_t)hash * (uint64_t)p->buckets_most >> 32);
}

static inline int64_t after(const cz_composed *p, int64_t place) {
    return place + 1 < p->buckets_most ? place + 1 : 0;
}

static inline int32_t find(const cz_composed *p, int32_t volume, int64_t number) {
    uint32_t hash = hash_of(volume, number);
    for (int64_t place = home_of(p, hash); p->buckets[place]; place = after(p, place)) {
        const cz_node *node = &p->nodes[(uint32_t)p->buckets[place]];
        if (p->buckets[place] >> 32 == hash && node->number == (uint64_t)number && node->volume == volume)
            return (int32_t)p->buckets[place];
    }
    return 0;
}

static void know(cz_composed *p, int32_t node, int32_t volume, int64_t number) {
    uint32_t hash = hash_of(volume, number);
    int64_t place = home_of(p, hash);
    while (p->buckets[place])
        place = after(p, place);
    p->buckets[place] = (uint64_t)hash << 32 | (uint32_t)node;
}

static inline int64_t steps(const cz_composed *p, int64_t from, int64_t to) {
    return to >= from ? to - from : to - from + p->buckets_most;
}

/* Its page becomes another one. The gap is closed: every later entry of the run that may go there moves back. */
static void unknown(cz_composed *p, int32_t node) {
    int64_t gap = home_of(p, hash_of(p->nodes[node].volume, (int64_t)p->nodes[node].number));
    while ((uint32_t)p->buckets[gap] != (uint32_t)node)
        gap = after(p, gap);
    for (int64_t place = after(p, gap); p->buckets[place]; place = after(p, place)) {
        int64_t home = home_of(p, (uint32_t)(p->buckets[place] >> 32));
        if (steps(p, home, place) >= steps(p, gap, place)) {
            p->buckets[gap] = p->buckets[place];
            gap = place;
        }
    }
    p->buckets[gap] = 0;
    p->nodes[node].known = 0;
}

static void remember(cz_composed *p, int32_t node) {
    cz_node_head(p->nodes, CZ_UNHELD, node);
    p->n.unheld++;
}

static void take_up(cz_composed *p, int32_t node) {
    cz_node_out(p->nodes, node);
    p->n.unheld--;
}

/* A node that is in no list, which the eviction holds no longer: it is remembered, or given back. */
static void settle(cz_composed *p, int32_t node) {
    cz_node *own = &p->nodes[node];
    own->gone = 0;
    if (own->known && p->keep) {
        remember(p, node);
        return;
    }
    if (own->known)
        unknown(p, node);
    own->next = p->n.spare;
    p->n.spare = node;
    p->n.spares++;
}

void cz_policy_gone(cz_composed *p, int32_t node) {
    p->nodes[node].gone = 1;
    cz_node_head(p->nodes, CZ_GONE, node);
}

static void settle_gone(cz_composed *p) {
    while (p->nodes[CZ_GONE].before != CZ_GONE)
        settle(p, cz_node_pop(p->nodes, CZ_GONE));
}

static int32_t spare_node(cz_composed *p) {
    int32_t node = p->n.spare;
    if (node) {
        p->n.spare = p->nodes[node].next;
        p->n.spares--;
        return node;
    }
    if (p->n.used < p->nodes_most)
        return (int32_t)p->n.used++;
    node = cz_node_pop(p->nodes, CZ_UNHELD); /* there is one: the eviction holds two fewer than there are nodes */
    p->n.unheld--;
    p->n.forgotten++;
    unknown(p, node);
    return node;
}

/* A node of a page that is not known; it is in no list. */
static int32_t new_node(cz_composed *p, int32_t volume, int64_t number) {
    int32_t node = spare_node(p);
    p->nodes[node] =
        (cz_node){.number = (uint64_t)number, .known = 1, .volume = volume, .slot = CZ_NONE, .id = p->n.ids++};
    know(p, node, volume, number);
    if (p->ops->fresh)
        p->ops->fresh(p, node);
    for (int64_t k = 0; k < p->misses; k++)
        p->missed[node * p->misses + k] = CZ_NONE;
    return node;
}

/* ---- slots ---- */

static int32_t unused_slot(cz_composed *p) {
    while (p->unused[p->n.word] == 0)
        p->n.word++;
    int bit = __builtin_ctzll((unsigned long long)p->unused[p->n.word]);
    p->unused[p->n.word] &= p->unused[p->n.word] - 1;
    return (int32_t)(64 * p->n.word + bit);
}

/* ---- an access ---- */

/* RejectX: did the page miss often enough within the window? This miss is remembered either way. */
static bool missed_before(cz_composed *p, int32_t node, int64_t i) {
    int64_t *missed = &p->missed[node * p->misses], oldest = missed[p->misses - 1];
    for (int64_t k = p->misses - 1; k > 0; k--)
        missed[k] = missed[k - 1];
    missed[0] = i;
    return oldest >= 0 && i - oldest <= p->window;
}

static void report_victim(cz_composed *p, int32_t victim, cz_policy_page *page) {
    cz_node *left = &p->nodes[victim];
    page->victim_number = (int64_t)left->number;
    page->victim_volume = left->volume;
    page->victim_void = !left->known;
    page->victim_dirty = left->dirty;
    p->n.evicted++;
    p->n.dirty_evicted += left->dirty;
    left->slot = CZ_NONE;
    left->dirty = 0;
}

/* Let a page in; false where the eviction keeps it out. The node is in no list, or a ghost's. */
static bool enter(cz_composed *p, int32_t node, int64_t i, cz_policy_page *page) {
    int32_t victim = p->ops->insert(p, node, i);
    if (victim >= 0) {
        p->nodes[node].slot = p->nodes[victim].slot;
        report_victim(p, victim, page);
        if (!p->nodes[victim].mark && !p->nodes[victim].gone)
            settle(p, victim);
    } else if (victim == CZ_NONE) {
        p->nodes[node].slot = unused_slot(p);
        p->n.resident++;
    }
    page->slot = p->nodes[node].slot;
    settle_gone(p);
    for (int32_t end = 0; end < CZ_UNHELD; end++) /* what may leave next is on its way */
        __builtin_prefetch(&p->nodes[p->nodes[end].before], 1);
    return victim != CZ_REFUSED;
}

/* A miss; `asked`: of a request, whose admission has a say. Returns the outcome. */
static int miss(cz_composed *p, int32_t node, bool asked, int64_t i, cz_policy_page *page) {
    int admission = p->plan.component[CZ_PART_ADMISSION];
    bool admits = true, entered = false;
    if (asked && admission == CZ_COIN_FLIP)
        admits = cz_draw(p->seed, i) < p->below;
    if (!node && !admits && !p->ids)
        return CZ_BYPASSED;
    if (!node)
        node = new_node(p, page->volume, page->number);
    else if (!p->nodes[node].mark)
        take_up(p, node);
    if (asked && admission == CZ_REJECT_X)
        admits = missed_before(p, node, i);
    if (admits) {
        p->fetch = true;
        entered = enter(p, node, i, page);
    }
    if (!p->nodes[node].mark)
        settle(p, node);
    return entered ? CZ_ADMITTED : CZ_BYPASSED;
}

/* The page becomes another one, of which nothing is known. */
static int32_t turn(cz_composed *p, int32_t volume, int64_t number) {
    int32_t node = find(p, volume, number), slot = CZ_NONE;
    if (node) {
        bool held = p->nodes[node].mark != 0;
        slot = p->nodes[node].slot;
        p->nodes[node].dirty = 0;
        if (!held)
            take_up(p, node);
        unknown(p, node);
        if (!held)
            settle(p, node);
    }
    if (p->ids)
        settle(p, new_node(p, volume, number));
    return slot;
}

static void serve(cz_composed *p, bool write, int64_t i, cz_policy_page *page) {
    if (write && p->writes == CZ_AROUND) {
        page->void_slot = turn(p, page->volume, page->number);
        p->n.bypassed++;
        return;
    }
    int32_t node = find(p, page->volume, page->number);
    if (node && p->nodes[node].slot >= 0) {
        p->ops->touch(p, node, i);
        settle_gone(p);
        page->slot = p->nodes[node].slot;
        page->outcome = CZ_HIT;
        p->n.hits++;
    } else {
        page->outcome = (uint8_t)miss(p, node, true, i, page);
        p->n.admitted += page->outcome == CZ_ADMITTED;
        p->n.bypassed += page->outcome == CZ_BYPASSED;
        if (page->outcome == CZ_BYPASSED || p->writes == CZ_THROUGH || !write)
            return;
        node = find(p, page->volume, page->number);
    }
    p->nodes[node].dirty |= write && p->writes != CZ_THROUGH;
}

static void prefetch(cz_composed *p, int64_t i, cz_policy_page *page) {
    if (!p->fetch && !p->ids)
        return;
    int32_t node = find(p, page->volume, page->number);
    if (p->fetch && (!node || p->nodes[node].slot < 0)) {
        page->outcome = miss(p, node, false, i, page) == CZ_ADMITTED ? CZ_PREFETCHED : CZ_BYPASSED;
        p->n.prefetched += page->outcome == CZ_PREFETCHED;
    } else if (!node) {
        settle(p, new_node(p, page->volume, page->number));
    }
}

static inline cz_policy_page *next_page(cz_composed *p, int64_t k, int32_t volume, int64_t number) {
    p->served[k] = (cz_policy_page){
        .number = number, .volume = volume, .victim_volume = CZ_NONE, .slot = CZ_NONE, .void_slot = CZ_NONE};
    return &p->served[k];
}

int cz_policy_serve(cz_composed *p, const cz_request *request, int64_t *pages) {
    enum { NEAR = 4, FAR = 8 }; /* pages whose nodes and buckets are on their way */
    if (request->offset < 0 || request->size < 1 || request->offset > INT64_MAX - request->size ||
        request->volume < 0 || (request->op != CZ_READ && request->op != CZ_WRITE))
        return CZ_BAD_CALL;
    int64_t first = request->offset / CZ_POLICY_PAGE_BYTES, i = p->n.accesses,
            count = (request->offset + request->size - 1) / CZ_POLICY_PAGE_BYTES - first + 1,
            end = first + count + (request->op == CZ_READ ? p->ahead : 0);
    int32_t volume = request->volume;
    if (count > CZ_POLICY_MOST_PAGES)
        return CZ_BAD_CALL;
    if (end > MOST_NUMBER)
        end = MOST_NUMBER > first + count ? MOST_NUMBER : first + count;
    p->fetch = false;
    for (int64_t k = 0; k < end - first; k++) {
        if (k + FAR < end - first)
            __builtin_prefetch(&p->buckets[home_of(p, hash_of(volume, first + k + FAR))]);
        if (k + NEAR < end - first && k >= NEAR)
            __builtin_prefetch(&p->nodes[(uint32_t)p->buckets[home_of(p, hash_of(volume, first + k + NEAR))]], 1);
        cz_policy_page *page = next_page(p, k, volume, first + k);
        if (k < count)
            serve(p, request->op == CZ_WRITE, i + k, page);
        else
            prefetch(p, i + k, page);
    }
    *pages = end - first;
    p->n.accesses += end - first;
    p->n.units += (uint64_t)count;
    p->n.requests++;
    return CZ_OK;
}

int32_t cz_policy_other(cz_composed *p, int32_t volume, int64_t number) {
    return turn(p, volume, number);
}

bool cz_policy_fill(cz_composed *p, int32_t volume, int64_t number, int32_t slot) {
    if (volume < 0 || number < 0 || number >= MOST_NUMBER << 1 || slot < 0 || slot >= p->capacity ||
        p->n.requests > 0 || !(p->unused[slot / 64] >> slot % 64 & 1))
        return false;
    int32_t node = find(p, volume, number);
    if (node && p->nodes[node].slot >= 0)
        return false;
    cz_policy_page *page = next_page(p, 0, volume, number);
    for (int tries = 0; tries < 2 && page->outcome == CZ_BYPASSED; tries++) /* LARC lets no page in at once */
        page->outcome = (uint8_t)miss(p, find(p, volume, number), false, p->n.accesses++, page);
    node = find(p, volume, number);
    if (page->outcome == CZ_BYPASSED || !node)
        return false;
    /* While a slot is unused nothing leaves, so the page has the slot that was looked at first: its bit is in the word
     * where the search stopped, which goes on there. */
    p->unused[page->slot / 64] |= UINT64_C(1) << page->slot % 64;
    p->unused[slot / 64] &= ~(UINT64_C(1) << slot % 64);
    p->nodes[node].slot = slot;
    return true;
}

/* ---- making one ---- */

static void set_parts(cz_composed *p) {
    const double *admission = p->plan.values[CZ_PART_ADMISSION];
    p->ops = evictions[p->plan.component[CZ_PART_EVICTION]];
    p->ids = p->plan.component[CZ_PART_EVICTION] == CZ_EVICT_WTINYLFU;
    p->keep = p->ids || p->plan.component[CZ_PART_EVICTION] == CZ_EVICT_LFU;
    p->ahead =
        p->plan.component[CZ_PART_PREFETCH] == CZ_PREFETCH_NEXT ? (int64_t)p->plan.values[CZ_PART_PREFETCH][0] : 0;
    if (p->plan.component[CZ_PART_ADMISSION] == CZ_COIN_FLIP) {
        p->below = (uint64_t)ceil(admission[0] * 4294967296.0);
        p->seed = (uint32_t)admission[1];
    }
    if (p->plan.component[CZ_PART_ADMISSION] == CZ_REJECT_X) {
        p->window = (int64_t)(admission[0] * (double)p->capacity);
        p->misses = (int64_t)admission[1];
        p->keep = true;
    }
}

int64_t cz_policy_least(const cz_policy_plan *plan, int64_t capacity) {
    const cz_evict_ops *ops = evictions[plan->component[CZ_PART_EVICTION]];
    return ops->most(capacity, plan->values[CZ_PART_EVICTION]) + 2;
}

/* Nodes: what the eviction holds; and where more is remembered, as many as a caller says, else as the capacity, and 1 << 20
 * at least, but no more than a window of accesses can name. */
static int64_t nodes_of(const cz_composed *p, int64_t keys) {
    int64_t least = cz_policy_least(&p->plan, p->capacity);
    int64_t more = p->capacity > REMEMBERED ? p->capacity : REMEMBERED;
    if (!p->keep)
        return least;
    if (p->misses && !p->ids && p->ops != &cz_evict_lfu && p->window < more)
        more = p->window + 1;
    return keys ? keys : least + more;
}

static bool make(cz_composed *p, int64_t nodes) {
    cz_memory *memory = &p->memory;
    p->buckets_most = nodes + nodes / 2 + nodes / 8 + 8;
    p->nodes_most = nodes + CZ_FIRST_NODE;
    p->n.used = CZ_FIRST_NODE;
    cz_memory_keep(memory, &p->n, sizeof p->n);
    p->nodes = cz_memory_room(memory, (size_t)p->nodes_most, sizeof *p->nodes, &p->n.used);
    p->buckets = cz_memory_scratch(memory, (size_t)p->buckets_most, sizeof *p->buckets);
    p->unused = cz_memory_room(memory, (size_t)p->capacity / 64 + 1, sizeof *p->unused, NULL);
    p->served = cz_memory_scratch(memory, (size_t)(CZ_POLICY_MOST_PAGES + p->ahead), sizeof *p->served);
    if (p->misses)
        p->missed = cz_memory_room(memory, (size_t)p->nodes_most, (size_t)p->misses * sizeof *p->missed, &p->n.used);
    p->ops->make(p, p->plan.values[CZ_PART_EVICTION]);
    if (memory->failed)
        return false;
    for (int32_t end = 0; end < CZ_FIRST_NODE; end++)
        p->nodes[end].before = p->nodes[end].after = end;
    for (int64_t slot = 0; slot < p->capacity; slot++)
        p->unused[slot / 64] |= UINT64_C(1) << slot % 64;
    return true;
}

int cz_policy_new(const cz_policy_plan *plan, int64_t capacity, int64_t keys, cz_composed **made, cz_error *error) {
    *made = NULL;
    if (capacity < 1 || capacity > CZ_POLICY_MOST_CAPACITY)
        return cz_fail(error, CZ_BAD_CALL, "capacity %lld: a cache of kind policy has 1 to %lld pages",
                       (long long)capacity, (long long)CZ_POLICY_MOST_CAPACITY);
    int64_t least = cz_policy_least(plan, capacity);
    if (least > MOST_NODES)
        return cz_fail(error, CZ_BAD_CALL, "capacity %lld: its pages and ghosts are more than %d; give a lower one",
                       (long long)capacity, MOST_NODES);
    if (keys && (keys < least || keys > MOST_NODES))
        return cz_fail(error, CZ_BAD_CALL, "max_keys %lld: a cache of %lld pages remembers %lld to %d pages; or give 0",
                       (long long)keys, (long long)capacity, (long long)least, MOST_NODES);
    cz_composed *p = calloc(1, sizeof *p);
    if (p) {
        p->plan = *plan;
        p->capacity = capacity;
        p->writes = CZ_BACK;
        set_parts(p);
        int64_t nodes = nodes_of(p, keys);
        if (make(p, nodes > MOST_NODES ? MOST_NODES : nodes)) {
            *made = p;
            return CZ_OK;
        }
    }
    cz_policy_free(p);
    return cz_fail(error, CZ_NO_MEMORY, "no memory for a cache of %lld pages", (long long)capacity);
}

void cz_policy_free(cz_composed *p) {
    if (!p)
        return;
    cz_memory_free(&p->memory);
    free(p);
}

void cz_policy_counters(const cz_composed *p, cz_counters *counters) {
    *counters = (cz_counters){.decisions = p->n.units,
                              .units = p->n.units,
                              .hits = p->n.hits,
                              .admitted = p->n.admitted,
                              .bypassed = p->n.bypassed,
                              .prefetched = p->n.prefetched,
                              .evicted = p->n.evicted,
                              .dirty_evicted = p->n.dirty_evicted,
                              .forgotten = p->n.forgotten,
                              .keys = (uint64_t)(p->n.used - CZ_FIRST_NODE - p->n.spares),
                              .bytes = p->memory.bytes + sizeof *p};
}
