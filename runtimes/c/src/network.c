#include "network.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sequence.h"

int cz_features_count(const cz_values *values, const char *where, int32_t *count, cz_error *error) {
    const cz_json *features = cz_values_get(values, "features");
    if (!features || features->type != CZ_JSON_LIST || features->length < 1 || features->length > CZ_MAX_FEATURES)
        return cz_fail(error, CZ_BAD_BUNDLE, "%s: features: this library serves models of 1 to %d inputs", where,
                       CZ_MAX_FEATURES);
    *count = (int32_t)features->length;
    return CZ_OK;
}

static const char *text_of(const cz_json *entry, const char *key) {
    const cz_json *value = cz_json_get(entry, key);
    return value && value->type == CZ_JSON_TEXT ? value->text : "";
}

static int number_of(const cz_json *entry, const char *key, const char *where, double *found, cz_error *error) {
    const cz_json *value = cz_json_get(entry, key);
    if (!value || value->type != CZ_JSON_NUMBER)
        return cz_fail(error, CZ_BAD_BUNDLE, "%s: feature %.40s has no number %s; export the bundle again", where,
                       text_of(entry, "name"), key);
    *found = value->number;
    return CZ_OK;
}

/* policy.ranges of an input, or everything. */
static int range_of(const cz_json *ranges, const char *name, const char *where, cz_input *input, cz_error *error) {
    const cz_json *ends = ranges ? cz_json_member(ranges, name, strlen(name)) : NULL;
    input->low = -INFINITY, input->high = INFINITY;
    if (!ends)
        return CZ_OK;
    if (ends->type != CZ_JSON_LIST || ends->length != 2 || ends->items[0].type != CZ_JSON_NUMBER ||
        ends->items[1].type != CZ_JSON_NUMBER || ends->items[0].number > ends->items[1].number)
        return cz_fail(error, CZ_BAD_BUNDLE,
                       "%s: policy.ranges.%.40s is no least and greatest value of an input; export the bundle again",
                       where, name);
    input->low = ends->items[0].number, input->high = ends->items[1].number;
    return CZ_OK;
}

static int input_of(const cz_json *entry, const cz_json *ranges, const char *where, const cz_formula *known,
                    cz_input *input, cz_error *error) {
    const char *formula = text_of(entry, "formula"), *name = text_of(entry, "name");
    while (known->name && strcmp(known->name, formula) != 0)
        known++;
    if (!known->name)
        return cz_fail(error, CZ_BAD_BUNDLE, "%s: feature %.40s: formula %.40s is unknown; use a newer release", where,
                       name, formula);
    *input = (cz_input){.column = known->column, .relative = known->relative};
    int code = number_of(entry, "mean", where, &input->mean, error);
    if (!code)
        code = number_of(entry, "scale", where, &input->scale, error);
    if (!code && !(input->scale > 0))
        code = cz_fail(error, CZ_BAD_BUNDLE, "%s: feature %.40s has scale %g; it must be above 0", where, name,
                       input->scale);
    return code ? code : range_of(ranges, name, where, input, error);
}

/* Every range is of an input. */
static int ranges_known(const cz_json *ranges, const cz_json *features, const char *where, cz_error *error) {
    for (size_t i = 0; ranges && i < ranges->length; i++) {
        size_t k = 0;
        while (k < features->length && strcmp(text_of(&features->items[k], "name"), ranges->keys[i]) != 0)
            k++;
        if (k == features->length)
            return cz_fail(error, CZ_BAD_BUNDLE, "%s: policy.ranges.%.40s is of no input; export the bundle again",
                           where, ranges->keys[i]);
    }
    return CZ_OK;
}

int cz_inputs_read(const cz_values *values, const char *where, const cz_formula *known, int32_t first, int32_t count,
                   cz_input *inputs, cz_error *error) {
    const cz_json *features = cz_values_get(values, "features"), *ranges = cz_values_get(values, "policy.ranges");
    if (ranges && ranges->type != CZ_JSON_OBJECT)
        return cz_fail(error, CZ_BAD_BUNDLE, "%s: policy.ranges is no object; export the bundle again", where);
    int code = ranges_known(ranges, features, where, error);
    for (int32_t i = 0; !code && i < count; i++)
        code = input_of(&features->items[first + i], ranges, where, known, &inputs[i], error);
    return code;
}

static double cut(double value, double low, double high) {
    value = value < low ? low : value;
    return value > high ? high : value;
}

float cz_input_of(const cz_input *input, float raw, double log2_capacity, double clip) {
    double value = (double)raw - (input->relative ? log2_capacity : 0.0);
    value = cut(value, input->low, input->high);
    return (float)cut((value - input->mean) / input->scale, -clip, clip);
}

bool cz_inputs_same(const cz_input *one, const cz_input *other, int32_t count) {
    for (int32_t i = 0; i < count; i++)
        if (one[i].column != other[i].column || one[i].relative != other[i].relative)
            return false;
    return true;
}

int cz_network_new(const cz_bundle *bundle, const cz_values *values, enum cz_precision precision, const cz_head *heads,
                   int32_t n_heads, cz_lstm **lstm, cz_error *error) {
    const char *where = cz_bundle_where(bundle);
    const cz_file *file = cz_bundle_file(bundle, "weights.safetensors");
    cz_lstm_shape shape = {.n_heads = n_heads};
    memcpy(shape.heads, heads, sizeof *heads * (size_t)n_heads);
    int64_t layers = 0, units = 0;
    int code = cz_values_whole(values, "arch.layers", 1, CZ_LSTM_MOST_LAYERS, &layers, error);
    if (!code)
        code = cz_values_whole(values, "arch.units", 1, CZ_LSTM_MOST_UNITS, &units, error);
    if (!code)
        code = cz_features_count(values, where, &shape.inputs, error);
    if (!code && !file)
        code = cz_fail(error, CZ_BAD_BUNDLE, "%s: weights.safetensors is missing; export the bundle again", where);
    if (code)
        return code;
    shape.layers = (int32_t)layers, shape.units = (int32_t)units;
    cz_tensors *tensors = NULL;
    char place[400];
    snprintf(place, sizeof place, "%.360s: weights.safetensors", where);
    code = cz_tensors_read(file->data, file->size, place, &tensors, error);
    /* Four tensors to a layer, two to a head; each of them is asked for below. */
    if (!code && cz_tensors_count(tensors) != (size_t)(4 * shape.layers + 2 * n_heads))
        code = cz_fail(error, CZ_BAD_BUNDLE,
                       "%s: weights.safetensors has tensors that are none of the model, or lacks "
                       "some; export the bundle again",
                       where);
    if (!code)
        code = cz_lstm_new(tensors, &shape, precision, CZ_PATH_BEST, where, lstm, error);
    cz_tensors_free(tensors);
    return code;
}
