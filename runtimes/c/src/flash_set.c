#include "flash_set.h"

#include <string.h>

#define MOST_CAPACITY (1 << 24) /* segments of a golden set's cache: below 1 GiB of memory */

static int unfit(const cz_bundle *bundle, const cz_golden *golden, const char *what, cz_error *error) {
    return cz_fail(error, CZ_BAD_BUNDLE, "%s: golden set %s: %s; export it again", cz_bundle_where(bundle),
                   golden->name[0] ? golden->name : "golden", what);
}

int64_t cz_history_segments(const cz_history_model *model, const cz_request *request, int64_t *first) {
    *first = request->offset / model->segment_bytes;
    return (request->offset + request->size - 1) / model->segment_bytes - *first + 1;
}

static int check_shapes(const cz_bundle *bundle, const cz_history_model *model, const cz_golden *golden,
                        int64_t outputs, int64_t decisions, cz_error *error) {
    bool rows = golden->feature_rows == golden->rows && golden->output_rows == golden->rows &&
                golden->decision_rows == golden->rows;
    if (rows && golden->n_features == model->features && golden->n_outputs == outputs &&
        golden->n_decisions == decisions)
        return CZ_OK;
    return unfit(bundle, golden, "its arrays have other rows or columns than the model", error);
}

static int new_flash(const cz_bundle *bundle, const cz_json *capacity, int64_t most, cz_flash_set *set,
                     cz_error *error) {
    const cz_json *context = set->golden->context, *mode = cz_json_get(context, "prefetch"),
                  *admit = cz_json_get(context, "admit");
    if (!capacity->whole || capacity->integer < 1 || capacity->integer > MOST_CAPACITY)
        return unfit(bundle, set->golden, "capacity_segments is no number from 1 to 2^24", error);
    if (!mode || mode->type != CZ_JSON_TEXT || !cz_prefetch_parse(mode->text, &set->mode))
        return unfit(bundle, set->golden, "prefetch is no mode that this library knows", error);
    if (!admit || admit->type != CZ_JSON_TEXT || (strcmp(admit->text, "all") != 0 && strcmp(admit->text, "model") != 0))
        return unfit(bundle, set->golden, "admit is neither all nor model", error);
    set->admits_all = strcmp(admit->text, "all") == 0;
    cz_flash_options options = {.capacity = capacity->integer,
                                .per_block = set->model->per_block,
                                .max_units = most,
                                .window = CZ_BY_VERDICT,
                                .max_misses = 1,
                                .by_block = set->model->by_block};
    return cz_flash_new(&options, &set->flash, error);
}

int cz_flash_set_new(const cz_bundle *bundle, const cz_kind_ops *ops, const void *kind_model,
                     const cz_history_model *model, const cz_golden *golden, int64_t outputs, int64_t decisions,
                     cz_flash_set *set, cz_error *error) {
    const cz_json *capacity = golden->context ? cz_json_get(golden->context, "capacity_segments") : NULL;
    int64_t all = 1, most = 1, first;
    *set = (cz_flash_set){.golden = golden, .model = model};
    for (int64_t i = 0; i < golden->rows; i++) {
        int64_t touched = cz_history_segments(model, &golden->requests[i], &first);
        all += touched;
        most = touched > most ? touched : most;
    }
    if (all > 1 << 24)
        return unfit(bundle, golden, "its requests touch more than 2^24 segments", error);
    int result = check_shapes(bundle, model, golden, outputs, decisions + (capacity ? CZ_FLASH_COLUMNS : 0), error);
    cz_stream_options options = {.max_keys = all, .max_names = 1};
    if (!result)
        result = cz_stream_golden(bundle, ops, kind_model, golden, options, &set->stream, error);
    if (!result && capacity)
        result = new_flash(bundle, capacity, most, set, error);
    return result;
}

void cz_flash_set_free(cz_flash_set *set) {
    cz_stream_free(set->stream);
    cz_flash_free(set->flash);
}

int cz_flash_set_observe(cz_flash_set *set, int64_t i, cz_ticket *ticket, cz_remade *remade, cz_error *error) {
    size_t columns = (size_t)set->model->features;
    int result = cz_observe(set->stream, &set->golden->requests[i], ticket);
    if (result)
        return cz_fail(error, CZ_BAD_BUNDLE, "golden request %lld is none that a model takes; export it again",
                       (long long)i);
    memcpy(remade->features + (size_t)i * columns, ticket->row, columns * sizeof *remade->features);
    return CZ_OK;
}

int cz_flash_set_access(cz_flash_set *set, const cz_request *request, const cz_verdict *verdict, int32_t *columns,
                        cz_error *error) {
    if (!set->flash)
        return CZ_OK;
    int64_t first, count = cz_history_segments(set->model, request, &first), low = INT64_MAX, high = -1;
    int32_t written = 0, prefetched = 0;
    cz_counters before, after;
    cz_access access = {0};
    cz_flash_stats(set->flash, &before);
    if (cz_flash_access(set->flash, (enum cz_op)request->op, request->volume, first, count, verdict, &access))
        return cz_fail(error, CZ_BAD_BUNDLE, "a golden request is none that a flash cache takes; export it again");
    cz_flash_stats(set->flash, &after);
    for (int64_t i = 0; request->op == CZ_READ && i < access.n_units; i++) {
        const cz_unit *unit = &access.units[i];
        if (i < count && unit->outcome == 2)
            continue;
        low = unit->number < low ? unit->number : low;
        high = unit->number > high ? unit->number : high;
        written += unit->outcome == 1;
        prefetched += i >= count;
    }
    columns[0] = request->op == CZ_READ ? access.hits : 0;
    columns[1] = written;
    columns[2] = prefetched;
    columns[3] = high < 0 ? 0 : (int32_t)(high - low + 1);
    columns[4] = (int32_t)(after.evicted - before.evicted);
    return CZ_OK;
}
