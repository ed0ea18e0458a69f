/* Kind admission: a forest says whether what a read missed is worth its flash writes. */
#include <stdlib.h>
#include <string.h>

#include "controller.h"
#include "flash_set.h"
#include "history.h"

typedef struct admission {
    cz_history_model history; /* first: streams know no more */
    cz_forest *forest;
    double threshold;
    cz_control_rules control;
} admission;

static void model_free(void *given) {
    admission *model = given;
    if (!model)
        return;
    cz_forest_free(model->forest);
    free(model);
}

static int read_model(const cz_bundle *bundle, const cz_values *values, admission *model, cz_error *error) {
    const cz_file *file = cz_bundle_file(bundle, "model.lgb.txt");
    int result = cz_history_read(bundle, values, &model->history, error);
    if (!result)
        result = cz_values_number(values, "calibration.threshold", &model->threshold, error);
    if (!result)
        result = cz_control_read(values, &model->control, error);
    if (!result && !file)
        result =
            cz_fail(error, CZ_BAD_BUNDLE, "%s: model.lgb.txt is missing; export it again", cz_bundle_where(bundle));
    if (!result)
        result = cz_forest_read(file->data, file->size, model->history.features, file->path, &model->forest, error);
    return result;
}

static int model_new(const cz_bundle *bundle, const cz_values *values, enum cz_precision precision, void **found,
                     cz_error *error) {
    (void)precision; /* of LSTMs */
    *found = NULL;
    admission *model = calloc(1, sizeof *model);
    if (!model)
        return cz_fail(error, CZ_NO_MEMORY, "%s: no memory for its model", cz_bundle_where(bundle));
    int result = read_model(bundle, values, model, error);
    if (result)
        model_free(model);
    else
        *found = model;
    return result;
}

static cz_decision decided(const cz_stream *stream, const cz_ticket *ticket, double score) {
    const admission *model = stream->model;
    double threshold = stream->controller ? stream->controller->threshold : model->threshold;
    cz_decision decision = {.category = CZ_UNKNOWN, .output = {score}};
    decision.admit = ticket->request.op == CZ_READ && score >= threshold;
    return decision;
}

static int decide(const cz_stream *stream, const cz_ticket *ticket, cz_decision *decision) {
    const admission *model = stream->model;
    *decision = decided(stream, ticket, cz_forest_score(model->forest, ticket->row));
    return CZ_OK;
}

static int write_rate(cz_stream *stream, double bytes_s, cz_error *error) {
    const admission *model = stream->model;
    if (!model->control.there)
        return cz_fail(error, CZ_BAD_CALL,
                       "%s: it keeps no write rate, as it is of an earlier release; export it again",
                       cz_bundle_where(stream->bundle));
    if (!stream->controller)
        stream->controller = cz_controller_new(&model->control, model->threshold);
    if (!stream->controller)
        return cz_fail(error, CZ_NO_MEMORY, "%s: no memory for a write rate", cz_bundle_where(stream->bundle));
    cz_controller_rate(stream->controller, bytes_s, model->history.segment_bytes);
    return CZ_OK;
}

static void swapped(cz_stream *stream) {
    const admission *model = stream->model;
    cz_history_swapped(stream);
    if (stream->controller)
        cz_controller_follow(stream->controller, &model->control, model->threshold);
}

/* ---- golden sets ---- */

static int remake(const cz_bundle *bundle, const void *given, const cz_golden *golden, cz_remade *remade,
                  cz_error *error) {
    const admission *model = given;
    cz_flash_set set;
    int result = cz_flash_set_new(bundle, &cz_kind_admission, model, &model->history, golden, 1, 1, &set, error);
    const cz_json *rate = golden->context ? cz_json_get(golden->context, "write_bytes_s") : NULL;
    if (!result && rate)
        result = cz_write_rate(set.stream, rate->number, error);
    for (int64_t i = 0; !result && i < golden->rows; i++) {
        const cz_request *request = &golden->requests[i];
        cz_ticket ticket;
        result = cz_flash_set_observe(&set, i, &ticket, remade, error);
        if (result)
            break;
        double score = golden->outputs_given ? (double)golden->outputs[i] : cz_forest_score(model->forest, ticket.row);
        int32_t *row = remade->decisions + i * golden->n_decisions;
        cz_verdict verdict = {0};
        remade->outputs[i] = (float)score;
        row[0] = decided(set.stream, &ticket, score).admit;
        int64_t first, count = cz_history_segments(&model->history, request, &first);
        if (set.flash) {
            cz_prefetch_plain(&set.mode, first % model->history.per_block + count - 1, model->history.per_block,
                              &verdict);
        }
        verdict.admit = set.admits_all || row[0];
        result = cz_flash_set_access(&set, request, &verdict, row + 1, error);
        if (!result && set.flash && request->op == CZ_READ && row[1] < count)
            result = cz_wrote(set.stream, request->time_us, score, count - row[1], row[2]);
    }
    cz_flash_set_free(&set);
    return result;
}

const cz_kind_ops cz_kind_admission = {
    .name = "admission",
    .kind = CZ_ADMISSION,
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
    .swapped = swapped,
    .write_rate = write_rate,
    .stats = cz_history_stats,
};
