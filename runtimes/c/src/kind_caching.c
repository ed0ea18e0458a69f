/* Kind caching: an LSTM that decides between bypass and a queue. It steps on every request, hits included; a decision
 * reads what it decided. */
#include "caching.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "network.h"
#include "sequence.h"

#define MOST_DEMOTE (1 << 20)
#define MOST_SIZES 64
#define SLACK 0.5 /* octaves beyond the sizes that a model was calibrated for */

/* What it decides by where the cache is so large: log2(capacity / distinct pages of the recent window). */
typedef struct size_rule {
    double ratio, threshold;
    bool single;
} size_rule;

typedef struct caching {
    cz_lstm *network;
    int32_t layers, units, features, open; /* of the features, the first `open` are not fed back */
    cz_input inputs[CZ_MAX_FEATURES];
    cz_horizons horizons; /* without the capacity */
    double clip;
    float threshold;
    size_rule sizes[MOST_SIZES]; /* rising; none: the threshold and the rules hold at every size */
    size_t n_sizes;
    int64_t reset_every; /* 0: the state is carried on */
    int64_t demote_capacities;
    cz_rules rules; /* without capacity and period */
} caching;

typedef struct caching_stream {
    cz_stream base;
    cz_sequence *history;
    cz_lstm_state *state;
    double log2_capacity;
    double ratio; /* before the last request, log2(capacity / distinct pages of the recent window) */
    int64_t last_us;
    int64_t steps;         /* of the network since it began */
    float raw[CZ_N_RAW];   /* of the last request */
    float tags[CZ_N_TAGS]; /* of the request before */
    bool joined;           /* a cache gives the tags */
} caching_stream;

static const cz_formula FORMULAS[] = {
    {"time.log1p_gap", CZ_GAP, false},
    {"address.slog_delta", CZ_DELTA, false},
    {"address.page", CZ_ADDRESS, false},
    {"size.log2_bytes", CZ_SIZE, false},
    {"request.op", CZ_OP, false},
    {"address.run", CZ_RUN, false},
    {"history.age", CZ_AGE, true},
    {"history.fresh", CZ_FRESH, false},
    {"history.count", CZ_COUNT, false},
    {"history.past_gap", CZ_PAST_GAP, true},
    {"history.written", CZ_WRITTEN, false},
    {"region.age", CZ_REGION_AGE, true},
    {"capacity.ratio", CZ_RATIO, false},
    {"history.heat", CZ_HEAT, false},
    {"history.long_heat", CZ_LONG_HEAT, false},
    {"region.heat", CZ_REGION_HEAT, false},
    {NULL, 0, false},
};
static const char *const FED_BACK[CZ_N_TAGS] = {"feedback.cached", "feedback.soon", "feedback.mean", "feedback.late"};

static const char *formula_of(const cz_json *features, int32_t place) {
    const cz_json *formula = cz_json_get(&features->items[place], "formula");
    return formula && formula->type == CZ_JSON_TEXT ? formula->text : "";
}

/* Tags that are fed back come last, all four in their order, or none. */
static int count_open(const cz_values *values, const char *where, caching *model, cz_error *error) {
    const cz_json *features = cz_values_get(values, "features");
    int32_t tags = 0;
    for (int32_t i = 0; i < model->features; i++)
        tags += strncmp(formula_of(features, i), "feedback.", 9) == 0;
    model->open = model->features - tags;
    bool whole = tags == 0 || tags == CZ_N_TAGS;
    for (int32_t i = 0; whole && i < tags; i++)
        whole = strcmp(formula_of(features, model->open + i), FED_BACK[i]) == 0;
    if (!whole)
        return cz_fail(error, CZ_BAD_BUNDLE, "%s: features do not end with the four tags fed back; use a newer release",
                       where);
    return CZ_OK;
}

