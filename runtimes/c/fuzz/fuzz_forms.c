/* Every form of file by itself: the first byte says which. */
#include <stdlib.h>
#include <string.h>

#include "golden.h"
#include "release.h"
#include "streams.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A refusal is one line. */
static void check_error(int result, const cz_error *error) {
    if (result && (!error->text[0] || strchr(error->text, '\n') || error->code != result))
        abort();
}

static int walk(const cz_json *value) {
    int sum = (int)value->type;
    for (size_t i = 0; i < value->length; i++)
        sum += walk(&value->items[i]) + (value->keys ? (int)strlen(value->keys[i]) : 0);
    return sum + (value->text ? (int)cz_characters(value->text) : 0);
}

static int one_json(const uint8_t *data, size_t size, cz_error *error) {
    cz_json_document *document;
    int result = cz_json_read((const char *)data, size, "a.json", &document, error);
    if (!result && walk(cz_json_root(document)) < 0)
        abort();
    cz_json_free(document);
    return result;
}

static int one_npy(const uint8_t *data, size_t size, cz_error *error) {
    int64_t rows;
    void *array;
    int result =
        cz_npy_read("b", "a.npy", data, size, size % 2 ? "<f4" : "<i4", 1 + (int64_t)(size % 5), &rows, &array, error);
    free(array);
    return result;
}

static int one_csv(const uint8_t *data, size_t size, cz_error *error) {
    cz_golden golden = {.name = ""};
    int result = cz_requests_read("b", "a.csv", data, size, &golden, error);
    for (int64_t i = 0; i < golden.rows; i++)
        if (golden.requests[i].volume < 0 || golden.requests[i].volume >= golden.n_names[CZ_VOLUME])
            abort();
    cz_golden_free(&golden);
    return result;
}

static int one_forest(const uint8_t *data, size_t size, cz_error *error) {
    float row[CZ_MAX_FEATURES] = {0};
    cz_forest *forest = NULL;
    int features = 1 + (int)(size % 30), result = cz_forest_read(data, size, features, "a.lgb.txt", &forest, error);
    for (int value = -1; !result && value < 3; value++) {
        for (int i = 0; i < features; i++)
            row[i] = (float)value * (float)i;
        cz_forest_score(forest, row);
    }
    cz_forest_free(forest);
    return result;
}

static int one_tensors(const uint8_t *data, size_t size, cz_error *error) {
    cz_tensors *tensors;
    int result = cz_tensors_read(data, size, "a.safetensors", &tensors, error);
    if (!result)
        cz_tensors_get(tensors, "w");
    cz_tensors_free(tensors);
    return result;
}

static int one_table(const uint8_t *data, size_t size, cz_error *error) {
    cz_table *table;
    int result = cz_table_read(data, size, "a.bin", &table, error);
    for (uint64_t bit = 0; !result && bit < 64; bit++)
        for (uint64_t away = 0; away < 3; away++)
            if (cz_table_stream(table, ((uint64_t)1 << bit) - 1 + away) >= (int)cz_table_streams(table))
                abort();
    cz_table_free(table);
    return result;
}

static int one_release(const uint8_t *data, size_t size, cz_error *error) {
    cz_json_document *document = NULL;
    int result = cz_release_read(data, size, "release.json", &document, error);
    if (!result && cz_json_get(cz_json_root(document), "floor")->integer < 1)
        abort();
    cz_json_free(document);
    return result;
}

/* These refuse without a line, which their callers say. */
static int one_key(const uint8_t *data, size_t size, cz_error *error) {
    unsigned char point[32];
    (void)error;
    if (cz_key_parse(data, size, point) && size != CZ_KEY_BYTES)
        abort();
    return CZ_OK;
}

static int one_floor(const uint8_t *data, size_t size, cz_error *error) {
    int64_t floor;
    (void)error;
    if (cz_floor_parse(data, size, &floor) && (floor < 0 || floor >> 53))
        abort();
    return CZ_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static int (*const forms[])(const uint8_t *, size_t, cz_error *) = {
        one_json, one_npy, one_csv, one_forest, one_tensors, one_table, one_release, one_key, one_floor};
    cz_error error = {0};
    if (size == 0)
        return 0;
    /* libFuzzer hands over memory that ends with the input, so that no reader may look past it. */
    check_error(forms[data[0] % 9](data + 1, size - 1, &error), &error);
    return 0;
}
