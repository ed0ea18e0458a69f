/* Kind workload: an LSTM names the category of every window of requests; votes of windows put one in force. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "monitor.h"
#include "network.h"
#include "window.h"

typedef struct workload {
    cz_lstm *network;
    int32_t layers, units, features, window;
    bool of_requests; /* inputs of earlier releases: each request's own, and not its window's */
    cz_input inputs[CZ_MAX_FEATURES];
    double clip;
    cz_rule rule;
    cz_known known;
    const cz_json *classes; /* the bundle's own: it outlives its model */
} workload;

typedef struct workload_stream {
    cz_stream base;
    cz_window window;
    cz_plain plain;
    cz_lstm_state *state;
    cz_monitor monitor;
    float *rows; /* of a window, normalised */
    int64_t last_us;
    float probabilities[CZ_MAX_OUTPUTS]; /* of the last whole window */
} workload_stream;

/* What a whole window says. */
typedef struct verdict {
    float probabilities[CZ_MAX_OUTPUTS];
    int32_t named, vote;
} verdict;

static const cz_formula OF_REQUESTS[] = {
    {"time.log1p_gap", CZ_GAP, false},   {"address.slog_delta", CZ_DELTA, false},
    {"address.page", CZ_ADDRESS, false}, {"size.log2_bytes", CZ_SIZE, false},
    {"request.op", CZ_OP, false},        {NULL, 0, false},
};
static const cz_formula OF_WINDOWS[] = {
    {"window.slog_delta", CZ_W_DELTA, false},
    {"window.log2_nearest", CZ_W_NEAREST, false},
    {"window.slog_place", CZ_W_PLACE, false},
    {"window.run", CZ_W_RUN, false},
    {"window.continues", CZ_W_CONTINUES, false},
    {"window.repeats", CZ_W_REPEATS, false},
    {"window.age", CZ_W_AGE, false},
    {"window.log1p_gap", CZ_W_GAP, false},
    {"size.log2_bytes", CZ_W_SIZE, false},
    {"request.op", CZ_W_OP, false},
    {NULL, 0, false},
};

/* ---- models ---- */

static bool all_known(const cz_json *features, const cz_formula *known) {
    for (size_t i = 0; i < features->length; i++) {
        const cz_json *formula = cz_json_get(&features->items[i], "formula");
        const cz_formula *one = known;
        while (one->name && (!formula || formula->type != CZ_JSON_TEXT || strcmp(one->name, formula->text) != 0))
            one++;
        if (!one->name)
            return false;
    }
    return true;
}

static int read_inputs(const cz_values *values, const char *where, workload *model, cz_error *error) {
    int64_t page_bytes;
    int code = cz_features_count(values, where, &model->features, error);
    if (code)
        return code;
    model->of_requests = all_known(cz_values_get(values, "features"), OF_REQUESTS);
    code = cz_inputs_read(values, where, model->of_requests ? OF_REQUESTS : OF_WINDOWS, 0, model->features,
                          model->inputs, error);
    if (!code)
        code = cz_values_whole(values, "geometry.page_bytes", CZ_PAGE_BYTES, CZ_PAGE_BYTES, &page_bytes, error);
    if (!code)
        code = cz_values_number(values, "policy.clip", &model->clip, error);
    if (!code && !(model->clip > 0))
        code = cz_fail(error, CZ_BAD_BUNDLE, "%s: policy.clip is %g; it must be above 0", where, model->clip);
    return code;
}

static int read_limit(const cz_values *values, const char *where, const char *place, double *limit, cz_error *error) {
    *limit = INFINITY;
    if (!cz_values_get(values, place))
        return CZ_OK;
    int code = cz_values_number(values, place, limit, error);
    if (!code && !(*limit >= 0))
        code = cz_fail(error, CZ_BAD_BUNDLE, "%s: %s: %g is no strangeness; give a number from 0 on", where, place,
                       *limit);
    return code;
}

