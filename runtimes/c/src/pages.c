#include "pages.h"

#include <stdlib.h>
#include <string.h>

#include "caching.h"
#include "policy.h"
#include "reuse.h"
#include "turns.h"
#include "virtual.h"

#define PAGE_BYTES 4096
enum { MEAN = 2 }; /* the queue of a page that a device held before: one that every model has */

/* Where a page is put that a device holds: its kind's own slots are others. A policy knows such slots itself. */
typedef struct slot_map {
    int32_t *device, *own; /* each the other's inverse */
    uint8_t *put;          /* of the device's: one was put there */
} slot_map;

struct cz_pages {
    cz_stream *stream;
    enum cz_kind kind;
    enum cz_writes writes;
    cz_manager *manager; /* of kind caching; NULL of the others, whose caches are the streams' own */
    cz_turns *turns;     /* of models that take turns; NULL: one decides */
    cz_unit *units, *victims;
    int64_t max_request, capacity;
    slot_map slots;
    bool begun; /* a request was served */
    cz_counters counters;
};

static int open_caching(cz_pages *pages, int64_t capacity, cz_error *error) {
    cz_rules rules;
    cz_caching_rules(pages->stream->model, capacity, &rules);
    return cz_manager_new(&rules, &pages->manager, error);
}

static int check(const cz_cache_options *options, const cz_stream *stream, enum cz_writes writes, cz_error *error) {
    if ((options->unit_bytes && options->unit_bytes != PAGE_BYTES) || options->prefetch)
        return cz_fail(error, CZ_BAD_CALL, "cache: a %s bundle's cache has pages of %d bytes and no prefetch mode",
                       stream->ops->name, PAGE_BYTES);
    if (options->capacity < 1 || options->capacity != stream->options.capacity)
        return cz_fail(error, CZ_BAD_CALL,
                       "cache: %lld pages, but its stream is for %lld; give both the same, at least 1",
                       (long long)options->capacity, (long long)stream->options.capacity);
    if (stream->ops->kind == CZ_VIRTUAL && (writes == CZ_AROUND || writes == CZ_THROUGH))
        return cz_fail(error, CZ_BAD_CALL, "cache: a %s bundle's cache is written back; give CZ_BACK",
                       stream->ops->name);
    return CZ_OK;
}

static int open_slots(cz_pages *pages, cz_error *error) {
    size_t n = (size_t)pages->capacity;
    slot_map *of = &pages->slots;
    of->device = malloc(n * sizeof *of->device);
    of->own = malloc(n * sizeof *of->own);
    of->put = calloc(n, sizeof *of->put);
    if (!of->device || !of->own || !of->put)
        return cz_fail(error, CZ_NO_MEMORY, "cache: no memory");
    for (int32_t slot = 0; slot < pages->capacity; slot++)
        of->device[slot] = of->own[slot] = slot;
    pages->counters.bytes += n * (sizeof *of->device + sizeof *of->own + sizeof *of->put);
    return CZ_OK;
}

int cz_pages_new(const cz_cache_options *options, cz_stream *stream, enum cz_writes writes, int64_t max_request,
                 cz_pages **pages, cz_error *error) {
    *pages = NULL;
    int code = check(options, stream, writes, error);
    if (code != CZ_OK)
        return code;
    enum cz_kind kind = stream->ops->kind;
    size_t most = (size_t)(max_request / PAGE_BYTES + 2 + (kind == CZ_POLICY ? cz_policy_ahead(stream) : 0));
    cz_pages *made = calloc(1, sizeof *made);
    if (!made)
        return cz_fail(error, CZ_NO_MEMORY, "cache: no memory");
    made->stream = stream;
    made->kind = kind;
    made->writes = writes == CZ_WRITES_USUAL ? CZ_BACK : writes;
    made->max_request = max_request;
    made->capacity = options->capacity;
    made->counters.bytes = sizeof *made + 2 * most * sizeof *made->units;
    made->units = malloc(most * sizeof *made->units);
    made->victims = malloc(most * sizeof *made->victims);
    if (!made->units || !made->victims)
        code = cz_fail(error, CZ_NO_MEMORY, "cache: no memory");
    if (code == CZ_OK && kind == CZ_CACHING)
        code = open_caching(made, options->capacity, error);
    if (code == CZ_OK && (kind == CZ_CACHING || kind == CZ_REUSE))
        code = open_slots(made, error);
    if (code != CZ_OK) {
        cz_pages_free(made);
        return code;
    }
    if (kind == CZ_POLICY)
        cz_policy_set_writes(stream, made->writes);
    *pages = made;
    return CZ_OK;
}

