/* Streams: what a model has seen so far, whatever its kind. */
#include <stdlib.h>
#include <string.h>

#include "controller.h"
#include "names.h"

#define DEFAULT_KEYS ((int64_t)1 << 20)
#define DEFAULT_NAMES 4096
#define MOST_NAMES (1 << 24)

int cz_stream_make(const cz_bundle *bundle, const cz_kind_ops *ops, const void *model, const cz_stream_options *options,
                   cz_stream **stream, cz_error *error) {
    cz_stream_options given = options ? *options : (cz_stream_options){0};
    *stream = NULL;
    if (given.max_keys < 0 || given.max_names < 0 || given.max_names > MOST_NAMES || given.capacity < 0)
        return cz_fail(error, CZ_BAD_CALL,
                       "stream options: max_keys, max_names (at most %d) and capacity must be 0 or more", MOST_NAMES);
    if (!given.max_keys && ops->kind != CZ_POLICY) /* a policy knows how many it needs */
        given.max_keys = DEFAULT_KEYS;
    if (!given.max_names)
        given.max_names = DEFAULT_NAMES;
    cz_stream *made = calloc(1, ops->stream_bytes);
    if (!made)
        return cz_fail(error, CZ_NO_MEMORY, "no memory for a stream");
    *made = (cz_stream){.ops = ops, .bundle = bundle, .model = model, .options = given};
    int result = cz_names_new(given.max_names, &made->names);
    if (result)
        cz_fail(error, result, "no memory for %d names; give a lower max_names", given.max_names);
    if (!result)
        result = ops->stream_new(model, &given, made, error);
    if (result) {
        cz_names_free(made->names);
        free(made);
        return result;
    }
    *stream = made;
    return CZ_OK;
}

int cz_stream_golden(const cz_bundle *bundle, const cz_kind_ops *ops, const void *model, const cz_golden *golden,
                     cz_stream_options options, cz_stream **stream, cz_error *error) {
    for (int c = 0; c < CZ_COLUMNS; c++) {
        if (golden->n_names[c] > options.max_names)
            options.max_names = golden->n_names[c];
    }
    int result = cz_stream_make(bundle, ops, model, &options, stream, error);
    for (int c = 0; !result && c < CZ_COLUMNS; c++) {
        for (int32_t i = 0; !result && i < golden->n_names[c]; i++) {
            if (cz_names_intern((*stream)->names, (enum cz_column)c, golden->names[c][i]) != i)
                result = cz_fail(error, CZ_BAD_BUNDLE, "%s: golden requests have too long names; export it again",
                                 cz_bundle_where(bundle));
        }
    }
    if (result) {
        cz_stream_free(*stream);
        *stream = NULL;
    }
    return result;
}

int cz_stream_new(const cz_bundle *bundle, const cz_stream_options *options, cz_stream **stream, cz_error *error) {
    if (!stream)
        return cz_fail(error, CZ_BAD_CALL, "cz_stream_new: no place for the stream; pass one");
    *stream = NULL;
    if (!bundle)
        return cz_fail(error, CZ_BAD_CALL, "cz_stream_new: no bundle; pass one");
    return cz_stream_make(bundle, cz_bundle_kind(bundle), cz_bundle_model(bundle), options, stream, error);
}

void cz_stream_free(cz_stream *stream) {
    if (!stream)
        return;
    stream->ops->stream_free(stream);
    cz_names_free(stream->names);
    free(stream->controller);
    free(stream);
}

int32_t cz_intern(cz_stream *stream, enum cz_column column, const char *text) {
    if (!stream || !text || column < CZ_VOLUME || column > CZ_FLAGS)
        return CZ_UNKNOWN;
    return cz_names_intern(stream->names, column, text);
}

int cz_observe(cz_stream *stream, const cz_request *request, cz_ticket *ticket) {
    if (!stream || !request || !ticket)
        return CZ_BAD_CALL;
    return stream->ops->observe(stream, request, ticket);
}

int cz_decide(const cz_stream *stream, const cz_ticket *ticket, cz_decision *decision) {
    if (!stream || !ticket || !decision)
        return CZ_BAD_CALL;
    return stream->ops->decide(stream, ticket, decision);
}

int cz_write_rate(cz_stream *stream, double bytes_per_second, cz_error *error) {
    if (!stream || !(bytes_per_second >= 0 && bytes_per_second <= 1e15))
        return cz_fail(error, CZ_BAD_CALL, "cz_write_rate: a stream, and 0 to 1e15 bytes a second");
    if (!stream->ops->write_rate)
        return cz_fail(error, CZ_BAD_CALL, "%s: streams of kind %s keep no write rate", cz_bundle_where(stream->bundle),
                       stream->ops->name);
    if (bytes_per_second > 0)
        return stream->controller && stream->controller->bytes_s == bytes_per_second
                   ? CZ_OK
                   : stream->ops->write_rate(stream, bytes_per_second, error);
    free(stream->controller);
    stream->controller = NULL;
    return CZ_OK;
}

int cz_wrote(cz_stream *stream, int64_t time_us, double score, int64_t missing, int64_t written) {
    if (!stream || missing < 0 || written < 0)
        return CZ_BAD_CALL;
    if (stream->controller)
        cz_controller_missed(stream->controller, time_us, score, missing, written);
    return CZ_OK;
}

void cz_stats(const cz_stream *stream, cz_counters *counters) {
    if (!counters)
        return;
    *counters = (cz_counters){0};
    if (!stream)
        return;
    stream->ops->stats(stream, counters);
    counters->requests = stream->observed;
    counters->bytes += cz_names_bytes(stream->names);
}

int cz_calibrated(const cz_stream *stream) {
    return !stream || !stream->ops->calibrated || stream->ops->calibrated(stream);
}

int cz_swap(cz_stream *stream, const cz_bundle *bundle, cz_error *error) {
    if (!stream || !bundle)
        return cz_fail(error, CZ_BAD_CALL, "cz_swap: no stream or no bundle; pass both");
    if (cz_bundle_kind(bundle) != stream->ops)
        return cz_fail(error, CZ_BAD_CALL, "%s: a stream of kind %s cannot go on with a bundle of kind %s",
                       cz_bundle_where(bundle), stream->ops->name, cz_bundle_kind(bundle)->name);
    int result = stream->ops->may_swap(stream->model, cz_bundle_model(bundle), error);
    if (result)
        return result;
    stream->bundle = bundle;
    stream->model = cz_bundle_model(bundle);
    stream->swaps++;
    if (stream->ops->swapped)
        stream->ops->swapped(stream);
    return CZ_OK;
}
