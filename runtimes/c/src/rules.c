/* Rules between values of a model's document; its schema has the rules of single values. */
#include <stdlib.h>
#include <string.h>

#include "bundle.h"
#include "policy_bundle.h"

static int no_model(const cz_values *values, cz_error *error, const char *problem, const char *name) {
    return cz_fail(error, CZ_BAD_BUNDLE, "%s: the manifest does not describe a %s model (%.100s %s); export it again",
                   values->where, values->kind, name, problem);
}

static int by_code(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

static int check_codes(const cz_values *values, const char *column, const cz_json *codes, cz_error *error) {
    int64_t *sorted = malloc((codes->length + 1) * sizeof *sorted);
    bool twice = false;
    if (!sorted)
        return cz_fail(error, CZ_NO_MEMORY, "%s: no memory for its encodings", values->where);
    for (size_t i = 0; i < codes->length; i++)
        sorted[i] = codes->items[i].integer;
    qsort(sorted, codes->length, sizeof *sorted, by_code);
    for (size_t i = 1; i < codes->length; i++)
        twice = twice || sorted[i - 1] == sorted[i];
    free(sorted);
    return twice ? no_model(values, error, "encodes two names with one code", column) : CZ_OK;
}

static bool reads_names(const cz_json *feature) {
    const char *formula = cz_json_get(feature, "formula")->text;
    return strcmp(formula, "code.namespace") == 0 || strcmp(formula, "code.user") == 0;
}

static int check_history(const cz_values *values, cz_error *error) {
    const cz_json *windows = cz_values_get(values, "policy.history.windows"),
                  *encodings = cz_values_get(values, "encodings"), *features = cz_values_get(values, "features");
    int result = CZ_OK;
    for (size_t i = 1; i < windows->length; i++)
        if (windows->items[i].integer <= windows->items[i - 1].integer)
            return no_model(values, error, "do not rise", "policy.history.windows");
    for (size_t i = 0; i < encodings->length && !result; i++)
        result = check_codes(values, encodings->keys[i], &encodings->items[i], error);
    for (size_t i = 0; i < features->length && !result; i++) {
        const char *wanted = reads_names(&features->items[i]) ? "ordinal" : "number";
        if (strcmp(cz_json_get(&features->items[i], "encoding")->text, wanted) != 0)
            result = no_model(values, error, "has another encoding than its formula asks for",
                              cz_json_get(&features->items[i], "name")->text);
    }
    return result;
}

static int check_pair(const cz_values *values, const char *name, const cz_json *pair, cz_error *error) {
    if (pair->items[0].number <= pair->items[1].number)
        return CZ_OK;
    return no_model(values, error, "has ends in the wrong order", name);
}

static int check_sizes(const cz_values *values, cz_error *error) {
    const cz_json *sizes = cz_values_get(values, "calibration.by_capacity");
    if (sizes && sizes->length == 1)
        return no_model(values, error, "has one entry alone", "calibration.by_capacity");
    for (size_t i = 1; sizes && i < sizes->length; i++)
        if (cz_json_get(&sizes->items[i], "ratio_log2")->number <=
            cz_json_get(&sizes->items[i - 1], "ratio_log2")->number)
            return no_model(values, error, "does not rise by ratio_log2", "calibration.by_capacity");
    return CZ_OK;
}

static int check_caching(const cz_values *values, cz_error *error) {
    const cz_json *ranges = cz_values_get(values, "policy.ranges"),
                  *ratio = cz_values_get(values, "policy.capacity_ratio_log2");
    int result = ratio ? check_pair(values, "policy.capacity_ratio_log2", ratio, error) : CZ_OK;
    for (size_t i = 0; ranges && i < ranges->length && !result; i++)
        result = check_pair(values, ranges->keys[i], &ranges->items[i], error);
    if (!result && cz_values_get(values, "policy.memory.window_accesses")->number >
                       cz_values_get(values, "policy.memory.memory_accesses")->number)
        result = no_model(values, error, "are more than memory_accesses", "policy.memory.window_accesses");
    return result ? result : check_sizes(values, error);
}

static int check_workload(const cz_values *values, cz_error *error) {
    const cz_json *unknown = cz_values_get(values, "policy.unknown_above"),
                  *known = cz_values_get(values, "calibration.known");
    if (unknown && unknown->length && !(known && known->length))
        return no_model(values, error, "has limits where calibration.known knows no trace", "policy.unknown_above");
    return CZ_OK;
}

static bool rise(const cz_json *numbers) {
    for (size_t i = 1; i < numbers->length; i++)
        if (numbers->items[i].number <= numbers->items[i - 1].number)
            return false;
    return true;
}

static int check_streams(const cz_values *values, cz_error *error) {
    const cz_json *counted = cz_values_get(values, "calibration.writes_by_stream");
    if ((int64_t)counted->length != cz_values_get(values, "arch.streams")->integer)
        return no_model(values, error, "does not have a number for each of arch.streams",
                        "calibration.writes_by_stream");
    if (!cz_places_by_lifetime(cz_values_get(values, "policy.type")->text))
        return CZ_OK;
    const cz_json *cuts = cz_values_get(values, "policy.life_cuts"),
                  *starts = cz_values_get(values, "policy.part_starts");
    int64_t pages = cz_values_get(values, "policy.memory.pages")->integer;
    if (pages & (pages - 1))
        return no_model(values, error, "is no power of two", "policy.memory.pages");
    if (!rise(cuts))
        return no_model(values, error, "do not rise", "policy.life_cuts");
    if (!rise(starts))
        return no_model(values, error, "do not rise", "policy.part_starts");
    if ((int64_t)(cuts->length + starts->length + 1) > cz_values_get(values, "arch.streams")->integer)
        return no_model(values, error, "are too few for the cuts of policy", "arch.streams");
    return CZ_OK;
}

static int check_virtual(const cz_values *values, cz_error *error) {
    int64_t pages = cz_values_get(values, "arch.pages")->integer,
            fragment = cz_values_get(values, "arch.fragment")->integer;
    return pages % fragment ? no_model(values, error, "is no multiple of arch.fragment", "arch.pages") : CZ_OK;
}

int cz_check_rules(const cz_values *values, cz_error *error) {
    if (strcmp(values->kind, "admission") == 0)
        return check_history(values, error);
    if (strcmp(values->kind, "caching") == 0)
        return check_caching(values, error);
    if (strcmp(values->kind, "streams") == 0)
        return check_streams(values, error);
    if (strcmp(values->kind, "virtual") == 0)
        return check_virtual(values, error);
    if (strcmp(values->kind, "policy") == 0)
        return cz_policy_check(values, error);
    return strcmp(values->kind, "workload") == 0 ? check_workload(values, error) : CZ_OK;
}

/* ---- what follows from the kind ---- */

static const struct {
    const char *kind;
    const char *outputs[5], *decisions[5]; /* no outputs: policy.classes */
} COLUMNS[] = {
    {"admission", {"score"}, {"admit"}},
    {"caching", {"cached", "soon", "mean", "late"}, {"queue", "page_hits", "replaced_pages", "dirty_evicted_pages"}},
    {"reuse", {"score"}, {"outcome", "victim_page", "leader"}},
    {"workload", {NULL}, {"class", "vote", "in_force"}},
    {"streams", {"stream"}, {"stream"}},
    {"virtual", {"position"}, {"position", "hit", "moved"}},
    {"policy", {"resident"}, {"outcome", "victim_page", "victim_dirty"}},
};

static bool same_names(const cz_json *list, const char *const *names) {
    size_t i = 0;
    for (; i < list->length && names[i]; i++)
        if (strcmp(list->items[i].text, names[i]) != 0)
            return false;
    return i == list->length && !names[i];
}

static bool same_texts(const cz_json *left, const cz_json *right) {
    bool same = left->length == right->length;
    for (size_t i = 0; same && i < left->length; i++)
        same = strcmp(left->items[i].text, right->items[i].text) == 0;
    return same;
}

static const char *profile_of(const cz_values *values) {
    const cz_json *features = cz_values_get(values, "features");
    if (strcmp(values->kind, "reuse") == 0)
        return "full";
    for (size_t i = 0; i < features->length; i++)
        if (reads_names(&features->items[i]))
            return "full";
    return "block";
}

int cz_check_values(const cz_values *values, cz_error *error) {
    const cz_json *outputs = cz_values_get(values, "golden.outputs"),
                  *decisions = cz_values_get(values, "golden.decisions");
    size_t kind = 0;
    while (strcmp(COLUMNS[kind].kind, values->kind) != 0)
        kind++;
    bool named = COLUMNS[kind].outputs[0] != NULL;
    static const char *const lives[] = {"life", NULL};
    const char *const *answers =
        strcmp(values->kind, "streams") == 0 && cz_places_by_lifetime(cz_values_get(values, "policy.type")->text)
            ? lives
            : COLUMNS[kind].outputs;
    if (strcmp(cz_values_get(values, "profile")->text, profile_of(values)) != 0)
        return no_model(values, error, "is another than its values make it", "profile");
    if (named ? !same_names(outputs, answers) : !same_texts(outputs, cz_values_get(values, "policy.classes")))
        return no_model(values, error, "are others than its values make them", "golden.outputs");
    if (!same_names(decisions, COLUMNS[kind].decisions))
        return no_model(values, error, "are others than its kind has", "golden.decisions");
    return CZ_OK;
}
