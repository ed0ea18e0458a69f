#include "pages.h"

#include <stdlib.h>
#include <string.h>

#include "caching.h"
#include "policy.h"
#include "reuse.h"
#include "virtual.h"

#define PAGE_BYTES 4096

struct cz_pages {
    cz_stream *stream;
    cz_manager *manager; /* of kind caching; NULL of kind reuse, whose cache is the stream's own */
    cz_unit *units, *victims;
    int64_t max_request;
    cz_counters counters;
};

static int open_caching(cz_pages *pages, int64_t capacity, cz_error *error) {
    cz_rules rules;
    cz_caching_rules(pages->stream->model, capacity, &rules);
    return cz_manager_new(&rules, &pages->manager, error);
}

static int check(const cz_cache_options *options, const cz_stream *stream, cz_error *error) {
    if ((options->unit_bytes && options->unit_bytes != PAGE_BYTES) || options->prefetch)
        return cz_fail(error, CZ_BAD_CALL, "cache: a %s bundle's cache has pages of %d bytes and no prefetch mode",
                       stream->ops->name, PAGE_BYTES);
    if (options->capacity < 1 || options->capacity != stream->options.capacity)
        return cz_fail(error, CZ_BAD_CALL,
                       "cache: %lld pages, but its stream is for %lld; give both the same, at least 1",
                       (long long)options->capacity, (long long)stream->options.capacity);
    return CZ_OK;
}

int cz_pages_new(const cz_cache_options *options, cz_stream *stream, enum cz_writes writes, int64_t max_request,
                 cz_pages **pages, cz_error *error) {
    *pages = NULL;
    int code = check(options, stream, error);
    if (code != CZ_OK)
        return code;
    bool policy = stream->ops->kind == CZ_POLICY;
    if (!policy && (writes == CZ_AROUND || writes == CZ_THROUGH))
        return cz_fail(error, CZ_BAD_CALL, "cache: a %s bundle's cache is written back; give CZ_BACK",
                       stream->ops->name);
    size_t most = (size_t)(max_request / PAGE_BYTES + 2 + (policy ? cz_policy_ahead(stream) : 0));
    if (policy)
        cz_policy_set_writes(stream, writes == CZ_WRITES_USUAL ? CZ_BACK : writes);
    cz_pages *made = calloc(1, sizeof *made);
    if (!made)
        return cz_fail(error, CZ_NO_MEMORY, "cache: no memory");
    made->stream = stream;
    made->max_request = max_request;
    made->counters.bytes = sizeof *made + 2 * most * sizeof *made->units;
    made->units = malloc(most * sizeof *made->units);
    made->victims = malloc(most * sizeof *made->victims);
    if (!made->units || !made->victims)
        code = cz_fail(error, CZ_NO_MEMORY, "cache: no memory");
    if (code == CZ_OK && stream->ops->kind == CZ_CACHING)
        code = open_caching(made, options->capacity, error);
    if (code != CZ_OK) {
        cz_pages_free(made);
        return code;
    }
    *pages = made;
    return CZ_OK;
}

void cz_pages_free(cz_pages *pages) {
    if (!pages)
        return;
    cz_manager_free(pages->manager);
    free(pages->units);
    free(pages->victims);
    free(pages);
}

static bool range(const cz_pages *pages, int64_t offset, int64_t size, int64_t *first, int64_t *count) {
    if (offset < 0 || size < 1 || size > pages->max_request || offset > INT64_MAX - size)
        return false;
    *first = offset / PAGE_BYTES;
    *count = (offset + size - 1) / PAGE_BYTES - *first + 1;
    return true;
}

