/* A reuse model as its bundle states it: the forest, the tables, and the plan of the cache. */
#include <stdlib.h>
#include <string.h>

#include "reuse_cache.h"

static const char *const names[CZ_INPUTS] = {
    "interval",
    "interval_before",
    "interval_change",
    "count_quarter",
    "count_one",
    "count_four",
    "write",
    "wrote_before",
    "write_share",
    "request_pages",
    "place",
    "run",
    "region_interval",
    "region_count_one",
    "region_count_four",
    "stretch_count_four",
    "companions",
    "metadata",
    "readahead",
    "sync",
    "process_soon",
    "process_reused",
    "context_soon",
    "context_reused",
    "seen_soon",
    "seen_reused",
};

static const cz_json *list_of(const cz_values *values, const char *place, size_t least, size_t most) {
    const cz_json *list = cz_values_get(values, place);
    return list && list->type == CZ_JSON_LIST && list->length >= least && list->length <= most ? list : NULL;
}

static int check_inputs(const char *where, const cz_values *values, cz_error *error) {
    const cz_json *features = list_of(values, "features", CZ_INPUTS, CZ_INPUTS);
    for (int f = 0; f < CZ_INPUTS; f++) {
        const cz_json *formula = features ? cz_json_get(&features->items[f], "formula") : NULL;
        if (!formula || formula->type != CZ_JSON_TEXT || strcmp(formula->text, names[f]) != 0)
            return cz_fail(error, CZ_BAD_BUNDLE,
                           "%s: features: this library computes %d, number %d is %s; export the "
                           "bundle with this release",
                           where, CZ_INPUTS, f + 1, names[f]);
    }
    return CZ_OK;
}

static int read_classics(const char *where, const cz_values *values, const char *place, size_t least, size_t most,
                         int32_t *found, int32_t *n, cz_error *error) {
    const cz_json *list = list_of(values, place, least, most);
    if (!list)
        return cz_fail(error, CZ_BAD_BUNDLE, "%s: %s: give a list of %zu to %zu names", where, place, least, most);
    for (size_t k = 0; k < list->length; k++) {
        const cz_json *name = &list->items[k];
        found[k] = name->type == CZ_JSON_TEXT ? (int32_t)cz_classic_named(name->text) : CZ_CLASSICS;
        if (found[k] == CZ_CLASSICS)
            return cz_fail(error, CZ_BAD_BUNDLE, "%s: %s: %s: this library runs azor, lfu, lirs, lru, s3fifo, wtinylfu",
                           where, place, name->type == CZ_JSON_TEXT ? name->text : "no text");
    }
    *n = (int32_t)list->length;
    return CZ_OK;
}

static int read_number(const char *where, const cz_values *values, const char *place, double least, double *found,
                       cz_error *error) {
    int result = cz_values_number(values, place, found, error);
    if (result == CZ_OK && !(*found >= least && *found <= 1e6))
        result = cz_fail(error, CZ_BAD_BUNDLE, "%s: %s = %g is outside [%g, 1e+06]", where, place, *found, least);
    return result;
}

static int read_plan(const char *where, const cz_values *values, cz_reuse_model *model, cz_error *error) {
    int result = read_classics(where, values, "policy.shadows", 0, CZ_MOST_SHADOWS, model->plan.shadow,
                               &model->plan.shadows, error);
    if (result == CZ_OK)
        result = read_classics(where, values, "policy.experts", 1, CZ_MOST_EXPERTS - 1, model->plan.expert,
                               &model->plan.experts, error);
    if (result == CZ_OK)
        result = cz_values_whole(values, "policy.candidates", 1, 4096, &model->plan.candidates, error);
    if (result == CZ_OK)
        result = cz_values_whole(values, "policy.own_trees", 0, 1000, &model->plan.own_trees, error);
    if (result == CZ_OK)
        result = cz_values_whole(values, "policy.own_rows", 1, 1000000, &model->plan.own_rows, error);
    if (result == CZ_OK && cz_values_get(values, "policy.own_pace")) /* bundles of earlier releases do not say */
        result = cz_values_whole(values, "policy.own_pace", 0, 1000000000, &model->plan.own_pace, error);
    if (result == CZ_OK)
        result = cz_values_whole(values, "policy.seed", 0, INT64_C(1) << 31, &model->plan.seed, error);
    if (result == CZ_OK)
        result = read_number(where, values, "policy.half_life", 1e-3, &model->plan.half_life, error);
    if (result == CZ_OK)
        result = read_number(where, values, "policy.lead", 0, &model->plan.lead, error);
    if (result == CZ_OK)
        result = read_number(where, values, "policy.price", 0, &model->plan.price, error);
    if (result == CZ_OK)
        result = read_number(where, values, "policy.head_start", 0, &model->plan.head_start, error);
    return result;
}