static int read_inputs(const cz_values *values, const char *where, caching *model, cz_error *error) {
    int64_t page_bytes, bits = 0;
    cz_horizons *of = &model->horizons;
    int code = cz_features_count(values, where, &model->features, error);
    if (!code)
        code = count_open(values, where, model, error);
    if (!code)
        code = cz_inputs_read(values, where, FORMULAS, 0, model->open, model->inputs, error);
    if (!code)
        code = cz_values_whole(values, "geometry.page_bytes", CZ_PAGE_BYTES, CZ_PAGE_BYTES, &page_bytes, error);
    if (!code)
        code = cz_values_whole(values, "policy.memory.memory_accesses", 1, (int64_t)1 << 40, &of->memory, error);
    if (!code)
        code = cz_values_whole(values, "policy.memory.window_accesses", 1, (int64_t)1 << 40, &of->window, error);
    if (!code)
        code = cz_values_whole(values, "policy.memory.region_bytes", 4096, (int64_t)1 << 62, &of->region_bytes, error);
    if (!code)
        code = cz_values_whole(values, "policy.memory.region_bits", 1, 24, &bits, error);
    if (!code)
        code = cz_values_number(values, "policy.memory.clip", &model->clip, error);
    if (!code && !(model->clip > 0))
        code = cz_fail(error, CZ_BAD_BUNDLE, "%s: policy.memory.clip is %g; it must be above 0", where, model->clip);
    of->region_bits = (int)bits;
    return code;
}

/* One of two texts: 0 or 1. */
static int read_choice(const cz_values *values, const char *where, const char *place, const char *no, const char *yes,
                       bool *found, cz_error *error) {
    const char *text = NULL;
    int code = cz_values_text(values, place, &text, error);
    if (code)
        return code;
    *found = strcmp(text, yes) == 0;
    if (!*found && strcmp(text, no) != 0)
        return cz_fail(error, CZ_BAD_BUNDLE, "%s: %s is %.40s; this release knows %s and %s", where, place, text, no,
                       yes);
    return CZ_OK;
}

static int read_sizes(const cz_values *values, const char *where, caching *model, cz_error *error) {
    const cz_json *sizes = cz_values_get(values, "calibration.by_capacity");
    for (size_t i = 0; sizes && i < sizes->length && i < MOST_SIZES; i++) {
        const cz_json *one = &sizes->items[i], *ratio = cz_json_get(one, "ratio_log2"),
                      *threshold = cz_json_get(one, "threshold"), *queues = cz_json_get(one, "queues");
        if (!ratio || !threshold || !queues || queues->type != CZ_JSON_TEXT)
            return cz_fail(error, CZ_BAD_BUNDLE, "%s: calibration.by_capacity has no rule; export it again", where);
        model->sizes[model->n_sizes++] =
            (size_rule){ratio->number, threshold->number, strcmp(queues->text, "single") == 0};
    }
    return CZ_OK;
}

static int read_policy(const cz_values *values, const char *where, caching *model, cz_error *error) {
    double threshold = 0;
    bool resets = false;
    const cz_json *fill = cz_values_get(values, "policy.fill_free");
    int code = cz_values_number(values, "calibration.threshold", &threshold, error);
    if (!code)
        code = read_choice(values, where, "policy.state", "carried", "reset100", &resets, error);
    if (!code && resets)
        code = cz_values_whole(values, "policy.sequence", 1, (int64_t)1 << 31, &model->reset_every, error);
    if (!code)
        code = cz_values_whole(values, "policy.demote_capacities", 1, MOST_DEMOTE, &model->demote_capacities, error);
    if (!code)
        code = cz_values_whole(values, "policy.protected_percent", 0, 100, &model->rules.percent, error);
    if (!code)
        code = read_choice(values, where, "policy.on_hit", "stay", "requeue", &model->rules.requeue, error);
    if (!code)
        code = read_choice(values, where, "policy.queues", "three", "single", &model->rules.single, error);
    if (!code)
        code = read_sizes(values, where, model, error);
    if (!code && (!fill || fill->type != CZ_JSON_BOOL))
        code = cz_fail(error, CZ_BAD_BUNDLE, "%s: policy.fill_free is neither true nor false", where);
    if (code)
        return code;
    model->rules.fill = fill->truth;
    model->threshold = (float)threshold;
    return CZ_OK;
}

static void model_free(void *given) {
    caching *model = given;
    if (!model)
        return;
    cz_lstm_free(model->network);
    free(model);
}

