/* Kind reuse: a whole page cache, of a next-use forest, its tables, and the classics that it follows. */
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "reuse_cache.h"

#define LAYOUT 3 /* of saved states, which are memory as it lies: another one where a struct of reuse_parts.h changes */
enum { MOST_NAMES = 65535, UNREAD = 0xFF };
#define MOST_GOLDEN ((size_t)1 << 30)    /* bytes of a golden set's cache */
#define MOST_CAPACITY (INT64_C(1) << 27) /* pages */

typedef struct reuse_stream {
    cz_stream base;
    cz_reuse *cache;
    uint8_t *flags; /* bits of each interned name of CZ_FLAGS, or UNREAD */
    int32_t names;
} reuse_stream;

static void stream_free(cz_stream *stream) {
    reuse_stream *own = (reuse_stream *)stream;
    cz_reuse_free(own->cache);
    free(own->flags);
    own->cache = NULL;
    own->flags = NULL;
}

static int check_options(const cz_reuse_model *model, const cz_stream_options *options, cz_error *error) {
    if (options->capacity < 1 || options->capacity > MOST_CAPACITY)
        return cz_fail(error, CZ_BAD_CALL, "capacity %lld: a model of kind reuse needs one of 1 to %lld pages",
                       (long long)options->capacity, (long long)MOST_CAPACITY);
    if (options->max_names < 1 || options->max_names > MOST_NAMES)
        return cz_fail(error, CZ_BAD_CALL, "max_names %d: kind reuse takes 1 to %d", options->max_names, MOST_NAMES);
    int64_t least = cz_reuse_least_keys(model, options->capacity);
    if (options->max_keys < least || options->max_keys > INT32_MAX / 2)
        return cz_fail(error, CZ_BAD_CALL, "max_keys %lld: a cache of %lld pages remembers %lld to %d pages",
                       (long long)options->max_keys, (long long)options->capacity, (long long)least, INT32_MAX / 2);
    return CZ_OK;
}

static int stream_new(const void *model, const cz_stream_options *options, cz_stream *stream, cz_error *error) {
    reuse_stream *own = (reuse_stream *)stream;
    bool large;
    int result = check_options(model, options, error);
    if (result != CZ_OK)
        return result;
    own->names = options->max_names;
    own->flags = malloc((size_t)own->names);
    own->cache = cz_reuse_new(model, options->capacity, options->max_keys, own->names + 1, 0, &large);
    if (own->cache == NULL || own->flags == NULL) {
        stream_free(stream);
        return cz_fail(error, CZ_NO_MEMORY, "no memory for a cache of %lld pages that remembers %lld",
                       (long long)options->capacity, (long long)options->max_keys);
    }
    memset(own->flags, UNREAD, (size_t)own->names);
    return CZ_OK;
}

/* Bits of a request's flags; their text is read once. */
static int flags_of(reuse_stream *own, int32_t name) {
    if (name < 0 || name >= own->names)
        return CZ_FLAG_UNKNOWN;
    if (own->flags[name] == UNREAD)
        own->flags[name] = (uint8_t)cz_reuse_flags(cz_names_text(own->base.names, CZ_FLAGS, name));
    return own->flags[name];
}

int cz_reuse_access(cz_stream *stream, const cz_request *request, const cz_reuse_page **pages, int64_t *n) {
    reuse_stream *own = (reuse_stream *)stream;
    *pages = own->cache->served;
    *n = 0;
    int result = cz_reuse_serve(own->cache, stream->model, request, flags_of(own, request->flags), NULL, n);
    stream->observed += result == CZ_OK;
    return result;
}

int32_t cz_reuse_turn(cz_stream *stream, int32_t volume, int64_t number) {
    cz_reuse *cache = ((reuse_stream *)stream)->cache;
    int32_t slot = cz_table_look(&cache->table, volume, number);
    if (slot == 0)
        return -1;
    cache->pages[slot].dirty = 0;
    cz_table_turn(&cache->table, slot);
    return cache->follow.pages[slot].place != 0 ? cache->follow.pages[slot].slot : -1;
}

