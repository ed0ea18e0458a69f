/* cz_cache: a flash cache by LRU, by RejectX or by a model; or the page cache that belongs to a model. */
#include <stdlib.h>
#include <string.h>

#include "controller.h"
#include "flash.h"
#include "history.h"
#include "pages.h"

#define DEFAULT_MISSES ((int64_t)1 << 20)
#define DEFAULT_REQUEST ((int64_t)64 << 20)

struct cz_cache {
    cz_cache_options options;
    cz_stream *admission; /* CZ_MODEL of kind admission */
    cz_prefetch_mode mode;
    double threshold;
    uint64_t swaps; /* of the stream when mode and threshold were chosen */
    bool own_mode;  /* the bundle's mode, not the caller's */
    int64_t unit_bytes, per_block, max_request;
    cz_flash *flash; /* or */
    cz_pages *pages;
    uint64_t decisions;
};

static int number_of(const cz_stream *stream, const char *place, double *found, cz_error *error) {
    const cz_json *value = cz_json_get(cz_bundle_json(stream->bundle), place);
    if (!value || value->type != CZ_JSON_NUMBER)
        return cz_fail(error, CZ_BAD_BUNDLE, "%s: %s is missing", cz_bundle_where(stream->bundle), place);
    *found = value->number;
    return CZ_OK;
}

static const char *text_of(const cz_stream *stream, const char *place) {
    const cz_json *value = cz_json_get(cz_bundle_json(stream->bundle), place);
    return value && value->type == CZ_JSON_TEXT ? value->text : NULL;
}

/* The mode that the bundle deploys, which validation chose for it. */
static const char *deployed(const cz_cache *cache) {
    return cache->admission ? text_of(cache->admission, "calibration.with_prefetch.mode") : "none";
}

static int choose_mode(cz_cache *cache, cz_error *error) {
    const char *text = cache->own_mode ? deployed(cache) : cache->options.prefetch;
    if (!text)
        return cz_fail(error, CZ_BAD_BUNDLE, "the bundle names no prefetch mode; give one, such as none");
    if (!cz_prefetch_parse(text, &cache->mode))
        return cz_fail(error, CZ_BAD_CALL,
                       "prefetch mode %s is unknown; known are none, all_on_miss, all_on_partial and next(n)", text);
    return CZ_OK;
}

/* A threshold belongs to a mode: what is prefetched is written too, and both must keep to the write budget. */
static int choose_threshold(cz_cache *cache, cz_error *error) {
    const char *plain = text_of(cache->admission, "calibration.with_prefetch.mode");
    cz_prefetch_mode with = {CZ_NO_PREFETCH, 0};
    bool same = plain && cz_prefetch_parse(plain, &with) && with.kind == cache->mode.kind &&
                with.ahead == cache->mode.ahead && with.kind != CZ_NO_PREFETCH;
    return number_of(cache->admission, same ? "calibration.with_prefetch.threshold" : "calibration.threshold",
                     &cache->threshold, error);
}

/* Mode and threshold are of the stream's bundle, which cz_swap may have changed: they are chosen anew. On failure
 * those before stay. */
static int follow_swaps(cz_cache *cache, cz_error *error) {
    if (cache->admission->swaps == cache->swaps)
        return CZ_OK;
    cz_cache chosen = *cache;
    int code = chosen.own_mode ? choose_mode(&chosen, error) : CZ_OK;
    if (code == CZ_OK)
        code = choose_threshold(&chosen, error);
    if (code != CZ_OK)
        return code;
    chosen.swaps = cache->admission->swaps;
    *cache = chosen;
    return CZ_OK;
}

/* Whether a read uses its blocks whole: without a bundle, and where the bundle says so. */
static bool uses_blocks(const cz_stream *admission) {
    return !admission || ((const cz_history_model *)admission->model)->by_block;
}

static int sizes(cz_cache *cache, cz_error *error) {
    const cz_cache_options *options = &cache->options;
    int64_t unit = options->unit_bytes, block = options->block_bytes;
    if (cache->admission) {
        cz_info info;
        cz_bundle_info(cache->admission->bundle, &info);
        if ((unit && unit != info.segment_bytes) || (block && block != info.block_bytes))
            return cz_fail(error, CZ_BAD_CALL, "cache: the bundle's segments have %lld bytes and its blocks %lld",
                           (long long)info.segment_bytes, (long long)info.block_bytes);
        unit = info.segment_bytes;
        block = info.block_bytes;
    }
    if (unit < 1 || block < unit || block % unit)
        return cz_fail(error, CZ_BAD_CALL, "cache: units of %lld bytes in blocks of %lld: a block holds whole units",
                       (long long)unit, (long long)block);
    cache->unit_bytes = unit;
    cache->per_block = block / unit;
    return CZ_OK;
}