static int model_new(const cz_bundle *bundle, const cz_values *values, enum cz_precision precision, void **found,
                     cz_error *error) {
    static const cz_head heads[] = {{"cached", 1}, {"duration", CZ_QUEUES}};
    const char *where = cz_bundle_where(bundle);
    caching *model = calloc(1, sizeof *model);
    *found = NULL;
    if (!model)
        return cz_fail(error, CZ_NO_MEMORY, "%s: no memory for its model", where);
    int64_t layers = 0, units = 0;
    int code = read_inputs(values, where, model, error);
    if (!code)
        code = read_policy(values, where, model, error);
    if (!code)
        code = cz_values_whole(values, "arch.layers", 1, CZ_LSTM_MOST_LAYERS, &layers, error);
    if (!code)
        code = cz_values_whole(values, "arch.units", 1, CZ_LSTM_MOST_UNITS, &units, error);
    if (!code)
        code = cz_network_new(bundle, values, precision, heads, 2, &model->network, error);
    model->layers = (int32_t)layers, model->units = (int32_t)units;
    if (code)
        model_free(model);
    else
        *found = model;
    return code;
}

void cz_caching_rules(const void *given, int64_t capacity, cz_rules *rules) {
    const caching *model = given;
    *rules = model->rules;
    rules->capacity = capacity;
    rules->period = model->demote_capacities * capacity;
}

/* ---- streams ---- */

static void stream_free(cz_stream *given) {
    caching_stream *stream = (caching_stream *)given;
    cz_sequence_free(stream->history);
    cz_lstm_state_free(stream->state);
}

static int stream_new(const void *given, const cz_stream_options *options, cz_stream *base, cz_error *error) {
    const caching *model = given;
    caching_stream *stream = (caching_stream *)base;
    if (options->capacity < 1 || options->capacity > (int64_t)1 << 40)
        return cz_fail(error, CZ_BAD_CALL, "capacity: a caching model decides for a cache of so many pages; give it");
    cz_horizons horizons = model->horizons;
    horizons.capacity = options->capacity;
    stream->log2_capacity = log2((double)options->capacity);
    int code = cz_sequence_new(&horizons, options->max_keys, &stream->history, error);
    if (!code)
        code = cz_lstm_state_new(model->network, &stream->state, error);
    if (code)
        stream_free(base);
    return code;
}

static void fill_row(const caching *model, const caching_stream *stream, const float raw[CZ_N_RAW], float *row) {
    for (int32_t i = 0; i < model->open; i++) {
        const cz_input *input = &model->inputs[i];
        row[i] = cz_input_of(input, raw[input->column], stream->log2_capacity, model->clip);
    }
    for (int32_t i = model->open; i < model->features; i++)
        row[i] = stream->tags[i - model->open];
}

/* Probabilities of cached, soon, mean and late. */
static void step(const caching *model, caching_stream *stream, const float *row, float outputs[CZ_N_TAGS]) {
    if (model->reset_every && stream->steps % model->reset_every == 0)
        cz_lstm_state_zero(stream->state);
    stream->steps++;
    cz_lstm_step(model->network, stream->state, row);
    cz_lstm_logits(model->network, stream->state, outputs);
    outputs[0] = cz_sigmoid(outputs[0]);
    cz_softmax(outputs + 1, CZ_QUEUES);
}

static int look(caching_stream *stream, const cz_request *request, cz_ticket *ticket) {
    const caching *model = stream->base.model;
    if (!cz_request_fits(request) || request->time_us < stream->last_us)
        return CZ_BAD_CALL;
    *ticket = (cz_ticket){.number = stream->base.observed++, .request = *request};
    stream->last_us = request->time_us;
    cz_sequence_step(stream->history, request, stream->raw);
    fill_row(model, stream, stream->raw, ticket->row);
    stream->ratio = ticket->output[CZ_N_TAGS] = (double)stream->raw[CZ_RATIO];
    return CZ_OK;
}