static int read_classes(const cz_values *values, const char *where, workload *model, cz_error *error) {
    const cz_json *classes = cz_values_get(values, "policy.classes");
    bool whole = classes && classes->type == CZ_JSON_LIST && classes->length >= 1 && classes->length <= CZ_MAX_OUTPUTS;
    for (size_t i = 0; whole && i < classes->length; i++) {
        whole = classes->items[i].type == CZ_JSON_TEXT;
        for (size_t k = 0; whole && k < i; k++)
            whole = strcmp(classes->items[i].text, classes->items[k].text) != 0;
    }
    if (!whole)
        return cz_fail(error, CZ_BAD_BUNDLE, "%s: policy.classes are not 1 to %d distinct categories", where,
                       CZ_MAX_OUTPUTS);
    model->rule.classes = (int32_t)classes->length;
    model->classes = classes;
    return CZ_OK;
}

static int read_policy(const cz_values *values, const char *where, workload *model, cz_error *error) {
    int64_t window = 0, windows = 0, votes = 0, every = 0;
    int code = read_classes(values, where, model, error);
    if (!code)
        code = cz_values_whole(values, "policy.window", 1, CZ_MOST_WINDOW, &window, error);
    if (!code)
        code = cz_values_whole(values, "policy.vote_windows", 1, CZ_MOST_VOTES, &windows, error);
    if (!code)
        code = cz_values_whole(values, "policy.switch_votes", 1, (int64_t)1 << 31, &votes, error);
    if (!code && cz_values_get(values, "policy.vote_every_s")) /* bundles of earlier releases do not say */
        code = cz_values_whole(values, "policy.vote_every_s", 0, CZ_MOST_EVERY, &every, error);
    if (!code)
        code = read_limit(values, where, "policy.unknown_above.window", &model->rule.window_above, error);
    if (!code)
        code = read_limit(values, where, "policy.unknown_above.vote", &model->rule.vote_above, error);
    if (!code)
        code = cz_known_read(values, where, model->features, &model->known, error);
    model->window = (int32_t)window;
    model->rule.vote_windows = (int32_t)windows;
    model->rule.switch_votes = votes > INT32_MAX ? INT32_MAX : (int32_t)votes;
    model->rule.every_us = every * CZ_SECOND_US;
    return code;
}

static void model_free(void *given) {
    workload *model = given;
    if (!model)
        return;
    cz_lstm_free(model->network);
    cz_known_free(&model->known);
    free(model);
}

static int model_new(const cz_bundle *bundle, const cz_values *values, enum cz_precision precision, void **found,
                     cz_error *error) {
    const char *where = cz_bundle_where(bundle);
    workload *model = calloc(1, sizeof *model);
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
    cz_head head = {"category", model->rule.classes};
    if (!code)
        code = cz_network_new(bundle, values, precision, &head, 1, &model->network, error);
    model->layers = (int32_t)layers, model->units = (int32_t)units;
    if (code)
        model_free(model);
    else
        *found = model;
    return code;
}

/* ---- streams ---- */

static void stream_free(cz_stream *given) {
    workload_stream *stream = (workload_stream *)given;
    cz_window_free(&stream->window);
    cz_monitor_free(&stream->monitor);
    cz_lstm_state_free(stream->state);
    free(stream->rows);
}

static int stream_new(const void *given, const cz_stream_options *options, cz_stream *base, cz_error *error) {
    const workload *model = given;
    workload_stream *stream = (workload_stream *)base;
    (void)options; /* a window remembers no more than its requests */
    stream->rows = malloc(sizeof(float) * (size_t)model->window * (size_t)model->features);
    int code = cz_window_new(model->window, &stream->window);
    if (!code)
        code = cz_monitor_new(&model->rule, &stream->monitor);
    if (code || !stream->rows)
        code = cz_fail(error, CZ_NO_MEMORY, "no memory for a window of %d", model->window);
    if (!code)
        code = cz_lstm_state_new(model->network, &stream->state, error);
    if (code)
        stream_free(base);
    return code;
}

static bool looks(const workload *model, workload_stream *stream, const cz_request *request) {
    bool fills = stream->window.count > 0 || stream->monitor.windows > 0;
    return cz_monitor_looks(&model->rule, &stream->monitor, fills, request->time_us);
}