static int open_flash(cz_cache *cache, cz_error *error) {
    const cz_cache_options *options = &cache->options;
    int code = sizes(cache, error);
    if (code == CZ_OK)
        code = choose_mode(cache, error);
    if (code == CZ_OK && cache->admission)
        code = choose_threshold(cache, error);
    if (code != CZ_OK)
        return code;
    if (options->mode == CZ_REJECTX && options->window < 0)
        return cz_fail(error, CZ_BAD_CALL, "cache: RejectX's window is %lld requests; it must be at least 0",
                       (long long)options->window);
    /* A request need not begin with a unit, so it may touch one more than its size holds. */
    cz_flash_options flash = {.capacity = options->capacity,
                              .per_block = cache->per_block,
                              .max_units = cache->max_request / cache->unit_bytes + 2,
                              .window = options->mode == CZ_REJECTX ? options->window : CZ_BY_VERDICT,
                              .max_misses = options->max_misses ? options->max_misses : DEFAULT_MISSES,
                              .by_block = uses_blocks(cache->admission)};
    return cz_flash_new(&flash, &cache->flash, error);
}

static int take_streams(cz_cache *cache, cz_stream *streams[2], cz_error *error) {
    cz_stream *first = streams ? streams[0] : NULL;
    if (streams && streams[1])
        return cz_fail(error, CZ_BAD_CALL, "cache: a second stream was of a prefetch bundle, which no longer runs");
    if (cache->options.mode != CZ_MODEL) {
        if (first)
            return cz_fail(error, CZ_BAD_CALL, "cache: only CZ_MODEL takes streams");
        return CZ_OK;
    }
    if (!first)
        return cz_fail(error, CZ_BAD_CALL, "cache: CZ_MODEL needs the stream of a bundle");
    enum cz_kind kind = first->ops->kind;
    if (kind != CZ_ADMISSION && kind != CZ_CACHING && kind != CZ_REUSE && kind != CZ_VIRTUAL && kind != CZ_POLICY)
        return cz_fail(error, CZ_BAD_CALL, "cache: a bundle of kind %s decides nothing about a cache alone",
                       first->ops->name);
    if (kind == CZ_ADMISSION) {
        cache->admission = first;
        cache->swaps = first->swaps;
    }
    return CZ_OK;
}

int cz_cache_new(const cz_cache_options *options, cz_stream *streams[2], cz_cache **cache, cz_error *error) {
    return cz_cache_new_writes(options, CZ_WRITES_USUAL, streams, cache, error);
}

int cz_cache_new_writes(const cz_cache_options *options, enum cz_writes writes, cz_stream *streams[2], cz_cache **cache,
                        cz_error *error) {
    if (!cache)
        return cz_fail(error, CZ_BAD_CALL, "cz_cache_new: no place for the cache; pass one");
    *cache = NULL;
    if (!options)
        return cz_fail(error, CZ_BAD_CALL, "cz_cache_new: no options; pass them");
    if (options->mode != CZ_LRU && options->mode != CZ_REJECTX && options->mode != CZ_MODEL)
        return cz_fail(error, CZ_BAD_CALL, "cache: mode %d is unknown", (int)options->mode);
    if (writes < CZ_WRITES_USUAL || writes > CZ_BACK)
        return cz_fail(error, CZ_BAD_CALL, "cache: write policy %d is unknown", (int)writes);
    if (options->max_request < 0 || options->max_request > (int64_t)1 << 40)
        return cz_fail(error, CZ_BAD_CALL, "cache: requests of %lld bytes at most; give 0 to 1 TiB",
                       (long long)options->max_request);
    cz_cache *made = calloc(1, sizeof *made);
    if (!made)
        return cz_fail(error, CZ_NO_MEMORY, "cache: no memory");
    made->options = *options;
    made->own_mode = options->prefetch == NULL;
    made->max_request = options->max_request ? options->max_request : DEFAULT_REQUEST;
    int code = take_streams(made, streams, error);
    if (code == CZ_OK && options->mode == CZ_MODEL && !made->admission)
        code = cz_pages_new(options, streams[0], writes, made->max_request, &made->pages, error);
    else if (code == CZ_OK && writes != CZ_WRITES_USUAL && writes != CZ_AROUND)
        code = cz_fail(error, CZ_BAD_CALL, "cache: writes go around a flash cache; give CZ_AROUND");
    else if (code == CZ_OK)
        code = open_flash(made, error);
    made->options.prefetch = NULL; /* the caller's text, parsed by now */
    if (code != CZ_OK) {
        cz_cache_free(made);
        return code;
    }
    *cache = made;
    return CZ_OK;
}

