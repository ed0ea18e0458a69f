/* Kind streams: says which stream of a multi-stream SSD a write belongs to. Of two forms: a table of chunks, which
 * remembers nothing; or a forest that predicts how long a page will live, from what was written before. */
#include <stdio.h>
#include <stdlib.h>

#include "bundle.h"
#include "lifetimes.h"
#include "sequence.h"
#include "streams.h"

#define TABLE_NAME "sid.bin"
#define FOREST_NAME "model.lgb.txt"
#define NOT_PLACED (-1) /* golden decision of a read */
#define MOST_CUTS 255

typedef struct streams_model {
    uint32_t streams;
    cz_table *table; /* NULL of the other form, which is in what follows */
    cz_forest *forest;
    int64_t pages, half_life; /* that a stream remembers */
    int32_t cuts, starts;
    double cut[MOST_CUTS];    /* predictions at which the next class begins, rising */
    int64_t start[MOST_CUTS]; /* bytes at which the next part of the longest-lived class begins, rising */
} streams_model;

typedef struct streams_stream {
    cz_stream base;
    cz_lifetimes *past; /* of forests */
} streams_stream;

/* ---- the model ---- */

static void model_free(void *given) {
    streams_model *model = given;
    if (!model)
        return;
    cz_table_free(model->table);
    cz_forest_free(model->forest);
    free(model);
}

static int read_table(const cz_bundle *bundle, streams_model *model, cz_error *error) {
    const cz_file *file = cz_bundle_file(bundle, TABLE_NAME);
    const char *where = cz_bundle_where(bundle);
    char place[400];
    if (!file)
        return cz_fail(error, CZ_BAD_BUNDLE, "%s: " TABLE_NAME " is missing; export it again", where);
    snprintf(place, sizeof place, "%.380s/" TABLE_NAME, where);
    int result = cz_table_read(file->data, file->size, place, &model->table, error);
    if (!result && cz_table_streams(model->table) != model->streams)
        result = cz_fail(error, CZ_BAD_BUNDLE,
                         "%s: the manifest does not describe a streams model (arch.streams is %lu, " TABLE_NAME
                         " has %lu streams); export it again",
                         where, (unsigned long)model->streams, (unsigned long)cz_table_streams(model->table));
    return result;
}

static int read_cuts(const cz_values *values, streams_model *model, cz_error *error) {
    const cz_json *cuts = cz_values_get(values, "policy.life_cuts"),
                  *starts = cz_values_get(values, "policy.part_starts");
    if (!cuts || cuts->type != CZ_JSON_LIST || cuts->length > MOST_CUTS || !starts || starts->type != CZ_JSON_LIST ||
        starts->length > MOST_CUTS)
        return cz_fail(error, CZ_BAD_BUNDLE, "%s: policy.life_cuts and part_starts are no lists; export it again",
                       values->where);
    model->cuts = (int32_t)cuts->length;
    model->starts = (int32_t)starts->length;
    for (int32_t i = 0; i < model->cuts; i++)
        model->cut[i] = cuts->items[i].number;
    for (int32_t i = 0; i < model->starts; i++)
        model->start[i] = starts->items[i].integer;
    return CZ_OK;
}

static int read_forest(const cz_bundle *bundle, const cz_values *values, streams_model *model, cz_error *error) {
    const cz_file *file = cz_bundle_file(bundle, FOREST_NAME);
    if (!file)
        return cz_fail(error, CZ_BAD_BUNDLE, "%s: " FOREST_NAME " is missing; export it again",
                       cz_bundle_where(bundle));
    int result = cz_values_whole(values, "policy.memory.pages", CZ_LEAST_KEPT, CZ_MOST_KEPT, &model->pages, error);
    if (!result && (model->pages & (model->pages - 1)))
        result =
            cz_fail(error, CZ_BAD_BUNDLE, "%s: policy.memory.pages is no power of two; export it again", values->where);
    if (!result)
        result = cz_values_whole(values, "policy.memory.half_life", 1, 8192, &model->half_life, error);
    if (!result)
        result = read_cuts(values, model, error);
    if (!result)
        result = cz_forest_read(file->data, file->size, CZ_LIFETIME_INPUTS, file->path, &model->forest, error);
    return result;
}