static int observe(cz_stream *base, const cz_request *request, cz_ticket *ticket) {
    caching_stream *stream = (caching_stream *)base;
    const caching *model = base->model;
    if (model->open < model->features && !stream->joined)
        return CZ_BAD_CALL;
    int code = look(stream, request, ticket);
    if (code)
        return code;
    float outputs[CZ_N_TAGS];
    step(model, stream, ticket->row, outputs);
    for (int i = 0; i < CZ_N_TAGS; i++)
        ticket->output[i] = (double)outputs[i];
    return CZ_OK;
}

/* A size's rule holds for a quarter of the way to the next; between them the threshold is linear in the ratio, and the
 * queue rule that of the nearer one. */
static int32_t queue_at(const caching *model, double ratio, const float outputs[CZ_N_TAGS]) {
    if (!model->n_sizes)
        return cz_manager_decide(outputs, model->threshold, model->rules.single);
    const size_rule *low = model->sizes, *last = model->sizes + model->n_sizes - 1;
    double within = ratio < low->ratio ? low->ratio : ratio > last->ratio ? last->ratio : ratio;
    while (low + 1 < last && low[1].ratio <= within)
        low++;
    double part = (within - low->ratio) / (low[1].ratio - low->ratio);
    double along = 2.0 * part - 0.5;
    along = along < 0.0 ? 0.0 : along > 1.0 ? 1.0 : along;
    double threshold = low->threshold + along * (low[1].threshold - low->threshold);
    return cz_manager_decide(outputs, (float)threshold, part < 0.5 ? low->single : low[1].single);
}

static int32_t queue_of(const caching *model, const double output[CZ_MAX_OUTPUTS]) {
    float outputs[CZ_N_TAGS];
    for (int i = 0; i < CZ_N_TAGS; i++)
        outputs[i] = (float)output[i];
    return queue_at(model, output[CZ_N_TAGS], outputs);
}

static bool calibrated(const cz_stream *base) {
    const caching_stream *stream = (const caching_stream *)base;
    const caching *model = base->model;
    if (!base->observed || !model->n_sizes)
        return true;
    return stream->ratio >= model->sizes[0].ratio - SLACK &&
           stream->ratio <= model->sizes[model->n_sizes - 1].ratio + SLACK;
}

static int decide(const cz_stream *stream, const cz_ticket *ticket, cz_decision *decision) {
    int32_t queue = queue_of(stream->model, ticket->output);
    *decision = (cz_decision){.admit = queue != 0, .queue = queue, .category = CZ_UNKNOWN};
    memcpy(decision->output, ticket->output, sizeof decision->output);
    return CZ_OK;
}

void cz_caching_join(cz_stream *stream) {
    ((caching_stream *)stream)->joined = true;
}

void cz_caching_tell(cz_stream *stream, const float tags[CZ_N_TAGS]) {
    memcpy(((caching_stream *)stream)->tags, tags, sizeof((caching_stream *)stream)->tags);
}

static void stats(const cz_stream *stream, cz_counters *counters) {
    const caching_stream *own = (const caching_stream *)stream;
    cz_sequence_stats(own->history, counters);
    counters->bytes += sizeof *own + cz_lstm_state_bytes(own->state);
}

/* ---- saved states ---- */

static size_t save(const cz_stream *base, unsigned char *buffer) {
    const caching_stream *stream = (const caching_stream *)base;
    cz_writer out = {buffer, 0};
    cz_put(&out, (uint64_t)stream->last_us, 8);
    cz_put(&out, (uint64_t)stream->steps, 8);
    for (int i = 0; i < CZ_N_TAGS; i++)
        cz_put(&out, stream->tags[i] != 0.0f, 1);
    if (out.at)
        cz_lstm_state_save(stream->state, out.at + out.size);
    out.size += cz_lstm_state_bytes(stream->state);
    return out.size + cz_sequence_save(stream->history, out.at ? out.at + out.size : NULL);
}

static int restore(cz_stream *base, const unsigned char *buffer, size_t size, cz_error *error) {
    caching_stream *stream = (caching_stream *)base;
    cz_bytes in = {buffer, size, false};
    stream->last_us = (int64_t)cz_take(&in, 8);
    stream->steps = (int64_t)cz_take(&in, 8);
    for (int i = 0; i < CZ_N_TAGS; i++)
        stream->tags[i] = cz_take(&in, 1) ? 1.0f : 0.0f;
    const unsigned char *state = cz_take_bytes(&in, cz_lstm_state_bytes(stream->state));
    if (!state || stream->last_us < 0 || stream->steps < 0 || !cz_lstm_state_load(stream->state, state) ||
        !cz_sequence_restore(stream->history, in.at, in.left))
        return cz_fail(error, CZ_BAD_STATE, "it holds no history of a caching model");
    return CZ_OK;
}