static int read_quantiles(const char *where, const cz_values *values, cz_reuse_model *model, cz_error *error) {
    const cz_json *list = list_of(values, "calibration.quantiles", 0, CZ_MOST_QUANTILES);
    bool rising = list != NULL;
    for (size_t k = 0; rising && k < list->length; k++) {
        rising = list->items[k].type == CZ_JSON_NUMBER;
        model->quantiles[k] = (float)list->items[k].number;
        rising = rising && isfinite(model->quantiles[k]) && (k == 0 || model->quantiles[k] >= model->quantiles[k - 1]);
    }
    int32_t classes = list ? ((int32_t)list->length + 1) << model->plan.shadows : 0;
    if (!rising || classes < 2 || classes > CZ_MOST_CLASSES)
        return cz_fail(error, CZ_BAD_BUNDLE,
                       "%s: calibration.quantiles: give numbers that do not fall, and at most %d "
                       "classes with the shadows",
                       where, CZ_MOST_CLASSES);
    model->plan.quantiles = (int32_t)list->length;
    model->plan.classes = classes;
    return CZ_OK;
}

static int read_counts(const char *where, const cz_values *values, const char *place, int32_t classes, double *counts,
                       cz_error *error) {
    const cz_json *rows = list_of(values, place, (size_t)classes, (size_t)classes);
    bool good = rows != NULL;
    for (int32_t k = 0; good && k < classes; k++) {
        const cz_json *row = &rows->items[k];
        good = row->type == CZ_JSON_LIST && row->length == CZ_AGES;
        for (int b = 0; good && b < CZ_AGES; b++) {
            counts[k * CZ_AGES + b] = row->items[b].number;
            good = row->items[b].type == CZ_JSON_NUMBER && row->items[b].number >= 0;
        }
    }
    if (!good)
        return cz_fail(error, CZ_BAD_BUNDLE, "%s: %s: give %d rows of %d counts not below 0, one row for each class",
                       where, place, classes, CZ_AGES);
    return CZ_OK;
}

static int read_model(const cz_bundle *bundle, const cz_values *values, cz_reuse_model *model, cz_error *error) {
    const char *where = cz_bundle_where(bundle);
    int64_t page_bytes;
    int result = check_inputs(where, values, error);
    if (result == CZ_OK)
        result = cz_values_whole(values, "geometry.page_bytes", CZ_REUSE_PAGE_BYTES, CZ_REUSE_PAGE_BYTES, &page_bytes,
                                 error);
    if (result == CZ_OK)
        result = read_plan(where, values, model, error);
    if (result == CZ_OK)
        result = read_quantiles(where, values, model, error);
    if (result != CZ_OK)
        return result;
    size_t counts = (size_t)model->plan.classes * CZ_AGES;
    model->counts = calloc(2 * counts, sizeof *model->counts);
    if (!model->counts)
        return cz_fail(error, CZ_NO_MEMORY, "%s: no memory for %zu counts", where, 2 * counts);
    result = read_counts(where, values, "calibration.events", model->plan.classes, model->counts, error);
    if (result == CZ_OK)
        result = read_counts(where, values, "calibration.risks", model->plan.classes, model->counts + counts, error);
    const cz_file *file = cz_bundle_file(bundle, "model.lgb.txt");
    if (result == CZ_OK && !file)
        result = cz_fail(error, CZ_BAD_BUNDLE, "%s: holds no model.lgb.txt; export the bundle again", where);
    if (result == CZ_OK)
        result = cz_forest_read(file->data, file->size, CZ_INPUTS, where, &model->forest, error);
    return result;
}

int cz_reuse_model_new(const cz_bundle *bundle, const cz_values *values, enum cz_precision precision, void **model,
                       cz_error *error) {
    (void)precision;
    cz_reuse_model *made = calloc(1, sizeof *made);
    if (!made)
        return cz_fail(error, CZ_NO_MEMORY, "%s: no memory for the model", cz_bundle_where(bundle));
    int result = read_model(bundle, values, made, error);
    if (result != CZ_OK) {
        cz_reuse_model_free(made);
        return result;
    }
    *model = made;
    return CZ_OK;
}

void cz_reuse_model_free(void *model) {
    cz_reuse_model *made = model;
    if (!made)
        return;
    if (made->forest)
        cz_forest_free(made->forest);
    free(made->counts);
    free(made);
}