static int model_new(const cz_bundle *bundle, const cz_values *values, enum cz_precision precision, void **found,
                     cz_error *error) {
    (void)precision; /* of LSTMs */
    int64_t streams = 0;
    const char *type = "";
    *found = NULL;
    streams_model *model = calloc(1, sizeof *model);
    if (!model)
        return cz_fail(error, CZ_NO_MEMORY, "%s: no memory for its model", cz_bundle_where(bundle));
    int result = cz_values_whole(values, "arch.streams", 1, CZ_MOST_STREAMS, &streams, error);
    model->streams = (uint32_t)streams;
    if (!result)
        result = cz_values_text(values, "policy.type", &type, error);
    if (!result)
        result =
            cz_places_by_lifetime(type) ? read_forest(bundle, values, model, error) : read_table(bundle, model, error);
    if (result)
        model_free(model);
    else
        *found = model;
    return result;
}

int cz_placement(const cz_bundle *bundle, uint64_t offset) {
    if (!bundle || cz_bundle_kind(bundle) != &cz_kind_streams)
        return -CZ_BAD_CALL;
    const streams_model *model = cz_bundle_model(bundle);
    return model->table ? cz_table_stream(model->table, offset) : -CZ_BAD_CALL;
}

static int may_swap(const void *given, const void *other, cz_error *error) {
    const streams_model *from = given, *to = other;
    if (from->streams != to->streams)
        return cz_fail(error, CZ_BAD_CALL, "a stream of %lu streams cannot go on with a bundle of %lu; open a new one",
                       (unsigned long)from->streams, (unsigned long)to->streams);
    if (!from->table != !to->table || from->pages != to->pages || from->half_life != to->half_life)
        return cz_fail(error, CZ_BAD_CALL, "the bundles differ in what they remember; open a new stream");
    return CZ_OK;
}

/* ---- a stream ---- */

static int stream_new(const void *given, const cz_stream_options *options, cz_stream *stream, cz_error *error) {
    const streams_model *model = given;
    (void)options; /* the bundle says how much is remembered */
    if (model->table)
        return CZ_OK;
    cz_lifetimes *past = cz_lifetimes_new(model->pages, model->half_life);
    ((streams_stream *)stream)->past = past;
    if (past)
        return CZ_OK;
    return cz_fail(error, CZ_NO_MEMORY, "no memory to remember %lld pages", (long long)model->pages);
}

static void stream_free(cz_stream *stream) {
    cz_lifetimes_free(((streams_stream *)stream)->past);
}

/* ---- placing ---- */

static int stream_of(const streams_model *model, double predicted, int64_t address) {
    int32_t shorter = 0, part = 0;
    while (shorter < model->cuts && model->cut[shorter] < predicted)
        shorter++;
    while (part < model->starts && model->start[part] <= address)
        part++;
    return shorter == model->cuts ? part : model->cuts - shorter + model->starts;
}

static int64_t first_page(const cz_request *request) {
    return request->offset / CZ_FLASH_PAGE;
}

static int64_t pages_of(const cz_request *request) {
    return (request->offset + request->size - 1) / CZ_FLASH_PAGE - first_page(request) + 1;
}

/* What a forest says of the pages of a write, as they were before it: of each its inputs, its prediction and its
 * stream, where there is room for them. Then the write is counted. */
static void place(const streams_model *model, cz_lifetimes *past, const cz_request *request, int64_t described,
                  float *rows, float *outputs, int32_t *decisions, uint8_t *streams) {
    float own[CZ_LIFETIME_INPUTS];
    cz_written written = cz_lifetimes_begin(past, request->time_us, first_page(request), pages_of(request));
    for (int64_t i = 0; i < described; i++) {
        float *row = rows ? rows + i * CZ_LIFETIME_INPUTS : own;
        cz_lifetimes_describe(past, &written, i, row);
        double predicted = cz_forest_score(model->forest, row);
        int stream = stream_of(model, predicted, (written.first + i) * CZ_FLASH_PAGE);
        if (outputs)
            outputs[i] = (float)predicted;
        if (decisions)
            decisions[i] = stream;
        if (streams)
            streams[i] = (uint8_t)stream;
    }
    cz_lifetimes_count(past, &written, request->time_us);
}

int64_t cz_place_pages(cz_stream *stream, const cz_request *request, uint8_t *streams, int64_t room) {
    if (!stream || !request || !streams || stream->ops != &cz_kind_streams || !cz_request_fits(request) ||
        request->op != CZ_WRITE || room < pages_of(request))
        return -CZ_BAD_CALL;
    const streams_model *model = stream->model;
    int64_t pages = pages_of(request);
    if (model->table)
        memset(streams, cz_table_stream(model->table, (uint64_t)request->offset), (size_t)pages);
    else
        place(model, ((streams_stream *)stream)->past, request, pages, NULL, NULL, NULL, streams);
    stream->observed++;
    return pages;
}