static void add(const workload *model, workload_stream *stream, const cz_request *request) {
    if (!model->of_requests) {
        cz_window_add(&stream->window, request);
        return;
    }
    cz_seen *own = &stream->window.seen[stream->window.count++];
    own->request = *request;
    cz_plain_step(&stream->plain, request, own->raw);
}

/* The inputs of the requests in the window, whole or not. */
static void fill_rows(const workload *model, workload_stream *stream) {
    float *row = stream->rows;
    if (!model->of_requests)
        cz_window_close(&stream->window);
    for (int32_t i = 0; i < stream->window.count; i++, row += model->features)
        for (int32_t k = 0; k < model->features; k++) {
            float raw = stream->window.seen[i].raw[model->inputs[k].column];
            row[k] = cz_input_of(&model->inputs[k], raw, 0, model->clip);
        }
}

/* Judge a whole window by its rows, or by outputs that are given, and begin the next. */
static void judge(const workload *model, workload_stream *stream, const float *given, verdict *found) {
    int32_t best = 0;
    if (given) {
        memcpy(found->probabilities, given, sizeof(float) * (size_t)model->rule.classes);
    } else {
        cz_lstm_state_zero(stream->state);
        for (int32_t i = 0; i < model->window; i++)
            cz_lstm_step(model->network, stream->state, stream->rows + (int64_t)i * model->features);
        cz_lstm_logits(model->network, stream->state, found->probabilities);
        cz_softmax(found->probabilities, model->rule.classes);
    }
    for (int32_t k = 1; k < model->rule.classes; k++)
        if (found->probabilities[k] > found->probabilities[best])
            best = k;
    double strange = cz_strangeness(&model->known, stream->rows, model->window);
    cz_monitor_window(&model->rule, &stream->monitor, best, strange, &found->named, &found->vote);
    stream->window.count = 0;
}

static int observe(cz_stream *base, const cz_request *request, cz_ticket *ticket) {
    workload_stream *stream = (workload_stream *)base;
    const workload *model = base->model;
    if (!cz_request_fits(request) || request->time_us < stream->last_us)
        return CZ_BAD_CALL;
    *ticket = (cz_ticket){.number = base->observed++, .request = *request, .category = stream->monitor.current};
    for (int32_t k = 0; k < model->rule.classes; k++)
        ticket->output[k] = (double)stream->probabilities[k];
    stream->last_us = request->time_us;
    if (!looks(model, stream, request))
        return CZ_OK;
    add(model, stream, request);
    if (stream->window.count < model->window)
        return CZ_OK;
    verdict found;
    fill_rows(model, stream);
    judge(model, stream, NULL, &found);
    memcpy(stream->probabilities, found.probabilities, sizeof(float) * (size_t)model->rule.classes);
    return CZ_OK;
}

static int decide(const cz_stream *stream, const cz_ticket *ticket, cz_decision *decision) {
    (void)stream;
    *decision = (cz_decision){.category = ticket->category};
    memcpy(decision->output, ticket->output, sizeof decision->output);
    return CZ_OK;
}

static void stats(const cz_stream *stream, cz_counters *counters) {
    const workload_stream *own = (const workload_stream *)stream;
    const workload *model = stream->model;
    size_t window = (size_t)model->window, votes = (size_t)model->rule.vote_windows;
    counters->keys += (uint64_t)own->window.count;
    counters->bytes += sizeof *own + window * (sizeof *own->window.seen + sizeof *own->window.starts) +
                       window * (size_t)model->features * sizeof *own->rows + cz_lstm_state_bytes(own->state) +
                       votes * (sizeof *own->monitor.likeliest + sizeof *own->monitor.strange);
}

/* ---- saved states ---- */

static void put_request(cz_writer *out, const cz_request *request) {
    cz_put(out, (uint64_t)request->time_us, 8);
    cz_put(out, (uint64_t)request->offset, 8);
    cz_put(out, (uint64_t)request->size, 8);
    cz_put(out, (uint64_t)request->volume, 4);
    cz_put(out, request->op, 1);
}

