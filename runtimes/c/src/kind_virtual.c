/* Kind virtual: the settings of a virtual I/O cache, and the profile of its warm start. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bundle.h"
#include "sequence.h"
#include "virtual.h"

#define FILE_NAME "profile.bin"
#define MOST_PAGES 16385 /* of a request: 64 MiB, which touches one more where it begins inside a page */
#define MOST_VOLUME 8191
#define MOST_GOLDEN ((int64_t)1 << 30) /* bytes of a golden set's cache */
#define COLUMNS 3                      /* of golden decisions: position, hit, moved */

typedef struct virtual_model {
    cz_virtual_settings settings;
    double *profile; /* of settings.pages; NULL where it starts cold */
} virtual_model;

typedef struct virtual_stream {
    cz_stream base;
    cz_virtual *cache;
    cz_virtual_access *pages; /* of the present request */
    cz_counters counters;
} virtual_stream;

/* ---- the model ---- */

static void model_free(void *data) {
    virtual_model *model = data;
    if (!model)
        return;
    free(model->profile);
    free(model);
}

static int read_settings(const cz_values *values, cz_virtual_settings *settings, cz_error *error) {
    static const char *const queues[] = {"lru", "lfu", "arc"};
    int64_t fragment = 0, runs = 0;
    const char *queue = "";
    int result = cz_values_whole(values, "arch.pages", 1, CZ_MOST_QUEUE, &settings->pages, error);
    if (!result)
        result = cz_values_whole(values, "arch.fragment", 1, CZ_MOST_FRAGMENT, &fragment, error);
    if (!result)
        result = cz_values_whole(values, "arch.runs", 1, CZ_MOST_RUNS, &runs, error);
    if (!result)
        result = cz_values_whole(values, "arch.quantum", 1, CZ_MOST_QUANTUM, &settings->quantum, error);
    if (!result)
        result = cz_values_number(values, "arch.decay", &settings->decay, error);
    if (!result)
        result = cz_values_number(values, "arch.cost", &settings->cost, error);
    if (!result)
        result = cz_values_text(values, "arch.queue", &queue, error);
    if (result)
        return result;
    settings->fragment = (int32_t)fragment;
    settings->runs = (int32_t)runs;
    while (settings->queue < 3 && strcmp(queues[settings->queue], queue) != 0)
        settings->queue++;
    if (settings->queue > 2)
        return cz_fail(error, CZ_BAD_BUNDLE, "%s: arch.queue is none of lru, lfu and arc", values->where);
    return CZ_OK;
}

static int damaged(const char *where, const char *problem, double number, cz_error *error) {
    return cz_fail(error, CZ_BAD_BUNDLE, "%s/" FILE_NAME ": %s (%.12g); export the bundle again", where, problem,
                   number);
}

/* The length is that of the bundle's own queue; a golden set may have another one. */
static int check_profile(const cz_bundle *bundle, const cz_file *file, cz_error *error) {
    const cz_json *root = cz_bundle_json(bundle);
    const char *where = cz_bundle_where(bundle);
    int64_t wanted = cz_json_get(root, "arch.pages")->integer / cz_json_get(root, "arch.fragment")->integer;
    if (file->size != (uint64_t)wanted * sizeof(double))
        return damaged(where, "does not have 8 bytes for each fragment of the queue", (double)file->size, error);
    for (int64_t b = 0; b < wanted; b++) {
        double rate;
        memcpy(&rate, file->data + (size_t)b * sizeof rate, sizeof rate);
        if (!(rate >= 0 && rate <= 1))
            return damaged(where, "holds a number that is no rate of hits", (double)b, error);
    }
    return CZ_OK;
}

/* Fragments that the file lacks are worth nothing. */
static int read_profile(const cz_file *file, virtual_model *model, cz_error *error) {
    size_t fragments = (size_t)cz_view_fragments(&model->settings), bytes = fragments * sizeof(double);
    model->profile = calloc(fragments, sizeof(double));
    if (!model->profile)
        return cz_fail(error, CZ_NO_MEMORY, "no memory for a profile of %zu fragments", fragments);
    memcpy(model->profile, file->data, file->size < bytes ? file->size : bytes);
    model->settings.profile = model->profile;
    return CZ_OK;
}