static float chunk_of(const cz_request *request) {
    return (float)(request->offset / CZ_CHUNK_BYTES);
}

static int observe(cz_stream *stream, const cz_request *request, cz_ticket *ticket) {
    const streams_model *model = stream->model;
    int32_t decided = NOT_PLACED;
    if (!cz_request_fits(request))
        return CZ_BAD_CALL;
    *ticket = (cz_ticket){.number = stream->observed++, .request = *request, .category = CZ_UNKNOWN};
    if (model->table) {
        ticket->row[0] = chunk_of(request);
        decided = cz_table_stream(model->table, (uint64_t)request->offset);
    } else if (request->op == CZ_WRITE)
        place(model, ((streams_stream *)stream)->past, request, 1, ticket->row, NULL, &decided, NULL);
    ticket->output[0] = decided;
    return CZ_OK;
}

static int decide(const cz_stream *stream, const cz_ticket *ticket, cz_decision *decision) {
    (void)stream; /* it was placed as it was observed */
    *decision = (cz_decision){.category = CZ_UNKNOWN};
    decision->output[0] = ticket->output[0];
    return CZ_OK;
}

/* ---- golden sets ---- */

static int remake_table(const streams_model *model, const cz_golden *golden, cz_remade *remade) {
    for (int64_t i = 0; i < golden->rows; i++) {
        const cz_request *request = &golden->requests[i];
        int stream = cz_table_stream(model->table, (uint64_t)request->offset);
        remade->features[i] = chunk_of(request);
        remade->outputs[i] = (float)stream;
        remade->decisions[i] = request->op == CZ_WRITE ? stream : NOT_PLACED;
    }
    return CZ_OK; /* a table fails on no request */
}

/* A row for each page of a write. */
static int remake_forest(const cz_bundle *bundle, const streams_model *model, const cz_golden *golden,
                         cz_remade *remade, cz_error *error) {
    cz_lifetimes *past = cz_lifetimes_new(model->pages, model->half_life);
    if (!past)
        return cz_fail(error, CZ_NO_MEMORY, "%s: no memory to remember %lld pages", cz_bundle_where(bundle),
                       (long long)model->pages);
    for (int64_t i = 0, at = 0; i < golden->rows; i++) {
        const cz_request *request = &golden->requests[i];
        if (request->op != CZ_WRITE)
            continue;
        place(model, past, request, pages_of(request), remade->features + at * CZ_LIFETIME_INPUTS, remade->outputs + at,
              remade->decisions + at, NULL);
        at += pages_of(request);
    }
    cz_lifetimes_free(past);
    return CZ_OK;
}

static int remake(const cz_bundle *bundle, const void *given, const cz_golden *golden, cz_remade *remade,
                  cz_error *error) {
    const streams_model *model = given;
    return model->table ? remake_table(model, golden, remade) : remake_forest(bundle, model, golden, remade, error);
}

/* ---- state ---- */

static size_t save(const cz_stream *stream, unsigned char *buffer) {
    const streams_stream *own = (const streams_stream *)stream;
    cz_writer out = {buffer, 0};
    if (own->past)
        cz_lifetimes_save(own->past, &out);
    return out.size;
}

static int restore(cz_stream *stream, const unsigned char *buffer, size_t size, cz_error *error) {
    streams_stream *own = (streams_stream *)stream;
    cz_bytes in = {buffer, size, false};
    if (own->past ? cz_lifetimes_restore(own->past, &in) : !size)
        return CZ_OK;
    return cz_fail(error, CZ_BAD_STATE, "what it remembers is damaged");
}

static void stats(const cz_stream *stream, cz_counters *counters) {
    const streams_stream *own = (const streams_stream *)stream;
    counters->bytes = sizeof *own;
    if (!own->past)
        return;
    counters->bytes += cz_lifetimes_bytes(own->past);
    counters->keys = cz_lifetimes_keys(own->past);
    counters->forgotten = cz_lifetimes_forgotten(own->past);
}

const cz_kind_ops cz_kind_streams = {
    .name = "streams",
    .kind = CZ_STREAMS,
    .stream_bytes = sizeof(streams_stream),
    .model_new = model_new,
    .model_free = model_free,
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
