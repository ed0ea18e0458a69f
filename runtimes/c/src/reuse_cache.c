/* The whole page cache of a reuse model: serves requests (docs/page-cache.md). */
#include <stdlib.h>
#include <string.h>

#include "reuse_cache.h"

int64_t cz_reuse_least_keys(const cz_reuse_model *model, int64_t capacity) {
    int64_t held = 2 * capacity + CZ_REUSE_MOST_PAGES + 1; /* the forest's cache and the follower */
    for (int k = 0; k < model->plan.shadows; k++)
        held += cz_classic_most((enum cz_classic_name)model->plan.shadow[k], capacity);
    for (int k = 0; k < model->plan.experts; k++)
        held += cz_classic_most((enum cz_classic_name)model->plan.expert[k], capacity);
    return held;
}

static bool held(const void *owner, int32_t slot) {
    const cz_reuse *cache = owner;
    if (cache->follow.pages[slot].place != 0 || cache->follow.pages[slot].holders != 0)
        return true;
    for (int k = 0; k < cache->n_shadows; k++)
        if (cz_classic_holds(&cache->shadows[k], slot))
            return true;
    for (int k = 0; k < cache->n_experts; k++)
        if (cz_classic_holds(&cache->experts[k], slot))
            return true;
    return false;
}

static void forget(void *owner, int32_t slot) {
    cz_reuse *cache = owner;
    for (int k = 0; k < cache->n_shadows; k++)
        cz_classic_forget(&cache->shadows[k], slot);
    for (int k = 0; k < cache->n_experts; k++)
        cz_classic_forget(&cache->experts[k], slot);
}

static void set_follower(cz_reuse *cache, const cz_reuse_model *model, int64_t capacity) {
    volatile double two = 2.0; /* pow as Python's **: a compiler would take exp2, whose last bit differs */
    double size = (double)capacity;
    cz_follow_new(&cache->follow, &cache->memory, &cache->table, capacity, 1 + model->plan.experts);
    cache->follow.growth = pow(two, 1.0 / (model->plan.half_life * size));
    cache->follow.lead = model->plan.lead * size;
    cache->follow.price = model->plan.price;
    cache->follow.n.credit[0] = model->plan.head_start * size;
}

static void set_parts(cz_reuse *cache, const cz_reuse_model *model, int64_t capacity) {
    cz_memory *memory = &cache->memory;
    uint32_t seed = (uint32_t)model->plan.seed;
    const double *events = model->counts, *risks = events + (size_t)model->plan.classes * CZ_AGES;
    cz_own_new(&cache->own, memory, capacity, model->plan.own_trees, model->plan.own_rows, model->plan.own_pace, seed);
    cache->worth.candidates = model->plan.candidates;
    cache->worth.seed = seed;
    cz_hazards_new(&cache->worth.hazards, memory, capacity, model->plan.classes, events, risks);
    cz_worth_new(&cache->worth, memory, &cache->table, capacity);
    cache->n_shadows = model->plan.shadows;
    cache->n_experts = model->plan.experts;
    for (int k = 0; k < cache->n_shadows; k++)
        cz_classic_new(&cache->shadows[k], (enum cz_classic_name)model->plan.shadow[k], memory, &cache->table,
                       capacity);
    for (int k = 0; k < cache->n_experts; k++)
        cz_classic_new(&cache->experts[k], (enum cz_classic_name)model->plan.expert[k], memory, &cache->table,
                       capacity);
    set_follower(cache, model, capacity);
}

cz_reuse *cz_reuse_new(const cz_reuse_model *model, int64_t capacity, int64_t most_keys, int32_t processes,
                       size_t limit, bool *large) {
    cz_reuse *cache = calloc(1, sizeof *cache);
    *large = false;
    if (cache == NULL)
        return NULL;
    cz_memory *memory = &cache->memory;
    memory->limit = limit;
    cz_table_new(&cache->table, memory, most_keys);
    cache->table.owner = cache;
    cache->table.held = held;
    cache->table.forget = forget;
    cache->pages = cz_memory_room(memory, (size_t)cache->table.most, sizeof *cache->pages, &cache->table.n.used);
    cz_past_new(&cache->past, memory, capacity, most_keys, processes, CZ_REUSE_MOST_PAGES);
    set_parts(cache, model, capacity);
    cache->accesses = cz_memory_scratch(memory, CZ_REUSE_MOST_PAGES, sizeof *cache->accesses);
    cache->rows = cz_memory_scratch(memory, CZ_REUSE_MOST_PAGES, CZ_INPUTS * sizeof *cache->rows);
    cache->scores = cz_memory_scratch(memory, CZ_REUSE_MOST_PAGES, sizeof *cache->scores);
    cache->served = cz_memory_scratch(memory, CZ_REUSE_MOST_PAGES, sizeof *cache->served);
    cz_memory_keep(memory, &cache->n, sizeof cache->n);
    cache->n.volume = -1;
    *large = memory->large;
    if (memory->failed) {
        cz_reuse_free(cache);
        return NULL;
    }
    return cache;
}

void cz_reuse_free(cz_reuse *cache) {
    if (cache == NULL)
        return;
    cz_memory_free(&cache->memory);
    free(cache);
}

int cz_reuse_flags(const char *text) {
    if (text == NULL)
        return CZ_FLAG_UNKNOWN;
    return (strchr(text, 'M') ? CZ_FLAG_METADATA : 0) | (strchr(text, 'A') ? CZ_FLAG_READAHEAD : 0) |
           (strchr(text, 'S') ? CZ_FLAG_SYNC : 0);
}