int64_t cz_reuse_capacity(const cz_stream *stream) {
    return ((const reuse_stream *)stream)->cache->follow.capacity;
}

/* The ticket shows the request's first page. */
static int observe(cz_stream *stream, const cz_request *request, cz_ticket *ticket) {
    reuse_stream *own = (reuse_stream *)stream;
    const cz_reuse_page *pages;
    int64_t n;
    ticket->number = stream->observed;
    ticket->request = *request;
    int result = cz_reuse_access(stream, request, &pages, &n);
    if (result != CZ_OK)
        return result;
    memcpy(ticket->row, own->cache->rows, CZ_INPUTS * sizeof *ticket->row);
    ticket->output[0] = own->cache->scores[0];
    return CZ_OK;
}

/* The whole cache decides as it observes: cz_cache_access says what became of a request. */
static int decide(const cz_stream *stream, const cz_ticket *ticket, cz_decision *decision) {
    (void)stream;
    (void)ticket;
    (void)decision;
    return CZ_BAD_CALL;
}

/* Write what became of a request's pages from row `at` on. */
static void put(const cz_reuse *cache, int64_t n, int64_t at, cz_remade *remade) {
    memcpy(remade->features + at * CZ_INPUTS, cache->rows, (size_t)(n * CZ_INPUTS) * sizeof *remade->features);
    for (int64_t k = 0; k < n; k++) {
        int32_t *row = remade->decisions + 3 * (at + k);
        remade->outputs[at + k] = cache->scores[k];
        row[0] = cache->served[k].outcome;
        row[1] = cache->served[k].victim_id;
        row[2] = cache->served[k].leader;
    }
}

static int remake_rows(const char *where, cz_reuse *cache, const cz_reuse_model *model, const cz_golden *golden,
                       cz_remade *remade, cz_error *error) {
    int64_t at = 0, n;
    for (int64_t row = 0; row < golden->rows; row++) {
        const cz_request *request = &golden->requests[row];
        int64_t pages =
            (request->offset + request->size - 1) / CZ_REUSE_PAGE_BYTES - request->offset / CZ_REUSE_PAGE_BYTES + 1;
        int flags = cz_reuse_flags(golden->has_flags ? golden->names[CZ_FLAGS][request->flags] : NULL);
        const float *given = golden->outputs_given ? golden->outputs + at : NULL;
        if (pages > golden->feature_rows - at || cz_reuse_serve(cache, model, request, flags, given, &n) != CZ_OK)
            return cz_fail(error, CZ_BAD_BUNDLE,
                           "%s: golden request %lld has other pages than the golden rows, or more than "
                           "%d; export the bundle again",
                           where, (long long)row + 1, CZ_REUSE_MOST_PAGES);
        put(cache, n, at, remade);
        at += n;
    }
    if (at != golden->feature_rows)
        return cz_fail(error, CZ_BAD_BUNDLE,
                       "%s: %lld golden rows, the requests have %lld pages; export the bundle "
                       "again",
                       where, (long long)golden->feature_rows, (long long)at);
    return CZ_OK;
}

