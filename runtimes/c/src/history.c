/* Inputs from the access history, equal to those of src/cachezoo/features/history.py bit for bit. The clock is the
 * number of requests. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "history.h"

#define SEGMENT_BITS 50 /* a key: the volume above, the segment's or block's number below */
#define MOST_VOLUMES (1 << (63 - SEGMENT_BITS))
#define MOST_SEGMENTS (1 << 22) /* of one request */
#define MOST_CODE (1 << 22)

enum { OP, NAMESPACE, USER, START, END, SIZE, STATIC };
static const char *const FORMULAS[STATIC] = {"request.op",  "code.namespace", "code.user",
                                             "block.start", "block.end",      "request.segments"};

/* ---- the model ---- */

static int read_windows(const cz_bundle *bundle, const cz_values *values, cz_windows *windows, cz_error *error) {
    const cz_json *list = cz_values_get(values, "policy.history.windows");
    int64_t least = 1;
    windows->count = 0;
    if (!list || list->type != CZ_JSON_LIST || list->length < 1 || list->length > CZ_MAX_WINDOWS) {
        return cz_fail(error, CZ_BAD_BUNDLE,
                       "%s: policy.history.windows is no list of 1 to %d numbers; export it again",
                       cz_bundle_where(bundle), CZ_MAX_WINDOWS);
    }
    for (size_t i = 0; i < list->length; i++) {
        const cz_json *window = &list->items[i];
        if (!window->whole || window->integer < least || window->integer > 1 << 12) {
            return cz_fail(error, CZ_BAD_BUNDLE,
                           "%s: policy.history.windows do not rise from 1 or more to at most 4096; export it again",
                           cz_bundle_where(bundle));
        }
        windows->length[windows->count++] = (int32_t)window->integer;
        least = window->integer + 1;
    }
    return CZ_OK;
}

/* Place of a formula among all that are computed, -1 where it is unknown. */
static int32_t place_of(const cz_windows *windows, const char *formula) {
    static const char *const keys[] = {"block", "segment"}, *const kinds[] = {"read", "write"};
    char name[64];
    for (int32_t i = 0; i < STATIC; i++) {
        if (strcmp(formula, FORMULAS[i]) == 0)
            return i;
    }
    for (int32_t i = 0; i < 4 * windows->count; i++) {
        int32_t group = i / windows->count, window = windows->length[i % windows->count];
        snprintf(name, sizeof name, "history.%s.%s.%d", keys[group / 2], kinds[group % 2], window);
        if (strcmp(formula, name) == 0)
            return STATIC + i;
    }
    return -1;
}

static int read_features(const cz_bundle *bundle, const cz_values *values, cz_history_model *model, cz_error *error) {
    const cz_json *list = cz_values_get(values, "features");
    const char *where = cz_bundle_where(bundle);
    if (!list || list->type != CZ_JSON_LIST || list->length < 1 || list->length > CZ_MAX_FEATURES)
        return cz_fail(error, CZ_BAD_BUNDLE, "%s: features is no list of 1 to %d inputs; export it again", where,
                       CZ_MAX_FEATURES);
    for (size_t i = 0; i < list->length; i++) {
        const cz_json *formula = cz_json_get(&list->items[i], "formula");
        const char *text = formula && formula->type == CZ_JSON_TEXT ? formula->text : "";
        int32_t place = place_of(&model->windows, text);
        if (place < 0)
            return cz_fail(error, CZ_BAD_BUNDLE,
                           "%s: feature formula %.80s is unknown to this library; use a newer one", where, text);
        model->column[model->features++] = place;
    }
    return CZ_OK;
}

static int read_encoding(const cz_bundle *bundle, const cz_values *values, const char *place, const cz_json **found,
                         cz_error *error) {
    *found = cz_values_get(values, place);
    if (!*found)
        return CZ_OK;
    bool whole = (*found)->type == CZ_JSON_OBJECT;
    for (size_t i = 0; whole && i < (*found)->length; i++) {
        const cz_json *code = &(*found)->items[i];
        whole = code->whole && code->integer >= CZ_UNKNOWN && code->integer <= MOST_CODE;
    }
    if (whole)
        return CZ_OK;
    return cz_fail(error, CZ_BAD_BUNDLE, "%s: %s is not a code from -1 to %d for each name; export it again",
                   cz_bundle_where(bundle), place, MOST_CODE);
}