static int model_new(const cz_bundle *bundle, const cz_values *values, enum cz_precision precision, void **model,
                     cz_error *error) {
    (void)precision; /* of LSTMs */
    const cz_file *file = cz_bundle_file(bundle, FILE_NAME);
    const char *start = "";
    *model = NULL;
    if (!file)
        return cz_fail(error, CZ_BAD_BUNDLE, "%s: " FILE_NAME " is missing; export it again", cz_bundle_where(bundle));
    virtual_model *made = calloc(1, sizeof *made);
    if (!made)
        return cz_fail(error, CZ_NO_MEMORY, "no memory for a model");
    int result = check_profile(bundle, file, error);
    if (!result)
        result = read_settings(values, &made->settings, error);
    if (!result)
        result = cz_values_text(values, "policy.start", &start, error);
    if (!result && strcmp(start, "warm") == 0)
        result = read_profile(file, made, error);
    if (result) {
        model_free(made);
        return result;
    }
    *model = made;
    return CZ_OK;
}

int cz_virtual_settings_of(const cz_bundle *bundle, cz_virtual_settings *settings, cz_error *error) {
    if (!bundle || !settings)
        return cz_fail(error, CZ_BAD_CALL,
                       "cz_virtual_settings_of: no bundle, or no place for its settings; pass both");
    if (cz_bundle_kind(bundle) != &cz_kind_virtual)
        return cz_fail(error, CZ_BAD_CALL, "%s: a bundle of kind %s has no queue; open one of kind virtual",
                       cz_bundle_where(bundle), cz_bundle_kind(bundle)->name);
    *settings = ((const virtual_model *)cz_bundle_model(bundle))->settings;
    return CZ_OK;
}

/* ---- a stream ---- */

static void stream_free(cz_stream *stream) {
    virtual_stream *own = (virtual_stream *)stream;
    cz_virtual_free(own->cache);
    free(own->pages);
}

static int stream_new(const void *model, const cz_stream_options *options, cz_stream *stream, cz_error *error) {
    virtual_stream *own = (virtual_stream *)stream;
    int result = cz_virtual_new(&((const virtual_model *)model)->settings, options->capacity, &own->cache, error);
    if (result)
        return result;
    own->pages = malloc(MOST_PAGES * sizeof *own->pages);
    if (own->pages)
        return CZ_OK;
    stream_free(stream);
    return cz_fail(error, CZ_NO_MEMORY, "no memory for the pages of a request");
}

static int64_t first_page(const cz_request *request) {
    return request->offset / CZ_VIRTUAL_PAGE_BYTES;
}

static int64_t count_pages(const cz_request *request) {
    return (request->offset + request->size - 1) / CZ_VIRTUAL_PAGE_BYTES - first_page(request) + 1;
}

/* A page has fewer than 2^51 before it in its volume. */
static uint64_t key_of(int32_t volume, int64_t page) {
    return (uint64_t)volume << 51 | (uint64_t)page;
}

static bool in_runs(const cz_run *runs, int count, int64_t position) {
    bool found = false;
    for (int r = 0; r < count; r++)
        found = found || (runs[r].low <= position && position < runs[r].high);
    return found;
}

int cz_virtual_serve(cz_stream *stream, const cz_request *request, const cz_virtual_access **pages, int64_t *n) {
    virtual_stream *own = (virtual_stream *)stream;
    cz_counters *counters = &own->counters;
    if (!cz_request_fits(request) || count_pages(request) > MOST_PAGES || request->volume > MOST_VOLUME)
        return CZ_BAD_CALL;
    *n = count_pages(request);
    *pages = own->pages;
    for (int64_t k = 0; k < *n; k++) {
        cz_run runs[CZ_MOST_RUNS];
        cz_virtual_access *page = &own->pages[k];
        int count = cz_virtual_runs(own->cache, runs);
        int32_t filled = cz_virtual_page(own->cache, key_of(request->volume, first_page(request) + k), &page->place);
        page->kept = in_runs(runs, count, filled);
        counters->hits += (uint64_t)page->place.hit;
        counters->prefetched += (uint64_t)page->place.moved;
        counters->admitted += !page->place.hit && page->kept;
        counters->bypassed += !page->place.hit && !page->kept;
    }
    counters->units += (uint64_t)*n;
    stream->observed++;
    return CZ_OK;
}