/* Histories and states are of one kind. */
static int same_shape(const caching *one, const caching *other, cz_error *error) {
    const cz_horizons *a = &one->horizons, *b = &other->horizons;
    if (one->features != other->features || one->open != other->open ||
        !cz_inputs_same(one->inputs, other->inputs, one->open))
        return cz_fail(error, CZ_BAD_CALL, "a stream cannot go on with a model of other inputs; begin a new one");
    if (a->memory != b->memory || a->window != b->window || a->region_bytes != b->region_bytes ||
        a->region_bits != b->region_bits)
        return cz_fail(error, CZ_BAD_CALL, "a stream cannot go on with another policy.memory; begin a new one");
    if (one->layers != other->layers || one->units != other->units)
        return cz_fail(error, CZ_BAD_CALL, "a stream cannot go on with a network of another shape; begin a new one");
    return CZ_OK;
}

static int may_swap(const void *from, const void *to, cz_error *error) {
    const caching *one = from, *other = to;
    int code = same_shape(one, other, error);
    if (code)
        return code;
    /* The stream's cache keeps its queues as these rules have filled them. */
    const cz_rules *old = &one->rules, *rules = &other->rules;
    if (old->percent != rules->percent || old->requeue != rules->requeue || old->fill != rules->fill ||
        old->single != rules->single || one->demote_capacities != other->demote_capacities)
        return cz_fail(error, CZ_BAD_CALL,
                       "a cache cannot go on with another policy.protected_percent, on_hit, "
                       "fill_free, queues or demote_capacities; begin new ones");
    return CZ_OK;
}

/* A state says nothing to another network: it begins at zero. */
static void swapped(cz_stream *base) {
    caching_stream *stream = (caching_stream *)base;
    cz_lstm_state_zero(stream->state);
    stream->steps = 0;
}

/* ---- models that take turns ---- */

int cz_caching_may_follow(const cz_stream *stream, const void *given, cz_error *error) {
    const caching *model = given;
    if (model->open < model->features)
        return cz_fail(error, CZ_BAD_CALL,
                       "a model that is fed its own tags takes no turns: another's cache does not have them");
    return same_shape(stream->model, model, error);
}

void cz_caching_go_on(cz_stream *stream, const cz_bundle *bundle, const void *model) {
    stream->bundle = bundle;
    stream->model = model;
    stream->swaps++;
    swapped(stream);
}

void cz_caching_raw(const cz_stream *stream, float raw[CZ_N_RAW]) {
    memcpy(raw, ((const caching_stream *)stream)->raw, sizeof((const caching_stream *)stream)->raw);
}

int32_t cz_caching_alone(cz_stream *base, const float raw[CZ_N_RAW]) {
    caching_stream *stream = (caching_stream *)base;
    const caching *model = base->model;
    float row[CZ_MAX_FEATURES], outputs[CZ_N_TAGS];
    fill_row(model, stream, raw, row);
    cz_lstm_state_zero(stream->state);
    stream->steps = 0;
    step(model, stream, row, outputs);
    swapped(base);
    return queue_at(model, (double)raw[CZ_RATIO], outputs);
}

/* ---- golden sets ---- */

typedef struct set {
    caching_stream *stream;
    cz_manager *manager;
    cz_unit *units, *victims;
} set;

static int64_t pages_of(const cz_request *request) {
    return (request->offset + request->size - 1) / CZ_PAGE_BYTES - request->offset / CZ_PAGE_BYTES + 1;
}

