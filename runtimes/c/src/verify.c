/* Recomputes golden sets through the kinds, and compares. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"

#define TOLERANCE 1e-5
#define MOST_PAGES ((int64_t)1 << 22) /* accesses, of all golden requests together */

typedef struct tally {
    const cz_bundle *bundle;
    const char *folder;
    bool exact;
    int64_t decided, equal, pages;
    cz_report *report;
    cz_error *error;
} tally;

static int differs(const tally *on, const char *name, int64_t row) {
    return cz_fail(on->error, CZ_DIFFERENT,
                   "%s: row %lld of %s%s is not what this runtime computes; export the bundle again",
                   on->bundle->store.where, (long long)row + 1, on->folder, name);
}

/* First row that is further off than the limit, -1 where none is. */
static int64_t first_off(const float *want, const float *have, int64_t rows, int64_t columns, double limit,
                         double *worst) {
    for (int64_t i = 0; i < rows * columns; i++) {
        double difference = fabs((double)want[i] - (double)have[i]);
        if (!(difference <= limit))
            return i / columns;
        if (difference > *worst)
            *worst = difference;
    }
    return -1;
}

/* What a network of other precision decides stands in the first column; the others say what became of it in a cache,
 * which one other decision changes for many requests after it. */
static int compare_decisions(tally *on, const cz_golden *golden, const cz_remade *remade) {
    size_t columns = (size_t)golden->n_decisions;
    size_t compared = on->exact || golden->outputs_given ? columns : 1;
    for (int64_t row = 0; row < golden->decision_rows; row++) {
        size_t at = (size_t)row * columns;
        bool equal = memcmp(golden->decisions + at, remade->decisions + at, compared * sizeof *golden->decisions) == 0;
        on->decided++;
        on->equal += equal;
        if (!equal && (on->exact || golden->outputs_given))
            return differs(on, "decisions.npy", row);
    }
    return CZ_OK;
}

/* A network of other precision feeds its own tags back: then decisions alone are compared, by their share. */
static int compare(tally *on, const cz_golden *golden, const cz_remade *remade) {
    double none = 0;
    int64_t row = -1;
    if (on->exact || golden->outputs_given)
        row = first_off(golden->features, remade->features, golden->feature_rows, golden->n_features, 0, &none);
    if (row >= 0)
        return differs(on, "features.npy", row);
    if (on->exact && !golden->outputs_given)
        row = first_off(golden->outputs, remade->outputs, golden->output_rows, golden->n_outputs, TOLERANCE,
                        &on->report->output_difference);
    if (row >= 0)
        return differs(on, "outputs.npy", row);
    return compare_decisions(on, golden, remade);
}

/* Room that no kind would fill by chance: NaN, and a decision that none has. */
static void *room_for(int64_t rows, int64_t columns, int pattern) {
    size_t bytes = (size_t)(rows * columns) * 4;
    void *found = malloc(bytes + 1);
    return found ? memset(found, pattern, bytes + 1) : NULL;
}

static int remake(tally *on, const void *model, const cz_golden *golden) {
    cz_remade remade = {
        .features = room_for(golden->feature_rows, golden->n_features, 0xff),
        .outputs = room_for(golden->output_rows, golden->n_outputs, 0xff),
        .decisions = room_for(golden->decision_rows, golden->n_decisions, 0xa5),
    };
    int result = CZ_NO_MEMORY;
    if (!remade.features || !remade.outputs || !remade.decisions)
        cz_fail(on->error, CZ_NO_MEMORY, "%s: no memory for golden rows", on->bundle->store.where);
    else
        result = on->bundle->ops->remake(on->bundle, model, golden, &remade, on->error);
    if (!result)
        result = compare(on, golden, &remade);
    on->report->rows += golden->rows;
    on->report->cases++;
    free(remade.features);
    free(remade.outputs);
    free(remade.decisions);
    return result;
}

