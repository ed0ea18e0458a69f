/* The page caches that belong to models: three queues of kind caching, and the whole cache of kind reuse. */
#include "pages.h"

#include <stdlib.h>
#include <string.h>

#include "caching.h"
#include "reuse.h"
#include "sequence.h"

#define DEFAULT_REQUEST ((int64_t)64 << 20)
enum { ADMITTED = 1, HIT = 2 };

struct cz_pages {
    cz_stream *stream;
    cz_manager *manager; /* of kind caching */
    cz_unit *units, *victims;
    int64_t most_bytes; /* of a request */
    cz_counters counts; /* of kind reuse */
};

static int check(const cz_cache_options *options, const cz_stream *stream, cz_error *error)
{
    if (options->capacity != stream->options.capacity)
        return cz_fail(error, CZ_BAD_CALL, "cache: %lld pages, but its stream decides for one of %lld; give the same",
                       (long long)options->capacity, (long long)stream->options.capacity);
    if ((options->unit_bytes && options->unit_bytes != CZ_PAGE_BYTES) || options->block_bytes)
        return cz_fail(error, CZ_BAD_CALL, "cache: a bundle of kind %s caches pages of %d bytes; give 0 as sizes",
                       stream->ops->name, CZ_PAGE_BYTES);
    if (options->prefetch && strcmp(options->prefetch, "none") != 0)
        return cz_fail(error, CZ_BAD_CALL, "cache: a bundle of kind %s prefetches nothing; give none",
                       stream->ops->name);
    return CZ_OK;
}

int cz_pages_new(const cz_cache_options *options, cz_stream *stream, cz_pages **pages, cz_error *error)
{
    *pages = NULL;
    int code = check(options, stream, error);
    if (code != CZ_OK)
        return code;
    cz_pages *made = calloc(1, sizeof *made);
    if (!made)
        return cz_fail(error, CZ_NO_MEMORY, "cache: no memory");
    made->stream = stream;
    made->most_bytes = options->max_request ? options->max_request : DEFAULT_REQUEST;
    /* A request need not begin with a page, so it may touch one more than its size holds. */
    size_t most = (size_t)(made->most_bytes / CZ_PAGE_BYTES + 2);
    made->units = malloc(most * sizeof *made->units);
    made->victims = malloc(most * sizeof *made->victims);
    if (!made->units || !made->victims)
        code = cz_fail(error, CZ_NO_MEMORY, "cache: no memory for requests of %lld bytes", (long long)made->most_bytes);
    if (code == CZ_OK && stream->ops->kind == CZ_CACHING) {
        cz_rules rules;
        cz_caching_rules(stream->model, options->capacity, &rules);
        code = cz_manager_new(&rules, &made->manager, error);
    }
    if (code != CZ_OK) {
        cz_pages_free(made);
        return code;
    }
    *pages = made;
    return CZ_OK;
}

void cz_pages_free(cz_pages *pages)
{
    if (!pages)
        return;
    cz_manager_free(pages->manager);
    free(pages->units);
    free(pages->victims);
    free(pages);
}

/* The model steps on every request; its cache reads the decision where something is missing, or where hits ask too. */
static int serve_caching(cz_pages *pages, const cz_request *request, cz_access *access)
{
    int64_t first = request->offset / CZ_PAGE_BYTES;
    int64_t count = (request->offset + request->size - 1) / CZ_PAGE_BYTES - first + 1;
    cz_ticket ticket;
    cz_decision decision;
    cz_served served;
    cz_caching_join(pages->stream);
    int code = cz_observe(pages->stream, request, &ticket);
    if (code == CZ_OK)
        code = cz_decide(pages->stream, &ticket, &decision);
    if (code != CZ_OK)
        return code;
    cz_manager_serve(pages->manager, request->volume, first, count, request->op == CZ_WRITE, decision.queue,
                     pages->units, pages->victims, &served);
    cz_caching_tell(pages->stream, served.tags);
    access->asked = served.queue >= 0;
    if (access->asked)
        access->decision = decision;
    access->hits = (int32_t)served.hits;
    access->misses = (int32_t)(count - served.hits);
    access->written = (int32_t)served.admitted;
    access->evicted = (int32_t)served.victims;
    access->n_units = count;
    access->n_victims = served.victims;
    return CZ_OK;
}

/* A page that entered for this request and has left again: it was evicted for a later one. */
static void left_again(cz_unit *units, int64_t count, const cz_unit *victim)
{
    int64_t place = victim->number - units[0].number;
    if (victim->volume == units[0].volume && place >= 0 && place < count && units[place].outcome == ADMITTED)
        units[place].slot = -1;
}

static int serve_reuse(cz_pages *pages, const cz_request *request, cz_access *access)
{
    const cz_reuse_page *served;
    int64_t count = 0;
    int code = cz_reuse_access(pages->stream, request, &served, &count);
    for (int64_t k = 0; code == CZ_OK && k < count; k++) {
        const cz_reuse_page *page = &served[k];
        pages->units[k] = (cz_unit){
            .number = page->number, .volume = page->volume, .slot = page->slot, .outcome = page->outcome};
        access->hits += page->outcome == HIT;
        access->misses += page->outcome != HIT;
        access->written += page->outcome == ADMITTED;
        if (page->victim_volume < 0)
            continue;
        cz_unit *victim = &pages->victims[access->n_victims++];
        *victim = (cz_unit){.number = page->victim_number,
                            .volume = page->victim_volume,
                            .slot = page->slot,
                            .dirty = page->victim_dirty};
        left_again(pages->units, k, victim);
        access->evicted++;
        pages->counts.dirty_evicted += victim->dirty;
    }
    access->n_units = count;
    access->asked = code == CZ_OK;
    return code;
}

static void count_reuse(cz_counters *counts, const cz_access *access)
{
    counts->requests++;
    counts->decisions++;
    counts->units += (uint64_t)access->n_units;
    counts->hits += (uint64_t)access->hits;
    counts->admitted += (uint64_t)access->written;
    counts->bypassed += (uint64_t)(access->misses - access->written);
    counts->evicted += (uint64_t)access->evicted;
}

int cz_pages_access(cz_pages *pages, const cz_request *request, cz_access *access)
{
    *access = (cz_access){.units = pages->units, .victims = pages->victims};
    if (!cz_request_fits(request) || request->size > pages->most_bytes)
        return CZ_BAD_CALL;
    if (pages->manager)
        return serve_caching(pages, request, access);
    int code = serve_reuse(pages, request, access);
    if (code == CZ_OK)
        count_reuse(&pages->counts, access);
    return code;
}

void cz_pages_stats(const cz_pages *pages, cz_counters *counters)
{
    *counters = pages->counts;
    if (pages->manager)
        cz_manager_stats(pages->manager, counters);
}