void cz_pages_free(cz_pages *pages) {
    if (!pages)
        return;
    cz_turns_free(pages->turns);
    cz_manager_free(pages->manager);
    free(pages->slots.device);
    free(pages->slots.own);
    free(pages->slots.put);
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

static int serve_caching(cz_pages *pages, const cz_request *request, int64_t first, int64_t count, cz_access *access) {
    cz_ticket ticket;
    cz_served served;
    cz_caching_join(pages->stream); /* anew: cz_restore makes the stream another one */
    int code = cz_observe(pages->stream, request, &ticket);
    if (code == CZ_OK)
        code = cz_decide(pages->stream, &ticket, &access->decision);
    if (code != CZ_OK)
        return code;
    int64_t stamp = cz_manager_accesses(pages->manager);
    cz_manager_serve(pages->manager, request->volume, first, count, request->op == CZ_WRITE, access->decision.queue,
                     pages->units, pages->victims, &served);
    if (pages->turns)
        cz_turns_note(pages->turns, pages->manager, pages->units, count, stamp);
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
    int64_t n = 0;
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
            counters->dirty_evicted += page->victim_dirty && pages->writes == CZ_BACK;
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
    counters->keys += (uint64_t)access->written - (uint64_t)access->evicted;
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

static int serve_policy(cz_pages *pages, const cz_request *request, int64_t count, cz_access *access) {
    const cz_policy_page *served;
    int64_t n = 0;
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
static int serve_virtual(cz_pages *pages, const cz_request *request, int64_t first, cz_access *access) {
    const cz_virtual_access *served;
    int64_t n = 0;
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

/* What is held of a page is void from now on; false where it is not resident. */
static bool void_page(cz_pages *pages, int32_t volume, int64_t number, cz_unit *unit) {
    if (pages->manager)
        return cz_manager_drop(pages->manager, volume, number, unit);
    int32_t slot = pages->kind == CZ_POLICY ? cz_policy_turn(pages->stream, volume, number)
                                            : cz_reuse_turn(pages->stream, volume, number);
    *unit = (cz_unit){.number = number, .volume = volume, .slot = slot};
    return slot >= 0;
}

static void void_pages(cz_pages *pages, int32_t volume, int64_t first, int64_t count, cz_access *access) {
    for (int64_t number = first; number < first + count; number++) {
        cz_unit *unit = &pages->victims[access->n_victims];
        access->n_victims += void_page(pages, volume, number, unit);
        unit->dirty = 0;
    }
    if (pages->kind == CZ_REUSE)
        pages->counters.keys -= (uint64_t)access->n_victims;
}

/* A write that goes around a model's cache: the model does not see it. */
static int write_around(cz_pages *pages, const cz_request *request, int64_t first, int64_t count, cz_access *access) {
    if (request->volume < 0)
        return CZ_BAD_CALL;
    void_pages(pages, request->volume, first, count, access);
    for (int64_t k = 0; k < count; k++)
        pages->units[k] = (cz_unit){.number = first + k, .volume = request->volume, .slot = -1};
    access->n_units = count;
    access->misses = (int32_t)count;
    return CZ_OK;
}

static void to_device(const cz_pages *pages, cz_unit *units, int64_t n) {
    for (int64_t k = 0; k < n; k++) {
        if (units[k].slot >= 0)
            units[k].slot = pages->slots.device[units[k].slot];
        if (pages->writes == CZ_THROUGH)
            units[k].dirty = 0;
    }
}

int cz_pages_access(cz_pages *pages, const cz_request *request, cz_access *access) {
    int64_t first, count;
    int code;
    memset(access, 0, sizeof *access);
    access->units = pages->units;
    access->victims = pages->victims;
    if (!range(pages, request->offset, request->size, &first, &count))
        return CZ_BAD_CALL;
    if (pages->kind == CZ_POLICY)
        return serve_policy(pages, request, count, access);
    if (pages->kind == CZ_VIRTUAL)
        return serve_virtual(pages, request, first, access);
    if (pages->turns && (code = cz_turns_before(pages->turns, request, pages->manager)) != CZ_OK)
        return code;
    if (request->op == CZ_WRITE && pages->writes == CZ_AROUND)
        code = write_around(pages, request, first, count, access);
    else
        code =
            pages->manager ? serve_caching(pages, request, first, count, access) : serve_reuse(pages, request, access);
    pages->begun |= code == CZ_OK;
    to_device(pages, pages->units, access->n_units);
    to_device(pages, pages->victims, access->n_victims);
    return code;
}

int cz_pages_drop(cz_pages *pages, int32_t volume, int64_t offset, int64_t size, cz_access *access) {
    int64_t first, count;
    if (pages->kind == CZ_VIRTUAL || volume < 0 || !range(pages, offset, size, &first, &count))
        return CZ_BAD_CALL;
    memset(access, 0, sizeof *access);
    access->units = pages->units;
    access->victims = pages->victims;
    void_pages(pages, volume, first, count, access);
    if (pages->kind != CZ_POLICY)
        to_device(pages, pages->victims, access->n_victims);
    return CZ_OK;
}

/* Admit a page as a read; returns the kind's own slot, -1 where it is not taken. */
static int32_t admit(cz_pages *pages, int32_t volume, int64_t number) {
    cz_access access = {0};
    cz_served served;
    cz_request request = {.offset = number * PAGE_BYTES,
                          .size = PAGE_BYTES,
                          .volume = volume,
                          .name_space = CZ_UNKNOWN,
                          .user = CZ_UNKNOWN,
                          .flags = CZ_UNKNOWN};
    if (pages->manager)
        cz_manager_serve(pages->manager, volume, number, 1, false, MEAN, pages->units, pages->victims, &served);
    else if (serve_reuse(pages, &request, &access) != CZ_OK)
        return -1;
    return pages->units[0].outcome == 1 ? pages->units[0].slot : -1;
}

int cz_pages_put(cz_pages *pages, int32_t volume, int64_t number, int32_t slot) {
    slot_map *of = &pages->slots;
    if (pages->kind == CZ_POLICY)
        return cz_policy_put(pages->stream, volume, number, slot) ? CZ_OK : CZ_BAD_CALL;
    if (pages->kind == CZ_VIRTUAL || pages->begun || slot < 0 || slot >= pages->capacity || of->put[slot] ||
        volume < 0 || number < 0 || number > INT64_MAX / PAGE_BYTES - 1)
        return CZ_BAD_CALL;
    int32_t own = admit(pages, volume, number);
    if (own < 0)
        return CZ_BAD_CALL;
    int32_t other = of->own[slot], before = of->device[own]; /* the two exchange their places */
    of->device[own] = slot;
    of->own[slot] = own;
    of->device[other] = before;
    of->own[before] = other;
    of->put[slot] = 1;
    if (pages->turns)
        cz_turns_put(pages->turns, own);
    return CZ_OK;
}

int cz_pages_follow(cz_pages *pages, cz_stream *monitor, const cz_bundle *const *bundles, int32_t count,
                    cz_error *error) {
    cz_counters counters;
    cz_pages_stats(pages, &counters);
    if (pages->kind != CZ_CACHING)
        return cz_fail(error, CZ_BAD_CALL, "models take turns in a cache of kind caching");
    if (pages->begun || pages->turns || counters.keys)
        return cz_fail(error, CZ_BAD_CALL, "models take turns from the first page on: say so once, before it");
    return cz_turns_new(pages->capacity, pages->stream, monitor, bundles, count, &pages->turns, error);
}

int cz_pages_following(const cz_pages *pages, cz_following *following) {
    if (!pages->turns)
        return CZ_BAD_CALL;
    cz_turns_stats(pages->turns, following);
    return CZ_OK;
}

void cz_pages_stats(const cz_pages *pages, cz_counters *counters) {
    *counters = pages->counters;
    if (pages->kind == CZ_VIRTUAL || pages->kind == CZ_POLICY) {
        cz_stats(pages->stream, counters);
        counters->bytes += pages->counters.bytes;
        if (pages->kind == CZ_POLICY) /* the stream counts ghosts too, and pages that are remembered */
            counters->keys = (uint64_t)cz_policy_resident(pages->stream);
        return;
    }
    if (!pages->manager)
        return;
    cz_manager_stats(pages->manager, counters);
    counters->decisions = pages->counters.decisions;
    counters->bytes += pages->counters.bytes + (pages->turns ? cz_turns_bytes(pages->turns) : 0);
    if (pages->writes != CZ_BACK)
        counters->dirty_evicted = 0;
}