static int set_new(const cz_bundle *bundle, const caching *model, const cz_golden *golden, set *of, cz_error *error) {
    const cz_json *capacity = golden->context ? cz_json_get(golden->context, "capacity_pages") : NULL;
    const char *where = cz_bundle_where(bundle);
    int64_t most = 1, all = 1;
    if (!capacity || !capacity->whole || capacity->integer < 1)
        return cz_fail(error, CZ_BAD_BUNDLE, "%s: golden context has no capacity_pages of at least 1", where);
    for (int64_t i = 0; i < golden->rows; i++) {
        if (!cz_request_fits(&golden->requests[i]))
            return cz_fail(error, CZ_BAD_BUNDLE, "%s: golden request %lld is none that a trace holds", where,
                           (long long)i + 1);
        int64_t pages = pages_of(&golden->requests[i]);
        most = pages > most ? pages : most;
        all += pages;
    }
    cz_rules rules;
    cz_stream_options options = {.max_keys = all, .capacity = capacity->integer};
    cz_caching_rules(model, capacity->integer, &rules);
    /* Room for every page is never short of a slot, so more room changes nothing but the period, which is set. */
    if (rules.capacity > all)
        rules.capacity = all;
    of->units = malloc((size_t)most * sizeof *of->units);
    of->victims = malloc((size_t)most * sizeof *of->victims);
    if (!of->units || !of->victims)
        return cz_fail(error, CZ_NO_MEMORY, "%s: no memory for golden rows", where);
    int code = cz_manager_new(&rules, &of->manager, error);
    if (!code)
        code = cz_stream_golden(bundle, &cz_kind_caching, model, golden, options, (cz_stream **)&of->stream, error);
    return code;
}

static int remake_row(set *of, const caching *model, const cz_golden *golden, int64_t row, cz_remade *remade,
                      cz_error *error) {
    const cz_request *request = &golden->requests[row];
    float *outputs = remade->outputs + row * CZ_N_TAGS;
    cz_ticket ticket;
    cz_served served;
    if (look(of->stream, request, &ticket))
        return cz_fail(error, CZ_BAD_BUNDLE, "golden request %lld is earlier than the one before", (long long)row + 1);
    memcpy(remade->features + row * golden->n_features, ticket.row, sizeof(float) * (size_t)model->features);
    if (golden->outputs_given)
        memcpy(outputs, golden->outputs + row * CZ_N_TAGS, sizeof(float) * CZ_N_TAGS);
    else
        step(model, of->stream, ticket.row, outputs);
    int32_t queue = queue_at(model, ticket.output[CZ_N_TAGS], outputs);
    cz_manager_serve(of->manager, request->volume, request->offset / CZ_PAGE_BYTES, pages_of(request),
                     request->op == CZ_WRITE, queue, of->units, of->victims, &served);
    cz_caching_tell(&of->stream->base, served.tags);
    int32_t *decisions = remade->decisions + row * golden->n_decisions;
    decisions[0] = served.queue;
    decisions[1] = (int32_t)served.hits;
    decisions[2] = (int32_t)served.victims;
    decisions[3] = (int32_t)served.dirty_victims;
    return CZ_OK;
}

static int remake(const cz_bundle *bundle, const void *given, const cz_golden *golden, cz_remade *remade,
                  cz_error *error) {
    const caching *model = given;
    set of = {0};
    int code = CZ_OK;
    if (golden->n_features != model->features || golden->n_outputs != CZ_N_TAGS || golden->n_decisions != 4 ||
        golden->output_rows != golden->rows || golden->feature_rows != golden->rows ||
        golden->decision_rows != golden->rows)
        code = cz_fail(error, CZ_BAD_BUNDLE, "%s: golden rows are not those of a caching model; export it again",
                       cz_bundle_where(bundle));
    if (!code)
        code = set_new(bundle, model, golden, &of, error);
    for (int64_t row = 0; !code && row < golden->rows; row++)
        code = remake_row(&of, model, golden, row, remade, error);
    cz_stream_free(&of.stream->base);
    cz_manager_free(of.manager);
    free(of.units);
    free(of.victims);
    return code;
}

const cz_kind_ops cz_kind_caching = {
    .name = "caching",
    .kind = CZ_CACHING,
    .stream_bytes = sizeof(caching_stream),
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
    .swapped = swapped,
    .stats = stats,
    .calibrated = calibrated,
};