static bool take_request(cz_bytes *in, int64_t least_us, cz_request *request) {
    *request = (cz_request){.name_space = CZ_UNKNOWN, .user = CZ_UNKNOWN, .flags = CZ_UNKNOWN};
    request->time_us = (int64_t)cz_take(in, 8);
    request->offset = (int64_t)cz_take(in, 8);
    request->size = (int64_t)cz_take(in, 8);
    request->volume = (int32_t)cz_take(in, 4);
    request->op = (uint8_t)cz_take(in, 1);
    return !in->failed && cz_request_fits(request) && request->time_us >= least_us;
}

static size_t save(const cz_stream *base, unsigned char *buffer) {
    const workload_stream *stream = (const workload_stream *)base;
    const workload *model = base->model;
    cz_writer out = {buffer, 0};
    cz_put(&out, (uint64_t)stream->last_us, 8);
    cz_put(&out, (uint64_t)stream->plain.time_us, 8);
    cz_put(&out, (uint64_t)stream->plain.end, 8);
    cz_put(&out, (uint64_t)stream->plain.run, 8);
    cz_put(&out, stream->plain.begun, 1);
    cz_put_bytes(&out, stream->probabilities, sizeof(float) * (size_t)model->rule.classes);
    cz_monitor_save(&stream->monitor, &out);
    cz_put(&out, (uint64_t)stream->window.count, 4);
    for (int32_t i = 0; i < stream->window.count; i++) {
        put_request(&out, &stream->window.seen[i].request);
        cz_put_bytes(&out, stream->window.seen[i].raw, sizeof stream->window.seen[i].raw);
    }
    return out.size;
}

static bool take_window(const workload *model, workload_stream *stream, cz_bytes *in) {
    uint64_t count = cz_take(in, 4);
    int64_t last_us = 0;
    if (in->failed || count >= (uint64_t)model->window)
        return false;
    for (uint64_t i = 0; i < count; i++) {
        cz_request request;
        if (!take_request(in, last_us, &request))
            return false;
        last_us = request.time_us;
        const unsigned char *raw = cz_take_bytes(in, sizeof stream->window.seen[i].raw);
        if (!raw)
            return false;
        if (model->of_requests)
            stream->window.seen[stream->window.count++].request = request;
        else
            cz_window_add(&stream->window, &request);
        if (!model->of_requests)
            continue;
        memcpy(stream->window.seen[i].raw, raw, sizeof stream->window.seen[i].raw);
        for (int k = 0; k < CZ_N_RAW; k++)
            if (!isfinite(stream->window.seen[i].raw[k]))
                return false;
    }
    return in->left == 0 && last_us <= stream->last_us;
}

static int restore(cz_stream *base, const unsigned char *buffer, size_t size, cz_error *error) {
    workload_stream *stream = (workload_stream *)base;
    const workload *model = base->model;
    cz_bytes in = {buffer, size, false};
    size_t probabilities = sizeof(float) * (size_t)model->rule.classes;
    stream->last_us = (int64_t)cz_take(&in, 8);
    cz_plain *plain = &stream->plain;
    *plain = (cz_plain){.time_us = (int64_t)cz_take(&in, 8)};
    plain->end = (int64_t)cz_take(&in, 8);
    plain->run = (int64_t)cz_take(&in, 8);
    plain->begun = cz_take(&in, 1) == 1;
    const unsigned char *given = cz_take_bytes(&in, probabilities);
    bool whole = given && stream->last_us >= 0 && plain->time_us >= 0 && plain->end >= 0 && plain->run >= 0;
    if (given)
        memcpy(stream->probabilities, given, probabilities);
    for (int32_t k = 0; whole && k < model->rule.classes; k++)
        whole = isfinite(stream->probabilities[k]);
    if (!whole || !cz_monitor_restore(&model->rule, &stream->monitor, &in) || !take_window(model, stream, &in) ||
        stream->monitor.began_us > stream->last_us)
        return cz_fail(error, CZ_BAD_STATE, "it holds no windows of a workload classifier");
    return CZ_OK;
}

