/* Finds numbers that are not finite in weights, whatever the kind does with the file. */
#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "bundle.h"

static const char *const NUMBER_LINES[] = {"leaf_value=",      "threshold=",  "internal_value=", "leaf_weight=",
                                           "internal_weight=", "split_gain=", "shrinkage="};

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), size = strlen(end);
    return length >= size && strcmp(text + length - size, end) == 0;
}

static bool has_numbers(const char *line) {
    for (size_t i = 0; i < sizeof NUMBER_LINES / sizeof *NUMBER_LINES; i++)
        if (strncmp(line, NUMBER_LINES[i], strlen(NUMBER_LINES[i])) == 0)
            return true;
    return false;
}

/* A word that Python would read as a number that is not finite: inf, nan, with a sign and in any case. */
static bool spelled(const char *at) {
    at += *at == '+' || *at == '-';
    return (at[0] | 0x20) == 'i' || (at[0] | 0x20) == 'n';
}

/* 0 all finite, 1 one is not, -1 something else stands there. */
static int line_numbers(const char *at, const char *end) {
    for (at = strchr(at, '=') + 1;; ) {
        double value;
        at += strspn(at, " \t\r");
        if (at >= end || *at == '\n')
            return 0;
        if (spelled(at))
            return 1;
        if (!cz_decimal(at, &at, &value) || !strchr(" \t\r\n", *at))
            return -1;
        if (!isfinite(value))
            return 1;
    }
}

static int check_forest(const cz_file *file, const char *where, cz_error *error) {
    int state = 0;
    bool found = false;
    if (!cz_is_utf8(file->data, file->size) || memchr(file->data, 0, file->size))
        return cz_refuse(where, error, "export the bundle again", "%s is not readable (no UTF-8 text)", file->path);
    char *text = malloc(file->size + 1);
    if (!text)
        return cz_fail(error, CZ_NO_MEMORY, "%s: no memory to read %s", where, file->path);
    memcpy(text, file->data, file->size);
    text[file->size] = 0;
    for (const char *line = text; *line && !state;) {
        const char *end = strchrnul(line, '\n');
        if (has_numbers(line)) {
            found = true;
            state = line_numbers(line, end);
        }
        line = end + (*end == '\n');
    }
    free(text);
    if (state > 0)
        return cz_refuse(where, error, "train the model again", "%s holds weights that are not finite", file->path);
    if (state < 0 || !found)
        return cz_refuse(where, error, "export the bundle again", "%s is not readable (%s)", file->path,
                         found ? "a weight is no number" : "no tree in it");
    return CZ_OK;
}

int cz_check_weights(const cz_bundle *bundle, cz_error *error) {
    int result = CZ_OK;
    for (size_t i = 0; i < bundle->count && !result; i++) {
        const cz_file *file = &bundle->files[i];
        char place[400];
        if (ends_with(file->path, ".lgb.txt")) {
            result = check_forest(file, bundle->store.where, error);
        } else if (ends_with(file->path, ".safetensors")) {
            cz_tensors *tensors;
            snprintf(place, sizeof place, "%.180s: %.200s", bundle->store.where, file->path);
            result = cz_tensors_read(file->data, file->size, place, &tensors, error);
            cz_tensors_free(tensors);
        }
    }
    return result;
}