/* The ticket says what became of the request's first page. */
static int observe(cz_stream *stream, const cz_request *request, cz_ticket *ticket) {
    const cz_virtual_access *pages;
    int64_t n;
    uint64_t number = stream->observed;
    int result = cz_virtual_serve(stream, request, &pages, &n);
    if (result)
        return result;
    *ticket = (cz_ticket){.number = number, .request = *request, .category = CZ_UNKNOWN};
    ticket->row[0] = (float)first_page(request);
    ticket->output[0] = pages[0].place.position;
    return CZ_OK;
}

/* The cache decides as it observes: cz_cache_access says what became of a request. */
static int decide(const cz_stream *stream, const cz_ticket *ticket, cz_decision *decision) {
    (void)stream, (void)ticket, (void)decision;
    return CZ_BAD_CALL;
}

/* ---- golden sets ---- */

static int remake_rows(cz_virtual *cache, const char *where, const cz_golden *golden, cz_remade *remade,
                       cz_error *error) {
    int64_t at = 0;
    for (int64_t row = 0; row < golden->rows; row++) {
        const cz_request *request = &golden->requests[row];
        int64_t first = first_page(request), n = count_pages(request);
        if (n > golden->decision_rows - at || request->volume > MOST_VOLUME)
            return cz_fail(error, CZ_BAD_BUNDLE,
                           "%s: golden request %lld has more pages than golden rows are left, or is of "
                           "volume 8192 or above; export the bundle again",
                           where, (long long)row + 1);
        remade->features[row] = (float)first;
        for (int64_t k = 0; k < n; k++, at++) {
            cz_place place;
            cz_virtual_page(cache, key_of(request->volume, first + k), &place);
            remade->outputs[at] = (float)place.position;
            memcpy(remade->decisions + COLUMNS * at, (int32_t[COLUMNS]){place.position, place.hit, place.moved},
                   COLUMNS * sizeof *remade->decisions);
        }
    }
    return CZ_OK;
}

/* Bytes that a cache takes at most: of a page with its histories, and of a fragment. */
static int64_t most_bytes(const cz_virtual_settings *own) {
    return own->pages * 235 + cz_view_fragments(own) * INT64_C(80);
}

static int remake(const cz_bundle *bundle, const void *data, const cz_golden *golden, cz_remade *remade,
                  cz_error *error) {
    const virtual_model *model = data;
    const char *where = cz_bundle_where(bundle);
    const cz_json *capacity = cz_json_get(golden->context, "capacity_pages");
    cz_virtual *cache;
    cz_error why = {0};
    if (!capacity || !capacity->whole || capacity->integer < 1)
        return cz_fail(error, CZ_BAD_BUNDLE, "%s: golden.context.capacity_pages: give pages, at least 1", where);
    if (most_bytes(&model->settings) > MOST_GOLDEN)
        return cz_fail(error, CZ_BAD_BUNDLE,
                       "%s: a golden set's queue of %lld pages takes more than 1 GiB; export the bundle "
                       "with a shorter one",
                       where, (long long)model->settings.pages);
    int result = cz_virtual_new(&model->settings, capacity->integer, &cache, &why);
    if (result)
        return cz_fail(error, CZ_BAD_BUNDLE, "%s: golden.context: %.300s", where, why.text);
    result = remake_rows(cache, where, golden, remade, error);
    cz_virtual_free(cache);
    return result;
}

static int may_swap(const void *from, const void *to, cz_error *error) {
    (void)from, (void)to;
    return cz_fail(error, CZ_BAD_CALL, "a virtual cache goes on with its own settings; begin with a new stream");
}

static void stats(const cz_stream *stream, cz_counters *counters) {
    const virtual_stream *own = (const virtual_stream *)stream;
    *counters = own->counters;
    counters->decisions = own->counters.units;
    counters->keys = (uint64_t)cz_virtual_length(own->cache);
    counters->bytes = sizeof *own + cz_virtual_bytes(own->cache) + MOST_PAGES * sizeof *own->pages;
}

const cz_kind_ops cz_kind_virtual = {
    .name = "virtual",
    .kind = CZ_VIRTUAL,
    .stream_bytes = sizeof(virtual_stream),
    .model_new = model_new,
    .model_free = model_free,
    .stream_new = stream_new,
    .stream_free = stream_free,
    .observe = observe,
    .decide = decide,
    .remake = remake,
    .may_swap = may_swap,
    .stats = stats,
};
