/* Kind prefetch: forests say which range of its block a miss should fetch at once, and whether that is worth it. */
#include <math.h>
#include <stdlib.h>

#include "flash_set.h"
#include "history.h"

#define FORESTS 3

enum { BEFORE, AFTER, WORTH };
static const char *const FILES[FORESTS] = {"start.lgb.txt", "end.lgb.txt", "when.lgb.txt"};

typedef struct prefetch {
    cz_history_model history; /* first: streams know no more */
    cz_forest *forests[FORESTS];
    double worth;
    cz_prefetch_mode mode;
} prefetch;

typedef struct ranges {
    int32_t low, high; /* predicted, in any mode */
    cz_verdict plan;   /* what the mode fetches beside a miss */
} ranges;

/* ---- the model ---- */

static void model_free(void *given) {
    prefetch *model = given;
    if (!model)
        return;
    for (int i = 0; i < FORESTS; i++)
        cz_forest_free(model->forests[i]);
    free(model);
}

static int read_model(const cz_bundle *bundle, const cz_values *values, prefetch *model, cz_error *error) {
    const char *mode, *where = cz_bundle_where(bundle);
    double threshold; /* the admission model beside it is run at this; it must be there */
    int result = cz_history_read(bundle, values, &model->history, error);
    if (!result)
        result = cz_values_number(values, "calibration.worth", &model->worth, error);
    if (!result)
        result = cz_values_number(values, "calibration.threshold", &threshold, error);
    if (!result)
        result = cz_values_text(values, "policy.mode", &mode, error);
    if (!result && !cz_prefetch_parse(mode, &model->mode))
        result = cz_fail(error, CZ_BAD_BUNDLE, "%s: policy.mode %.40s is unknown to this library; use a newer one",
                         where, mode);
    if (!result && (model->history.start < 0 || model->history.end < 0))
        result = cz_fail(error, CZ_BAD_BUNDLE,
                         "%s: features hold no block.start or no block.end; train the model again", where);
    for (int i = 0; !result && i < FORESTS; i++) {
        const cz_file *file = cz_bundle_file(bundle, FILES[i]);
        if (!file)
            return cz_fail(error, CZ_BAD_BUNDLE, "%s: %s is missing; export it again", where, FILES[i]);
        result = cz_forest_read(file->data, file->size, model->history.features, FILES[i], &model->forests[i], error);
    }
    return result;
}

static int model_new(const cz_bundle *bundle, const cz_values *values, enum cz_precision precision, void **found,
                     cz_error *error) {
    (void)precision; /* of LSTMs */
    *found = NULL;
    prefetch *model = calloc(1, sizeof *model);
    if (!model)
        return cz_fail(error, CZ_NO_MEMORY, "%s: no memory for its model", cz_bundle_where(bundle));
    int result = read_model(bundle, values, model, error);
    if (result)
        model_free(model);
    else
        *found = model;
    return result;
}

/* ---- ranges ---- */

/* Whole segments, halves to even, from 0 to a block's. */
static double reach(double output, int64_t per_block) {
    double whole = nearbyint(output);
    return (whole < 0) ? 0 : whole > (double)per_block ? (double)per_block : whole;
}

static ranges ranges_of(const prefetch *model, const float *row, const double *output) {
    int64_t per_block = model->history.per_block, first = (int64_t)row[model->history.start],
            last = (int64_t)row[model->history.end];
    int64_t low = first - (int64_t)reach(output[BEFORE], per_block);
    int64_t high = last + 1 + (int64_t)reach(output[AFTER], per_block);
    ranges found = {.low = (int32_t)(low < 0 ? 0 : low), .high = (int32_t)(high < per_block ? high : per_block)};
    if (model->mode.kind != CZ_ML_RANGE && model->mode.kind != CZ_ML_RANGE_WHEN) {
        cz_prefetch_plain(&model->mode, last, per_block, &found.plan);
        return found;
    }
    int64_t own = (last + 1 < per_block ? last + 1 : per_block) - first;
    bool worth = model->mode.kind == CZ_ML_RANGE || output[WORTH] >= model->worth;
    if (found.high - found.low > own && worth) {
        found.plan.low = found.low;
        found.plan.high = found.high;
    }
    return found;
}

static void scores(const prefetch *model, const float *row, double *output) {
    for (int i = 0; i < FORESTS; i++)
        output[i] = cz_forest_score(model->forests[i], row);
}

static int decide(const cz_stream *stream, const cz_ticket *ticket, cz_decision *decision) {
    const prefetch *model = stream->model;
    bool learned = model->mode.kind == CZ_ML_RANGE || model->mode.kind == CZ_ML_RANGE_WHEN;
    *decision = (cz_decision){.category = CZ_UNKNOWN};
    scores(model, ticket->row, decision->output);
    ranges found = ranges_of(model, ticket->row, decision->output);
    decision->low = learned ? found.low : found.plan.low;
    decision->high = learned ? found.high : found.plan.high;
    decision->fetch = ticket->request.op == CZ_READ && found.plan.low < found.plan.high;
    return CZ_OK;
}

/* ---- golden sets ---- */

static int remake(const cz_bundle *bundle, const void *given, const cz_golden *golden, cz_remade *remade,
                  cz_error *error) {
    const prefetch *model = given;
    cz_flash_set set;
    int result = cz_flash_set_new(bundle, &cz_kind_prefetch, model, &model->history, golden, FORESTS, 3, &set, error);
    for (int64_t i = 0; !result && i < golden->rows; i++) {
        const cz_request *request = &golden->requests[i];
        const float *stored = golden->outputs + i * FORESTS;
        double output[FORESTS];
        cz_ticket ticket;
        result = cz_flash_set_observe(&set, i, &ticket, remade, error);
        if (result)
            break;
        scores(model, ticket.row, output);
        for (int k = 0; golden->outputs_given && k < FORESTS; k++)
            output[k] = stored[k];
        for (int k = 0; k < FORESTS; k++)
            remade->outputs[i * FORESTS + k] = (float)output[k];
        ranges found = ranges_of(model, ticket.row, output);
        int32_t *row = remade->decisions + i * golden->n_decisions;
        row[0] = found.low;
        row[1] = found.high;
        row[2] = request->op == CZ_READ && found.plan.low < found.plan.high;
        found.plan.admit = true; /* the context of these sets says so */
        result = cz_flash_set_access(&set, request, &found.plan, row + 3, error);
    }
    cz_flash_set_free(&set);
    return result;
}

const cz_kind_ops cz_kind_prefetch = {
    .name = "prefetch",
    .kind = CZ_PREFETCH,
    .stream_bytes = sizeof(cz_history),
    .model_new = model_new,
    .model_free = model_free,
    .stream_new = cz_history_new,
    .stream_free = cz_history_free,
    .observe = cz_history_observe,
    .decide = decide,
    .remake = remake,
    .save = cz_history_save,
    .restore = cz_history_restore,
    .may_swap = cz_history_may_swap,
    .swapped = cz_history_swapped,
    .stats = cz_history_stats,
};