static int serve_caching(cz_pages *pages, const cz_request *request, cz_access *access) {
    int64_t first, count;
    cz_ticket ticket;
    cz_served served;
    if (!range(pages, request->offset, request->size, &first, &count))
        return CZ_BAD_CALL;
    cz_caching_join(pages->stream); /* anew: cz_restore makes the stream another one */
    int code = cz_observe(pages->stream, request, &ticket);
    if (code == CZ_OK)
        code = cz_decide(pages->stream, &ticket, &access->decision);
    if (code != CZ_OK)
        return code;
    cz_manager_serve(pages->manager, request->volume, first, count, request->op == CZ_WRITE, access->decision.queue,
                     pages->units, pages->victims, &served);
    cz_caching_tell(pages->stream, served.tags);
    access->asked = served.queue >= 0;
    access->decision.queue = served.queue;
    access->hits = (int32_t)served.hits;
    access->misses = (int32_t)(count - served.hits);
    access->written = (int32_t)served.admitted;
    access->evicted = (int32_t)served.victims;
    access->n_units = count;
    access->n_victims = served.victims;
    pages->counters.decisions += served.queue >= 0;
    return CZ_OK;
}

/* A page that entered and left in one request has no slot; one that left before it came back has. */
static void take_victim(cz_pages *pages, const cz_reuse_page *page, int64_t at, cz_access *access) {
    int64_t place = page->victim_number - pages->units[0].number;
    pages->victims[access->n_victims++] = (cz_unit){
        .number = page->victim_number, .volume = page->victim_volume, .slot = page->slot, .dirty = page->victim_dirty};
    if (page->victim_volume == page->volume && place >= 0 && place < at && pages->units[place].outcome == 1)
        pages->units[place].slot = -1;
}

static int serve_reuse(cz_pages *pages, const cz_request *request, cz_access *access) {
    const cz_reuse_page *served;
    int64_t first, count, n = 0;
    if (!range(pages, request->offset, request->size, &first, &count))
        return CZ_BAD_CALL;
    int code = cz_reuse_access(pages->stream, request, &served, &n);
    if (code != CZ_OK)
        return code;
    cz_counters *counters = &pages->counters;
    for (int64_t k = 0; k < n; k++) {
        const cz_reuse_page *page = &served[k];
        pages->units[k] =
            (cz_unit){.number = page->number, .volume = page->volume, .slot = page->slot, .outcome = page->outcome};
        access->hits += page->outcome == 2;
        access->written += page->outcome == 1;
        if (page->victim_volume >= 0) {
            take_victim(pages, page, k, access);
            counters->dirty_evicted += page->victim_dirty;
        }
    }
    access->misses = (int32_t)n - access->hits;
    access->evicted = (int32_t)access->n_victims;
    access->n_units = n;
    counters->requests++;
    counters->units += (uint64_t)n;
    counters->hits += (uint64_t)access->hits;
    counters->admitted += (uint64_t)access->written;
    counters->evicted += (uint64_t)access->evicted;
    counters->bypassed += (uint64_t)(access->misses - access->written);
    counters->keys = counters->admitted - counters->evicted;
    return CZ_OK;
}

/* A page that one access of the request admitted and a later one evicts has no slot. */
static void take_policy_victim(cz_pages *pages, const cz_policy_page *page, const cz_policy_page *served, int64_t k,
                               cz_access *access) {
    if (page->void_slot >= 0)
        pages->victims[access->n_victims++] =
            (cz_unit){.number = page->number, .volume = page->volume, .slot = page->void_slot};
    if (page->victim_volume < 0 || page->victim_void)
        return;
    int64_t place = page->victim_number - served[0].number;
    pages->victims[access->n_victims++] = (cz_unit){
        .number = page->victim_number, .volume = page->victim_volume, .slot = page->slot, .dirty = page->victim_dirty};
    if (page->victim_volume != page->volume || place < 0 || place >= k)
        return;
    for (int64_t at = place < access->n_units ? place : access->n_units - 1; at >= 0; at--)
        if (pages->units[at].number == page->victim_number) {
            if (pages->units[at].outcome == 1)
                pages->units[at].slot = -1;
            return;
        }
}