/* Slots of the request's pages; new ones are numbered in the order in which they appear. */
static void find_pages(cz_reuse *cache, const cz_page_range *range) {
    for (int64_t k = 0; k < range->pages; k++) {
        bool found;
        int32_t slot = cz_table_find(&cache->table, range->volume, range->page + k, range->number, &found);
        if (!found)
            cache->pages[slot] =
                (cz_page){.last = -1, .interval = 10.0, .row = CZ_NONE, .id = cache->n.ids++, .wrote = -1};
        cache->accesses[k].slot = slot;
    }
}

/* The class of an access: the score's place among the quantiles, and whether each shadow had the page. */
static int class_of(cz_reuse *cache, const cz_reuse_model *model, int32_t slot, int64_t i, bool metadata, float score) {
    int place = 0, bits = 0;
    int32_t ignored;
    for (int k = 0; k < model->plan.quantiles; k++)
        place += model->quantiles[k] < score;
    uint32_t id = cache->pages[slot].id;
    for (int k = 0; k < cache->n_shadows; k++)
        bits |= (cz_classic_serve(&cache->shadows[k], slot, id, i, metadata, &ignored) == CZ_HIT) << k;
    return place << cache->n_shadows | bits;
}

/* What became of an access, for the caller. */
static void report(cz_reuse *cache, const cz_page_range *range, int64_t k, int outcome, int32_t victim) {
    int32_t slot = cache->accesses[k].slot;
    cz_reuse_page *served = &cache->served[k];
    *served = (cz_reuse_page){.number = range->page + k,
                              .volume = range->volume,
                              .outcome = (uint8_t)outcome,
                              .leader = (uint8_t)cache->follow.n.leader,
                              .slot = -1,
                              .victim_id = -1,
                              .victim_volume = -1};
    cache->n.hits += outcome == CZ_HIT;
    cache->n.admitted += outcome == CZ_ADMITTED;
    cache->n.bypassed += outcome == CZ_BYPASSED;
    if (outcome != CZ_BYPASSED) {
        served->slot = cache->follow.pages[slot].slot;
        cache->pages[slot].dirty |= (uint8_t)range->write;
    }
    if (victim == CZ_NONE)
        return;
    served->victim_number = cache->table.keys[victim].number;
    served->victim_volume = cache->table.keys[victim].volume;
    served->victim_id = (int32_t)cache->pages[victim].id;
    served->victim_dirty = cache->pages[victim].dirty;
    cache->pages[victim].dirty = 0;
    cache->n.evicted++;
    cache->n.dirty_evicted += served->victim_dirty;
}

static void serve_page(cz_reuse *cache, const cz_reuse_model *model, const cz_page_range *range, int64_t k) {
    int64_t i = range->first + k;
    int32_t slot = cache->accesses[k].slot, victims[CZ_MOST_EXPERTS], victim;
    cz_page *page = &cache->pages[slot];
    bool metadata = !(range->flags & CZ_FLAG_UNKNOWN) && range->flags & CZ_FLAG_METADATA;
    uint8_t did[CZ_MOST_EXPERTS];
    float score = cz_own_correct(&cache->own, page, i, cache->rows + k * CZ_INPUTS, cache->scores[k]);
    int class = class_of(cache, model, slot, i, metadata, score);
    did[0] = (uint8_t)cz_worth_serve(&cache->worth, slot, page, i, class, &victims[0]);
    for (int e = 0; e < cache->n_experts; e++)
        did[e + 1] = (uint8_t)cz_classic_serve(&cache->experts[e], slot, page->id, i, metadata, &victims[e + 1]);
    int outcome = cz_follow_serve(&cache->follow, slot, did, victims, &victim);
    page->class = (uint8_t)class;
    cz_past_remember(&cache->past, page, range, &cache->accesses[k], i);
    report(cache, range, k, outcome, victim);
}

int cz_reuse_serve(cz_reuse *cache, const cz_reuse_model *model, const cz_request *request, int flags,
                   const float *given, int64_t *pages) {
    if (request->offset < 0 || request->size < 1 || request->offset > INT64_MAX - request->size ||
        request->volume < 0 || request->user < CZ_UNKNOWN || request->user + 1 >= cache->past.processes)
        return CZ_BAD_CALL;
    int64_t first = request->offset / CZ_REUSE_PAGE_BYTES, end = request->offset + request->size;
    cz_page_range range = {.number = cache->n.requests + 1,
                           .first = cache->n.accesses,
                           .page = first,
                           .pages = (end - 1) / CZ_REUSE_PAGE_BYTES - first + 1,
                           .volume = request->volume,
                           .process = request->user + 1,
                           .write = request->op == CZ_WRITE,
                           .follows = request->offset == cache->n.end && request->volume == cache->n.volume,
                           .flags = flags};
    if (range.pages > CZ_REUSE_MOST_PAGES)
        return CZ_BAD_CALL;
    find_pages(cache, &range);
    cz_past_describe(&cache->past, cache->pages, &range, cache->accesses, cache->rows);
    for (int64_t k = 0; k < range.pages; k++)
        cache->scores[k] = given ? given[k] : (float)cz_forest_score(model->forest, cache->rows + k * CZ_INPUTS);
    for (int64_t k = 0; k < range.pages; k++)
        serve_page(cache, model, &range, k);
    cache->n.requests++;
    cache->n.accesses += range.pages;
    cache->n.end = end;
    cache->n.volume = request->volume;
    *pages = range.pages;
    return CZ_OK;
}