static int remake(const cz_bundle *bundle, const void *data, const cz_golden *golden, cz_remade *remade,
                  cz_error *error) {
    const cz_reuse_model *model = data;
    const char *where = cz_bundle_where(bundle);
    bool large;
    const cz_json *capacity = cz_json_get(golden->context, "capacity_pages");
    if (!capacity || !capacity->whole || capacity->integer < 1 || capacity->integer > MOST_CAPACITY)
        return cz_fail(error, CZ_BAD_BUNDLE, "%s: golden.context.capacity_pages: give pages, 1 to %lld", where,
                       (long long)MOST_CAPACITY);
    if (golden->n_features != CZ_INPUTS || golden->n_outputs != 1 || golden->n_decisions != 3 ||
        golden->output_rows != golden->feature_rows || golden->decision_rows != golden->feature_rows)
        return cz_fail(error, CZ_BAD_BUNDLE,
                       "%s: golden rows of kind reuse have %d features, an output and 3 decisions of "
                       "each page access",
                       where, CZ_INPUTS);
    int64_t keys = cz_reuse_least_keys(model, capacity->integer);
    keys = golden->feature_rows > keys ? golden->feature_rows : keys;
    cz_reuse *cache = cz_reuse_new(model, capacity->integer, keys, golden->n_names[CZ_USER] + 1, MOST_GOLDEN, &large);
    if (!cache && large)
        return cz_fail(error, CZ_BAD_BUNDLE,
                       "%s: a golden set's cache of %lld pages and policy.own_rows take more than "
                       "1 GiB; export the bundle with smaller ones",
                       where, (long long)capacity->integer);
    if (!cache)
        return cz_fail(error, CZ_NO_MEMORY, "%s: no memory for a cache of %lld pages", where,
                       (long long)capacity->integer);
    int result = remake_rows(where, cache, model, golden, remade, error);
    cz_reuse_free(cache);
    return result;
}

static size_t save(const cz_stream *stream, unsigned char *buffer) {
    cz_writer out = {buffer, 0};
    cz_put(&out, LAYOUT, 8);
    return out.size + cz_memory_save(&((const reuse_stream *)stream)->cache->memory, buffer ? buffer + out.size : NULL);
}

static int restore(cz_stream *stream, const unsigned char *buffer, size_t size, cz_error *error) {
    reuse_stream *own = (reuse_stream *)stream;
    cz_reuse *cache = own->cache;
    cz_bytes in = {buffer, size, false};
    if (cz_take(&in, 8) != LAYOUT || in.failed)
        return cz_fail(error, CZ_BAD_STATE,
                       "the saved cache has the layout of another release; begin with a new stream");
    if (!cz_memory_restore(&cache->memory, in.at, in.left) || !cz_table_index(&cache->table) ||
        !cz_table_index(&cache->past.regions) || !cz_table_index(&cache->past.stretches) || !cz_reuse_sound(cache))
        return cz_fail(error, CZ_BAD_STATE, "the saved cache is damaged, or of other options; begin with a new stream");
    cz_own_resume(&cache->own, cache->n.accesses);
    return CZ_OK;
}

static int may_swap(const void *from, const void *to, cz_error *error) {
    const cz_reuse_model *one = from, *other = to;
    if (memcmp(&one->plan, &other->plan, sizeof one->plan) != 0)
        return cz_fail(error, CZ_BAD_CALL,
                       "the other model's policy differs, or its number of quantiles; begin with a "
                       "new stream");
    return CZ_OK;
}

static void stats(const cz_stream *stream, cz_counters *counters) {
    const cz_reuse *cache = ((const reuse_stream *)stream)->cache;
    counters->decisions = counters->units = (uint64_t)cache->n.accesses;
    counters->hits = cache->n.hits;
    counters->admitted = cache->n.admitted;
    counters->bypassed = cache->n.bypassed;
    counters->evicted = cache->n.evicted;
    counters->dirty_evicted = cache->n.dirty_evicted;
    counters->forgotten = cache->table.n.forgotten;
    counters->keys = (uint64_t)(cache->table.n.used - CZ_FIRST_SLOT);
    counters->bytes = cache->memory.bytes + sizeof *cache;
}

const cz_kind_ops cz_kind_reuse = {
    .name = "reuse",
    .kind = CZ_REUSE,
    .stream_bytes = sizeof(reuse_stream),
    .model_new = cz_reuse_model_new,
    .model_free = cz_reuse_model_free,
    .stream_new = stream_new,
    .stream_free = stream_free,
    .observe = observe,
    .decide = decide,
    .remake = remake,
    .save = save,
    .restore = restore,
    .may_swap = may_swap,
    .stats = stats,
};