static int may_swap(const void *from, const void *to, cz_error *error) {
    const workload *one = from, *other = to;
    bool same = one->features == other->features && one->of_requests == other->of_requests &&
                cz_inputs_same(one->inputs, other->inputs, one->features) && one->window == other->window &&
                one->rule.vote_windows == other->rule.vote_windows && one->layers == other->layers &&
                one->units == other->units && one->rule.classes == other->rule.classes;
    for (int32_t k = 0; same && k < one->rule.classes; k++)
        same = strcmp(one->classes->items[k].text, other->classes->items[k].text) == 0;
    if (!same)
        return cz_fail(error, CZ_BAD_CALL,
                       "a stream cannot go on with a model of other inputs, windows, categories or another shape; "
                       "begin a new one");
    return CZ_OK;
}

/* ---- golden sets ---- */

/* The window's features, and what it is named where it is whole. */
static void remake_window(const workload *model, workload_stream *stream, const cz_golden *golden, int64_t number,
                          cz_remade *remade) {
    int64_t first = number * model->window, classes = model->rule.classes;
    verdict found;
    fill_rows(model, stream);
    memcpy(remade->features + first * model->features, stream->rows,
           sizeof(float) * (size_t)stream->window.count * (size_t)model->features);
    if (stream->window.count < model->window)
        return;
    judge(model, stream, golden->outputs_given ? golden->outputs + number * classes : NULL, &found);
    memcpy(remade->outputs + number * classes, found.probabilities, sizeof(float) * (size_t)classes);
    int32_t *decisions = remade->decisions + number * golden->n_decisions;
    decisions[0] = found.named, decisions[1] = found.vote, decisions[2] = stream->monitor.current;
}

static int remake(const cz_bundle *bundle, const void *given, const cz_golden *golden, cz_remade *remade,
                  cz_error *error) {
    const workload *model = given;
    int64_t length = (int64_t)model->window * model->rule.vote_windows, number = 0;
    int64_t looked_at = cz_looked_at(golden->requests, golden->rows, length, model->rule.every_us);
    int64_t windows = looked_at / model->window;
    cz_stream *base = NULL;
    if (golden->n_features != model->features || golden->n_outputs != model->rule.classes || golden->n_decisions != 3 ||
        golden->feature_rows != looked_at || golden->output_rows != windows || golden->decision_rows != windows)
        return cz_fail(error, CZ_BAD_BUNDLE, "%s: golden rows are not those of a workload classifier; export it again",
                       cz_bundle_where(bundle));
    cz_stream_options options = {0};
    int code = cz_stream_golden(bundle, &cz_kind_workload, model, golden, options, &base, error);
    workload_stream *stream = (workload_stream *)base;
    for (int64_t row = 0; !code && row < golden->rows; row++) {
        const cz_request *request = &golden->requests[row];
        if (!cz_request_fits(request) || request->time_us < stream->last_us)
            code = cz_fail(error, CZ_BAD_BUNDLE, "%s: golden request %lld is none that a trace holds",
                           cz_bundle_where(bundle), (long long)row + 1);
        if (code)
            break;
        stream->last_us = request->time_us;
        if (looks(model, stream, request))
            add(model, stream, request);
        if (stream->window.count == model->window)
            remake_window(model, stream, golden, number++, remade);
    }
    if (!code && stream->window.count)
        remake_window(model, stream, golden, number, remade);
    cz_stream_free(base);
    return code;
}

int cz_vote_every(cz_stream *stream, int64_t seconds) {
    if (!stream || stream->ops->kind != CZ_WORKLOAD || seconds < -1 || seconds > CZ_MOST_EVERY)
        return CZ_BAD_CALL;
    ((workload_stream *)stream)->monitor.every_us = seconds < 0 ? -1 : seconds * CZ_SECOND_US;
    return CZ_OK;
}

const cz_kind_ops cz_kind_workload = {
    .name = "workload",
    .kind = CZ_WORKLOAD,
    .stream_bytes = sizeof(workload_stream),
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
