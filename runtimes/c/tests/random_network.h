/* Networks of drawn weights, by way of a safetensors file. A program that includes this defines REQUIRE. */
#ifndef CZ_RANDOM_NETWORK_H
#define CZ_RANDOM_NETWORK_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lstm.h"

typedef struct network {
    int32_t layers, units, inputs;
    unsigned char *file; /* safetensors */
    size_t size;
    cz_tensors *tensors;
    cz_lstm_shape shape;
} network;

static uint64_t seed = 88172645463325252u;

static float draw(float most) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (float)((double)(seed >> 11) / 4503599627370496.0 - 1.0) * most;
}

typedef struct writer {
    char header[8192];
    size_t length, floats;
    float *data;
} writer;

static void put(writer *out, const char *name, int32_t rows, int32_t columns, float most) {
    size_t count = (size_t)rows * (size_t)(columns ? columns : 1), start = out->floats * sizeof(float);
    out->data = realloc(out->data, (out->floats + count) * sizeof(float));
    REQUIRE(out->data);
    for (size_t i = 0; i < count; i++)
        out->data[out->floats++] = draw(most);
    char side[16] = "";
    if (columns)
        snprintf(side, sizeof side, ",%d", (int)columns);
    out->length += (size_t)snprintf(out->header + out->length, sizeof out->header - out->length,
                                    "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[%d%s],\"data_offsets\":[%zu,%zu]}",
                                    start ? "," : "{", name, (int)rows, side, start, out->floats * sizeof(float));
}

/* Keep the bits of every weight that stand in `mask`. */
static void cut(writer *out, uint32_t mask) {
    for (size_t i = 0; i < out->floats; i++) {
        uint32_t bits;
        memcpy(&bits, &out->data[i], sizeof bits);
        bits &= mask;
        memcpy(&out->data[i], &bits, sizeof bits);
    }
}

static network make_network(int32_t layers, int32_t units, int32_t inputs, uint32_t mask) {
    network made = {layers, units, inputs, NULL, 0, NULL, {layers, units, inputs, 2, {{"cached", 1}, {"duration", 3}}}};
    writer *out = calloc(1, sizeof *out);
    REQUIRE(out);
    put(out, "cached.bias", 1, 0, 0.5f);
    put(out, "cached.weight", 1, units, 0.5f);
    put(out, "duration.bias", 3, 0, 0.5f);
    put(out, "duration.weight", 3, units, 0.5f);
    for (int32_t k = 0; k < layers; k++) {
        static const char *const parts[] = {"bias_hh", "bias_ih", "weight_hh", "weight_ih"};
        const int32_t columns[] = {0, 0, units, k ? units : inputs};
        for (int i = 0; i < 4; i++) {
            char name[64];
            snprintf(name, sizeof name, "lstm.%s_l%d", parts[i], (int)k);
            put(out, name, 4 * units, columns[i], i < 2 ? 0.5f : 2.0f / sqrtf((float)columns[i]));
        }
    }
    cut(out, mask);
    out->header[out->length++] = '}';
    while (out->length % 8)
        out->header[out->length++] = ' ';
    uint64_t length = out->length;
    made.size = 8 + out->length + out->floats * sizeof(float);
    made.file = malloc(made.size);
    REQUIRE(made.file);
    memcpy(made.file, &length, 8);
    memcpy(made.file + 8, out->header, out->length);
    memcpy(made.file + 8 + out->length, out->data, out->floats * sizeof(float));
    cz_error error = {0};
    if (cz_tensors_read(made.file, made.size, "weights", &made.tensors, &error))
        fprintf(stderr, "%s\n", error.text);
    REQUIRE(made.tensors);
    free(out->data);
    free(out);
    return made;
}

static void drop_network(network *made) {
    cz_tensors_free(made->tensors);
    free(made->file);
}

#endif