/* What a read uses, by a bundle of before: what it reads alone. */
static int read_touch(const cz_bundle *bundle, const cz_values *values, bool *by_block, cz_error *error) {
    const cz_json *touch = cz_values_get(values, "policy.touch");
    bool block = touch && touch->type == CZ_JSON_TEXT && strcmp(touch->text, "block") == 0;
    *by_block = block;
    if (!touch || block || (touch->type == CZ_JSON_TEXT && strcmp(touch->text, "segment") == 0))
        return CZ_OK;
    return cz_fail(error, CZ_BAD_BUNDLE, "%s: policy.touch is neither segment nor block; export it again",
                   cz_bundle_where(bundle));
}

int cz_history_read(const cz_bundle *bundle, const cz_values *values, cz_history_model *model, cz_error *error) {
    int64_t block = 0, most = (int64_t)1 << 40;
    *model = (cz_history_model){0};
    int result = cz_values_whole(values, "geometry.segment_bytes", 1, most, &model->segment_bytes, error);
    if (!result)
        result = cz_values_whole(values, "geometry.block_bytes", 1, most, &block, error);
    if (!result && block % model->segment_bytes)
        result =
            cz_fail(error, CZ_BAD_BUNDLE, "%s: geometry.block_bytes is no multiple of segment_bytes; export it again",
                    cz_bundle_where(bundle));
    if (!result)
        model->per_block = block / model->segment_bytes;
    if (!result && model->per_block > INT32_MAX)
        result = cz_fail(error, CZ_BAD_BUNDLE, "%s: geometry: more than %d segments to a block; export it again",
                         cz_bundle_where(bundle), INT32_MAX);
    if (!result)
        result = cz_values_whole(values, "policy.history.bucket_requests", 1, most, &model->bucket_requests, error);
    if (!result)
        result = read_touch(bundle, values, &model->by_block, error);
    if (!result)
        result = read_windows(bundle, values, &model->windows, error);
    if (!result)
        result = read_features(bundle, values, model, error);
    if (!result)
        result = read_encoding(bundle, values, "encodings.namespace", &model->namespaces, error);
    if (!result)
        result = read_encoding(bundle, values, "encodings.user", &model->users, error);
    return result;
}

int cz_history_may_swap(const void *from, const void *to, cz_error *error) {
    const cz_history_model *a = from, *b = to;
    if (a->segment_bytes == b->segment_bytes && a->per_block == b->per_block &&
        a->bucket_requests == b->bucket_requests && a->by_block == b->by_block && a->features == b->features &&
        memcmp(&a->windows, &b->windows, sizeof a->windows) == 0 && memcmp(a->column, b->column, sizeof a->column) == 0)
        return CZ_OK;
    return cz_fail(error, CZ_BAD_CALL,
                   "the bundles differ in geometry, policy.history, policy.touch or features; begin a new stream");
}

/* ---- the history ---- */

void cz_history_swapped(cz_stream *stream) {
    cz_history *history = (cz_history *)stream;
    const cz_history_model *model = stream->model;
    cz_codes_use(&history->volumes, model->namespaces);
    cz_codes_use(&history->namespaces, model->namespaces);
    cz_codes_use(&history->users, model->users);
}

void cz_history_free(cz_stream *stream) {
    cz_history *history = (cz_history *)stream;
    cz_keys_free(history->segments);
    cz_keys_free(history->blocks);
    cz_codes_free(&history->volumes);
    cz_codes_free(&history->namespaces);
    cz_codes_free(&history->users);
}

int cz_history_new(const void *given, const cz_stream_options *options, cz_stream *stream, cz_error *error) {
    const cz_history_model *model = given;
    cz_history *history = (cz_history *)stream;
    int64_t most = options->max_keys;
    if (most < 1 || most > CZ_MOST_KEYS)
        return cz_fail(error, CZ_BAD_CALL, "max_keys %lld: it is 1 to %d", (long long)most, CZ_MOST_KEYS);
    int result = cz_keys_new(&model->windows, most, &history->segments);
    if (!result)
        result = cz_keys_new(&model->windows, most, &history->blocks);
    if (!result)
        result = cz_codes_new(&history->volumes, CZ_VOLUME, false, options->max_names);
    if (!result)
        result = cz_codes_new(&history->namespaces, CZ_NAMESPACE, false, options->max_names);
    if (!result)
        result = cz_codes_new(&history->users, CZ_USER, true, options->max_names);
    if (result) {
        cz_history_free(stream);
        return cz_fail(error, result, "no memory for a history of %lld keys; give a lower max_keys", (long long)most);
    }
    cz_history_swapped(stream);
    return CZ_OK;
}

