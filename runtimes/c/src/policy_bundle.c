/* Bundles of kind policy: a composition's text, with its values. */
#include "policy_bundle.h"

#include <stdlib.h>
#include <string.h>

#include "bundle.h"
#include "policy.h"

static const char *const PLACES[CZ_PARTS] = {"policy.admission", "policy.eviction", "policy.prefetch"};

static int no_policy(const cz_values *values, cz_error *error, const char *what, const char *problem) {
    return cz_fail(error, CZ_BAD_BUNDLE,
                   "%.200s: the manifest does not describe a policy model (%.200s%s); export it again", values->where,
                   what, problem);
}

/* The object has the part's name and each of its values, and nothing else. */
static bool same_part(const cz_policy_plan *plan, int part, const cz_json *object) {
    const cz_json *name = cz_json_get(object, "name");
    const char *own;
    double value;
    size_t count = 1;
    if (!name || strcmp(name->text, cz_policy_name(plan, part)) != 0)
        return false;
    for (int i = 0; cz_policy_value(plan, part, i, &own, &value); i++, count++) {
        const cz_json *stated = cz_json_get(object, own);
        if (!stated || stated->type != CZ_JSON_NUMBER || stated->number != value)
            return false;
    }
    return object->length == count;
}

static int plan_of(const cz_values *values, cz_policy_plan *plan, cz_error *error) {
    const char *text = cz_values_get(values, "policy.text")->text;
    char shortest[CZ_MOST_POLICY_TEXT];
    cz_error why = {0};
    if (cz_policy_parse(text, plan, &why) != CZ_OK)
        return no_policy(values, error, why.text, "");
    cz_policy_text(plan, shortest, sizeof shortest);
    if (strcmp(text, shortest) != 0)
        return no_policy(values, error, shortest, " is how policy.text is written");
    for (int part = 0; part < CZ_PARTS; part++)
        if (!same_part(plan, part, cz_values_get(values, PLACES[part])))
            return no_policy(values, error, PLACES[part], " is not that of policy.text");
    return CZ_OK;
}

int cz_policy_check(const cz_values *values, cz_error *error) {
    cz_policy_plan plan;
    return plan_of(values, &plan, error);
}

int64_t cz_policy_rows_ahead(const cz_values *values) {
    const cz_json *n = cz_values_get(values, "policy.prefetch.n");
    return n ? n->integer : 0;
}

int cz_policy_model_new(const cz_bundle *bundle, const cz_values *values, enum cz_precision precision, void **model,
                        cz_error *error) {
    (void)bundle, (void)precision; /* of weights, of LSTMs */
    cz_policy_plan *plan = malloc(sizeof *plan);
    *model = NULL;
    if (!plan)
        return cz_fail(error, CZ_NO_MEMORY, "no memory for a model");
    int result = plan_of(values, plan, error);
    if (result) {
        free(plan);
        return result;
    }
    *model = plan;
    return CZ_OK;
}