static int serve_policy(cz_pages *pages, const cz_request *request, cz_access *access) {
    const cz_policy_page *served;
    int64_t first, count, n = 0;
    if (!range(pages, request->offset, request->size, &first, &count))
        return CZ_BAD_CALL;
    int code = cz_policy_access(pages->stream, request, &served, &n);
    if (code != CZ_OK)
        return code;
    for (int64_t k = 0; k < n; k++) {
        const cz_policy_page *page = &served[k];
        bool prefetched = page->outcome == 3;
        take_policy_victim(pages, page, served, k, access);
        if (k >= count && !prefetched)
            continue;
        pages->units[access->n_units++] = (cz_unit){.number = page->number,
                                                    .volume = page->volume,
                                                    .slot = page->slot,
                                                    .outcome = prefetched ? 1 : page->outcome,
                                                    .prefetched = prefetched};
        access->hits += page->outcome == 2;
        access->prefetched += prefetched;
        access->written += prefetched || page->outcome == 1;
        access->evicted += page->victim_volume >= 0 && !page->victim_void;
    }
    access->misses = (int32_t)count - access->hits;
    return CZ_OK;
}

/* Pages have no slots, and which ones leave is not reported; pages that the mapping moved in count as prefetched. */
static int serve_virtual(cz_pages *pages, const cz_request *request, cz_access *access) {
    const cz_virtual_access *served;
    int64_t first, count, n = 0;
    if (!range(pages, request->offset, request->size, &first, &count))
        return CZ_BAD_CALL;
    int code = cz_virtual_serve(pages->stream, request, &served, &n);
    if (code != CZ_OK)
        return code;
    for (int64_t k = 0; k < n; k++) {
        const cz_virtual_access *page = &served[k];
        pages->units[k] = (cz_unit){.number = first + k,
                                    .volume = request->volume,
                                    .slot = -1,
                                    .outcome = (uint8_t)(page->place.hit ? 2 : page->kept)};
        access->hits += page->place.hit;
        access->prefetched += page->place.moved;
        access->written += page->place.moved + (!page->place.hit && page->kept);
    }
    access->misses = (int32_t)n - access->hits;
    access->n_units = n;
    return CZ_OK;
}

int cz_pages_access(cz_pages *pages, const cz_request *request, cz_access *access) {
    memset(access, 0, sizeof *access);
    access->units = pages->units;
    access->victims = pages->victims;
    if (pages->stream->ops->kind == CZ_VIRTUAL)
        return serve_virtual(pages, request, access);
    if (pages->stream->ops->kind == CZ_POLICY)
        return serve_policy(pages, request, access);
    return pages->manager ? serve_caching(pages, request, access) : serve_reuse(pages, request, access);
}

int cz_pages_drop(cz_pages *pages, int32_t volume, int64_t offset, int64_t size, cz_access *access) {
    int64_t first, count;
    bool policy = pages->stream->ops->kind == CZ_POLICY;
    if ((!pages->manager && !policy) || volume < 0 || !range(pages, offset, size, &first, &count))
        return CZ_BAD_CALL;
    memset(access, 0, sizeof *access);
    for (int64_t number = first; number < first + count; number++) {
        cz_unit *unit = &pages->victims[access->n_victims];
        if (!policy) {
            access->n_victims += cz_manager_drop(pages->manager, volume, number, unit);
            continue;
        }
        *unit = (cz_unit){.number = number, .volume = volume, .slot = cz_policy_turn(pages->stream, volume, number)};
        access->n_victims += unit->slot >= 0;
    }
    access->units = pages->units;
    access->victims = pages->victims;
    return CZ_OK;
}

int cz_pages_put(cz_pages *pages, int32_t volume, int64_t number, int32_t slot) {
    return pages->stream->ops->kind == CZ_POLICY && cz_policy_put(pages->stream, volume, number, slot) ? CZ_OK
                                                                                                       : CZ_BAD_CALL;
}

void cz_pages_stats(const cz_pages *pages, cz_counters *counters) {
    *counters = pages->counters;
    if (pages->stream->ops->kind == CZ_VIRTUAL || pages->stream->ops->kind == CZ_POLICY) {
        cz_stats(pages->stream, counters);
        counters->bytes += pages->counters.bytes;
        return;
    }
    if (!pages->manager)
        return;
    cz_manager_stats(pages->manager, counters);
    counters->decisions = pages->counters.decisions;
    counters->bytes += pages->counters.bytes;
}
