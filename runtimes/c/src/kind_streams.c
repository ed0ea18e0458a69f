/* Kind streams: a table says which stream of a multi-stream SSD a write belongs to. It remembers nothing. */
#include <stdio.h>

#include "bundle.h"
#include "sequence.h"
#include "streams.h"

#define FILE_NAME "sid.bin"
#define NOT_PLACED (-1) /* golden decision of a read */

static void model_free(void *model) {
    cz_table_free(model);
}

static int model_new(const cz_bundle *bundle, const cz_values *values, enum cz_precision precision, void **model,
                     cz_error *error) {
    (void)precision; /* of LSTMs */
    const cz_file *file = cz_bundle_file(bundle, FILE_NAME);
    const char *where = cz_bundle_where(bundle);
    char place[400];
    int64_t streams = 0;
    cz_table *table;
    *model = NULL;
    if (!file)
        return cz_fail(error, CZ_BAD_BUNDLE, "%s: " FILE_NAME " is missing; export it again", where);
    snprintf(place, sizeof place, "%.380s/" FILE_NAME, where);
    int result = cz_values_whole(values, "arch.streams", 1, CZ_MOST_STREAMS, &streams, error);
    if (!result)
        result = cz_table_read(file->data, file->size, place, &table, error);
    if (result)
        return result;
    if (cz_table_streams(table) != (uint32_t)streams) {
        cz_fail(error, CZ_BAD_BUNDLE,
                "%s: the manifest does not describe a streams model (arch.streams is %lld, " FILE_NAME
                " has %lu streams); export it again",
                where, (long long)streams, (unsigned long)cz_table_streams(table));
        cz_table_free(table);
        return CZ_BAD_BUNDLE;
    }
    *model = table;
    return CZ_OK;
}

int cz_placement(const cz_bundle *bundle, uint64_t offset) {
    if (!bundle || cz_bundle_kind(bundle) != &cz_kind_streams)
        return -CZ_BAD_CALL;
    return cz_table_stream(cz_bundle_model(bundle), offset);
}

static int stream_new(const void *model, const cz_stream_options *options, cz_stream *stream, cz_error *error) {
    (void)model, (void)options, (void)stream, (void)error; /* it has but what all streams have */
    return CZ_OK;
}

static void stream_free(cz_stream *stream) {
    (void)stream;
}

static float chunk_of(const cz_request *request) {
    return (float)(request->offset / CZ_CHUNK_BYTES);
}

static int observe(cz_stream *stream, const cz_request *request, cz_ticket *ticket) {
    if (!cz_request_fits(request))
        return CZ_BAD_CALL;
    *ticket = (cz_ticket){.number = stream->observed++, .request = *request, .category = CZ_UNKNOWN};
    ticket->row[0] = chunk_of(request);
    ticket->output[0] = cz_table_stream(stream->model, (uint64_t)request->offset);
    return CZ_OK;
}

static int decide(const cz_stream *stream, const cz_ticket *ticket, cz_decision *decision) {
    *decision = (cz_decision){.category = CZ_UNKNOWN};
    decision->output[0] = cz_table_stream(stream->model, (uint64_t)ticket->request.offset);
    return CZ_OK;
}

static int remake(const cz_bundle *bundle, const void *model, const cz_golden *golden, cz_remade *remade,
                  cz_error *error) {
    (void)bundle, (void)error; /* a table fails on no request */
    for (int64_t i = 0; i < golden->rows; i++) {
        const cz_request *request = &golden->requests[i];
        int stream = cz_table_stream(model, (uint64_t)request->offset);
        remade->features[i] = chunk_of(request);
        remade->outputs[i] = (float)stream;
        remade->decisions[i] = request->op == CZ_WRITE ? stream : NOT_PLACED;
    }
    return CZ_OK;
}

static int may_swap(const void *from, const void *to, cz_error *error) {
    if (cz_table_streams(from) == cz_table_streams(to))
        return CZ_OK;
    return cz_fail(error, CZ_BAD_CALL, "a stream of %lu streams cannot go on with a bundle of %lu; open a new one",
                   (unsigned long)cz_table_streams(from), (unsigned long)cz_table_streams(to));
}

static void stats(const cz_stream *stream, cz_counters *counters) {
    counters->bytes = sizeof *stream;
}

const cz_kind_ops cz_kind_streams = {
    .name = "streams",
    .kind = CZ_STREAMS,
    .stream_bytes = sizeof(cz_stream),
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