static bool known(const cz_history *history, enum cz_column column, int32_t number) {
    return number == CZ_UNKNOWN || (number >= 0 && number < cz_names_count(history->stream.names, column));
}

static bool is_request(const cz_history *history, const cz_history_model *model, const cz_request *request) {
    if (request->offset < 0 || request->size < 1 || request->size - 1 > INT64_MAX - request->offset)
        return false;
    int64_t last = (request->offset + request->size - 1) / model->segment_bytes;
    return last < (int64_t)1 << SEGMENT_BITS && last - request->offset / model->segment_bytes < MOST_SEGMENTS &&
           request->volume >= 0 && request->volume < MOST_VOLUMES && request->op <= CZ_WRITE &&
           known(history, CZ_VOLUME, request->volume) && known(history, CZ_NAMESPACE, request->name_space) &&
           known(history, CZ_USER, request->user) && known(history, CZ_FLAGS, request->flags);
}

static float capped(int64_t value) {
    return (float)(value < CZ_MAX_FEATURE ? value : CZ_MAX_FEATURE);
}

int cz_history_observe(cz_stream *stream, const cz_request *request, cz_ticket *ticket) {
    cz_history *history = (cz_history *)stream;
    const cz_history_model *model = stream->model;
    if (!is_request(history, model, request))
        return CZ_BAD_CALL;
    const cz_names *names = stream->names;
    int32_t windows = model->windows.count, volume = request->volume;
    uint32_t sums[STATIC + 4 * CZ_MAX_WINDOWS];
    int64_t first = request->offset / model->segment_bytes, block = first / model->per_block;
    int64_t touched = (request->offset + request->size - 1) / model->segment_bytes - first + 1;
    int64_t bucket = (int64_t)(stream->observed / (uint64_t)model->bucket_requests);
    int64_t start = first - block * model->per_block, high = (int64_t)volume << SEGMENT_BITS;
    memset(sums + STATIC, 0, 4 * (size_t)windows * sizeof *sums);
    cz_keys_access(history->blocks, high + block, 1, bucket, request->op, sums + STATIC);
    cz_keys_access(history->segments, high + first, touched, bucket, request->op, sums + STATIC + 2 * windows);
    float given[STATIC] = {
        [OP] = request->op,
        [NAMESPACE] =
            (float)(request->name_space == CZ_UNKNOWN ? cz_codes_of(&history->volumes, names, volume)
                                                      : cz_codes_of(&history->namespaces, names, request->name_space)),
        [USER] = (float)cz_codes_of(&history->users, names, request->user),
        [START] = capped(start),
        [END] = capped(start + touched - 1),
        [SIZE] = (float)touched,
    };
    for (int32_t i = 0; i < model->features; i++) {
        int32_t place = model->column[i];
        ticket->row[i] = place < STATIC ? given[place] : (float)sums[place];
    }
    ticket->number = stream->observed++;
    ticket->request = *request;
    return CZ_OK;
}

/* ---- state ---- */

size_t cz_history_save(const cz_stream *stream, unsigned char *buffer) {
    const cz_history *history = (const cz_history *)stream;
    cz_writer out = {buffer, 0};
    cz_keys_save(history->blocks, &out);
    cz_keys_save(history->segments, &out);
    return out.size;
}

int cz_history_restore(cz_stream *stream, const unsigned char *buffer, size_t size, cz_error *error) {
    cz_history *history = (cz_history *)stream;
    const cz_history_model *model = stream->model;
    cz_bytes in = {buffer, size, false};
    int64_t latest = (int64_t)(stream->observed / (uint64_t)model->bucket_requests);
    if (cz_keys_restore(history->blocks, &in, latest) && cz_keys_restore(history->segments, &in, latest) && !in.left)
        return CZ_OK;
    return cz_fail(error, CZ_BAD_STATE, "its history is damaged");
}

void cz_history_stats(const cz_stream *stream, cz_counters *counters) {
    const cz_history *history = (const cz_history *)stream;
    counters->forgotten = cz_keys_forgotten(history->blocks) + cz_keys_forgotten(history->segments);
    counters->keys = (uint64_t)(cz_keys_count(history->blocks) + cz_keys_count(history->segments));
    size_t codes = 3 * (size_t)stream->options.max_names * sizeof(int32_t);
    counters->bytes = cz_keys_bytes(history->blocks) + cz_keys_bytes(history->segments) + codes + sizeof *history;
}