static int verify_set(tally *on, const void *model, const cz_values *values, const cz_json *entry, const char *name) {
    cz_golden golden;
    int result = cz_golden_read(on->bundle, values, entry, on->folder, name, &golden, on->error);
    if (result)
        return result;
    for (int64_t i = 0; i < golden.rows; i++)
        on->pages += (golden.requests[i].size + 4095) / 4096;
    if (on->pages > MOST_PAGES)
        result = cz_refuse(on->bundle->store.where, on->error, "export the bundle again",
                           "%srequests.csv touches more than %lld pages", on->folder, (long long)MOST_PAGES);
    else
        result = remake(on, model, &golden);
    cz_golden_free(&golden);
    return result;
}

/* The changed document is held to all that the bundle's own is held to. */
static int check_changed(const cz_values *values, cz_error *error) {
    int result = cz_schema_check(values->root, "bundle-model-2.json", values->where, error);
    if (!result)
        result = cz_check_ranges(values, error);
    return result ? result : cz_check_rules(values, error);
}

/* A synthetic set has a model of its own: the bundle's with some of its values changed. */
static int verify_synthetic(tally *on, const cz_json *entry) {
    const cz_bundle *bundle = on->bundle;
    const char *name = cz_json_get(entry, "name")->text;
    char folder[200], where[400];
    cz_changed changed;
    void *model = NULL;
    snprintf(folder, sizeof folder, "golden/synthetic/%.160s/", name);
    snprintf(where, sizeof where, "%.200s: golden/synthetic/%.160s", bundle->store.where, name);
    on->folder = folder;
    int result =
        cz_changed_new(cz_json_root(bundle->model_document), cz_json_get(entry, "changes"), where, &changed, on->error);
    if (result)
        return result;
    cz_values values = {where, bundle->ops->name, &changed.root};
    result = check_changed(&values, on->error);
    if (!result)
        result = bundle->ops->model_new(bundle, &values, bundle->precision, &model, on->error);
    if (!result)
        result = verify_set(on, model, &values, entry, name);
    if (model)
        bundle->ops->model_free(model);
    cz_changed_free(&changed);
    return result;
}

static int check_names(const cz_bundle *bundle, const cz_json *sets, cz_error *error) {
    for (size_t i = 0; i < sets->length; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(cz_json_get(&sets->items[i], "name")->text, cz_json_get(&sets->items[j], "name")->text) == 0)
                return cz_refuse(bundle->store.where, error, "export the bundle again",
                                 "two synthetic golden sets have the name %.40s",
                                 cz_json_get(&sets->items[i], "name")->text);
    return CZ_OK;
}

static double least_agreement(const cz_bundle *bundle) {
    const char *place = bundle->precision == CZ_BF16 ? "conformance.bf16" : "conformance.int8";
    return cz_json_get(&bundle->root, place)->number;
}

int cz_verify(const cz_bundle *bundle, cz_report *report, cz_error *error) {
    cz_report own;
    if (!bundle)
        return cz_fail(error, CZ_BAD_CALL, "cz_verify: no bundle; open one with cz_open");
    report = report ? report : &own;
    *report = (cz_report){.agreement = 1};
    const cz_json *golden = cz_json_get(&bundle->root, "golden"), *sets = cz_json_get(golden, "synthetic");
    bool network = bundle->ops->kind == CZ_CACHING || bundle->ops->kind == CZ_WORKLOAD;
    tally on = {bundle, "golden/", !network || bundle->precision == CZ_FP32, 0, 0, 0, report, error};
    cz_values values = {bundle->store.where, bundle->ops->name, &bundle->root};
    int result = check_names(bundle, sets, error);
    if (!result)
        result = verify_set(&on, bundle->model, &values, golden, "");
    for (size_t i = 0; i < sets->length && !result; i++)
        result = verify_synthetic(&on, &sets->items[i]);
    if (result)
        return cz_name_bundle(bundle->store.where, result, error);
    report->agreement = on.decided ? (double)on.equal / (double)on.decided : 1;
    if (!on.exact && report->agreement < least_agreement(bundle))
        return cz_fail(error, CZ_DIFFERENT, "%s: %.5f of the golden decisions are equal, fewer than %.5f; use float32",
                       bundle->store.where, report->agreement, least_agreement(bundle));
    return CZ_OK;
}