void cz_cache_free(cz_cache *cache) {
    if (!cache)
        return;
    cz_flash_free(cache->flash);
    cz_pages_free(cache->pages);
    free(cache);
}

/* Segments of a byte range; false where it is none or too large. */
static bool segments(const cz_cache *cache, int64_t offset, int64_t size, int64_t *first, int64_t *count) {
    if (offset < 0 || size < 1 || size > cache->max_request || offset > INT64_MAX - size)
        return false;
    *first = offset / cache->unit_bytes;
    *count = (offset + size - 1) / cache->unit_bytes - *first + 1;
    return true;
}

static int decide(cz_cache *cache, const cz_ticket *ticket, int64_t first, int64_t count, cz_verdict *verdict,
                  cz_access *access) {
    verdict->admit = true;
    cz_prefetch_plain(&cache->mode, first % cache->per_block + count - 1, cache->per_block, verdict);
    if (!cache->admission)
        return CZ_OK;
    int code = cz_decide(cache->admission, ticket, &access->decision);
    if (code != CZ_OK)
        return code;
    access->asked = 1;
    cache->decisions++;
    const cz_controller *controller = cache->admission->controller;
    verdict->admit = access->decision.output[0] >= (controller ? controller->threshold : cache->threshold);
    access->decision.admit = verdict->admit;
    return CZ_OK;
}

static int serve_flash(cz_cache *cache, const cz_request *request, cz_access *access) {
    int64_t first, count;
    cz_ticket ticket;
    if (!segments(cache, request->offset, request->size, &first, &count) ||
        (request->op != CZ_READ && request->op != CZ_WRITE) || request->volume < 0)
        return CZ_BAD_CALL;
    int code = cache->admission ? follow_swaps(cache, NULL) : CZ_OK;
    if (code == CZ_OK && cache->admission)
        code = cz_observe(cache->admission, request, &ticket);
    if (code == CZ_OK)
        code = cz_flash_look(cache->flash, (enum cz_op)request->op, request->volume, first, count, access);
    if (code != CZ_OK || access->misses == 0)
        return code;
    cz_verdict verdict = {0};
    if (cache->admission && cache->admission->controller)
        cz_controller_begin(cache->admission->controller, cache->threshold);
    code = decide(cache, &ticket, first, count, &verdict, access);
    if (code != CZ_OK)
        return code;
    cz_flash_fill(cache->flash, &verdict, access);
    if (cache->admission)
        code =
            cz_wrote(cache->admission, request->time_us, access->decision.output[0], access->misses, access->written);
    return code;
}

int cz_cache_access(cz_cache *cache, const cz_request *request, cz_access *access) {
    if (!cache || !request || !access)
        return CZ_BAD_CALL;
    return cache->flash ? serve_flash(cache, request, access) : cz_pages_access(cache->pages, request, access);
}

int cz_cache_drop(cz_cache *cache, int32_t volume, int64_t offset, int64_t size, cz_access *access) {
    int64_t first, count;
    if (!cache || !access)
        return CZ_BAD_CALL;
    if (!cache->flash)
        return cz_pages_drop(cache->pages, volume, offset, size, access);
    if (!segments(cache, offset, size, &first, &count))
        return CZ_BAD_CALL;
    return cz_flash_drop(cache->flash, volume, first, count, access);
}

int cz_cache_put(cz_cache *cache, int32_t volume, int64_t number, int32_t slot) {
    if (!cache)
        return CZ_BAD_CALL;
    return cache->flash ? cz_flash_put(cache->flash, volume, number, slot)
                        : cz_pages_put(cache->pages, volume, number, slot);
}

int cz_cache_follow(cz_cache *cache, cz_stream *monitor, const cz_bundle *const *bundles, int32_t count,
                    cz_error *error) {
    if (!cache || !cache->pages)
        return cz_fail(error, CZ_BAD_CALL, "models take turns in a cache of kind caching");
    return cz_pages_follow(cache->pages, monitor, bundles, count, error);
}

int cz_cache_following(const cz_cache *cache, cz_following *following) {
    if (!cache || !cache->pages || !following)
        return CZ_BAD_CALL;
    return cz_pages_following(cache->pages, following);
}

void cz_cache_stats(const cz_cache *cache, cz_counters *counters) {
    if (!counters)
        return;
    *counters = (cz_counters){0};
    if (!cache)
        return;
    if (cache->flash) {
        cz_flash_stats(cache->flash, counters);
        counters->decisions = cache->decisions;
    } else {
        cz_pages_stats(cache->pages, counters);
    }
}
