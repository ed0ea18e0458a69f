/* An LSTM's tensors, checked and packed for a path of the CPU. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lstm_net.h"

/* A layer's tensors: float32 [4 units, inputs], [4 units, units], [4 units] and [4 units]. */
typedef struct layer_tensors {
    const float *given, *own, *bias_given, *bias_own;
    int32_t width, units; /* values given to the layer; its units */
} layer_tensors;

static const cz_tensor *tensor(const cz_tensors *tensors, const char *name, int dims, int64_t rows, int64_t columns,
                               const char *where, cz_error *error) {
    const cz_tensor *found = cz_tensors_get(tensors, name);
    if (!found) {
        cz_fail(error, CZ_BAD_BUNDLE, "%s: has no tensor %s; export the bundle again", where, name);
        return NULL;
    }
    if (found->dims != dims || found->shape[0] != rows || (dims == 2 && found->shape[1] != columns)) {
        cz_fail(error, CZ_BAD_BUNDLE, "%s: tensor %s has another shape than model.json states; export the bundle again",
                where, name);
        return NULL;
    }
    return found;
}

static int layer_of(const cz_tensors *tensors, int32_t number, int32_t width, int32_t units, const char *where,
                    layer_tensors *layer, cz_error *error) {
    static const char *const names[] = {"weight_ih", "weight_hh", "bias_ih", "bias_hh"};
    const int64_t columns[] = {width, units, 0, 0};
    const float *data[4];
    for (int i = 0; i < 4; i++) {
        char name[64];
        snprintf(name, sizeof name, "lstm.%s_l%d", names[i], (int)number);
        const cz_tensor *found = tensor(tensors, name, i < 2 ? 2 : 1, 4 * (int64_t)units, columns[i], where, error);
        if (!found)
            return CZ_BAD_BUNDLE;
        data[i] = found->data;
    }
    *layer = (layer_tensors){data[0], data[1], data[2], data[3], width, units};
    return CZ_OK;
}

/* Weight of a gate's unit for an input; 0 for units and inputs that only fill up. */
static float weight(const layer_tensors *from, int gate, int32_t unit, int32_t input) {
    int64_t row = (int64_t)gate * from->units + unit;
    if (unit >= from->units || input >= from->width + from->units)
        return 0.0f;
    if (input < from->width)
        return from->given[row * from->width + input];
    return from->own[row * from->units + input - from->width];
}

static void *room(size_t count, size_t each, size_t *total) {
    size_t size = (count * each + 63) / 64 * 64;
    *total += size;
    void *made = aligned_alloc(64, size ? size : 64);
    if (made)
        memset(made, 0, size ? size : 64);
    return made;
}

/* Place of a unit's gate in a block of two vectors. */
static size_t in_block(int32_t lanes, int32_t unit, int gate) {
    int32_t within = unit % (2 * lanes);
    return (size_t)(((within / lanes) * CZ_GATES + gate) * lanes + within % lanes);
}

/* Place of a gate's unit and input in weights of `inputs` rows a block, and of what stands once a unit. */
static size_t at(int32_t lanes, int32_t inputs, int32_t unit, int gate, int32_t input) {
    size_t block = (size_t)(unit / (2 * lanes)) * (size_t)inputs + (size_t)input;
    return block * (size_t)(2 * CZ_GATES * lanes) + in_block(lanes, unit, gate);
}

/* The upper half of the float32 nearest to the value among those whose lower half is 0; halves go to the even one. */
static uint32_t bfloat(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

static void pack_wide(const layer_tensors *from, int32_t lanes, const cz_lstm_layer *to) {
    float *packed = (float *)to->weights32;
    for (int32_t unit = 0; unit < from->units; unit++)
        for (int gate = 0; gate < CZ_GATES; gate++)
            for (int32_t k = 0; k < to->wide; k++)
                packed[at(lanes, to->wide, unit, gate, k)] = weight(from, gate, unit, k);
}

static void pack_pairs(const layer_tensors *from, int32_t lanes, const cz_lstm_layer *to) {
    uint32_t *packed = (uint32_t *)to->weights16;
    for (int32_t unit = 0; unit < from->units; unit++)
        for (int gate = 0; gate < CZ_GATES; gate++)
            for (int32_t pair = 0; pair < to->pairs; pair++)
                packed[at(lanes, to->pairs, unit, gate, pair)] =
                    bfloat(weight(from, gate, unit, 2 * pair)) | bfloat(weight(from, gate, unit, 2 * pair + 1)) << 16;
}

static void pack_bytes(const layer_tensors *from, int32_t lanes, const cz_lstm_layer *to) {
    int8_t *bytes = (int8_t *)to->weights8;
    for (int32_t unit = 0; unit < from->units; unit++)
        for (int gate = 0; gate < CZ_GATES; gate++) {
            float most = 0;
            for (int32_t k = to->wide; k < to->inputs; k++)
                most = fmaxf(most, fabsf(weight(from, gate, unit, k)));
            float step = most > 0 ? most / 127.0f : 1.0f;
            int32_t sum = 0;
            size_t start = (size_t)(unit / lanes) * (size_t)to->quads, lane = (size_t)(gate * lanes + unit % lanes);
            for (int32_t k = to->wide; k < to->inputs; k++) {
                int32_t whole = (int32_t)lrintf(weight(from, gate, unit, k) / step), place = k - to->wide;
                size_t row = start + (size_t)(place / 4);
                bytes[(row * (size_t)(CZ_GATES * lanes) + lane) * 4 + (size_t)(place % 4)] = (int8_t)whole;
                sum += whole;
            }
            size_t once = at(lanes, 1, unit, gate, 0);
            ((float *)to->scales)[once] = step / (float)CZ_INT8_ONE;
            ((int32_t *)to->sums)[once] = 128 * sum;
        }
}

static bool rooms(cz_lstm *lstm, cz_lstm_layer *to) {
    size_t rows = (size_t)CZ_GATES * (size_t)lstm->padded, *total = &lstm->bytes;
    bool bytes = lstm->precision == CZ_INT8, half = lstm->precision == CZ_BF16;
    to->bias = room(rows, sizeof(float), total);
    to->weights32 = half ? NULL : room(rows * (size_t)to->wide, sizeof(float), total);
    to->weights16 = half ? room(rows * (size_t)to->pairs, sizeof(uint32_t), total) : NULL;
    to->weights8 = bytes ? room(rows * (size_t)to->quads, 4, total) : NULL;
    to->scales = bytes ? room(rows, sizeof(float), total) : NULL;
    to->sums = bytes ? room(rows, sizeof(int32_t), total) : NULL;
    bool weights = half ? to->weights16 != NULL : to->weights32 != NULL;
    return to->bias && weights && (!bytes || (to->weights8 && to->scales && to->sums));
}

static int pack(cz_lstm *lstm, const layer_tensors *from, int32_t number, cz_error *error) {
    cz_lstm_layer *to = &lstm->layer[number];
    int32_t lanes = lstm->path->lanes;
    to->inputs = from->width + from->units;
    to->units = lstm->padded;
    switch (lstm->precision) {
    case CZ_FP32:
        to->wide = to->inputs;
        break;
    case CZ_BF16:
        to->pairs = (to->inputs + 1) / 2;
        break;
    case CZ_INT8: /* what a network is fed may be of any size; hidden states lie between -1 and 1 */
        to->wide = number == 0 ? from->width : 0;
        to->quads = (from->units + (number == 0 ? 0 : from->width) + 3) / 4;
        break;
    }
    if (!rooms(lstm, to))
        return cz_fail(error, CZ_NO_MEMORY, "no memory for layer %d of a network", (int)number);
    for (int32_t unit = 0; unit < from->units; unit++)
        for (int gate = 0; gate < CZ_GATES; gate++) {
            int64_t row = (int64_t)gate * from->units + unit;
            ((float *)to->bias)[at(lanes, 1, unit, gate, 0)] = from->bias_given[row] + from->bias_own[row];
        }
    if (to->weights32)
        pack_wide(from, lanes, to);
    if (to->weights16)
        pack_pairs(from, lanes, to);
    if (to->weights8)
        pack_bytes(from, lanes, to);
    return CZ_OK;
}

static int pack_heads(cz_lstm *lstm, const cz_tensors *tensors, const cz_lstm_shape *shape, const char *where,
                      cz_error *error) {
    for (int32_t i = 0; i < shape->n_heads; i++)
        lstm->outputs += shape->heads[i].rows;
    size_t row_size = (size_t)lstm->units;
    lstm->heads = room((size_t)lstm->outputs * row_size, sizeof(float), &lstm->bytes);
    lstm->head_bias = room((size_t)lstm->outputs, sizeof(float), &lstm->bytes);
    if (!lstm->heads || !lstm->head_bias)
        return cz_fail(error, CZ_NO_MEMORY, "no memory for the heads of a network");
    size_t done = 0;
    for (int32_t i = 0; i < shape->n_heads; i++) {
        char name[64];
        int32_t rows = shape->heads[i].rows;
        snprintf(name, sizeof name, "%s.weight", shape->heads[i].name);
        const cz_tensor *weights = tensor(tensors, name, 2, rows, lstm->units, where, error);
        if (!weights)
            return CZ_BAD_BUNDLE;
        snprintf(name, sizeof name, "%s.bias", shape->heads[i].name);
        const cz_tensor *bias = tensor(tensors, name, 1, rows, 0, where, error);
        if (!bias)
            return CZ_BAD_BUNDLE;
        memcpy(lstm->heads + done * row_size, weights->data, sizeof(float) * (size_t)rows * row_size);
        memcpy(lstm->head_bias + done, bias->data, sizeof(float) * (size_t)rows);
        done += (size_t)rows;
    }
    return CZ_OK;
}

static int shape_fits(const cz_lstm_shape *shape, const char *where, cz_error *error) {
    if (shape->layers < 1 || shape->layers > CZ_LSTM_MOST_LAYERS || shape->units < 1 ||
        shape->units > CZ_LSTM_MOST_UNITS || shape->inputs < 1 || shape->inputs > CZ_MAX_FEATURES)
        return cz_fail(error, CZ_BAD_BUNDLE,
                       "%s: %d layers of %d units on %d inputs; this library runs up to %d of %d on %d", where,
                       (int)shape->layers, (int)shape->units, (int)shape->inputs, CZ_LSTM_MOST_LAYERS,
                       CZ_LSTM_MOST_UNITS, CZ_MAX_FEATURES);
    return CZ_OK;
}

int cz_lstm_new(const cz_tensors *tensors, const cz_lstm_shape *shape, enum cz_precision precision, enum cz_path path,
                const char *where, cz_lstm **lstm, cz_error *error) {
    int code = shape_fits(shape, where, error);
    if (code)
        return code;
    const cz_lstm_path *taken = cz_path_best(&path);
    if (!taken || precision < CZ_FP32 || precision > CZ_INT8)
        return cz_fail(error, CZ_BAD_CALL, "this CPU cannot run a network by %s in precision %d", cz_path_name(path),
                       (int)precision);
    cz_lstm *made = calloc(1, sizeof *made);
    if (!made)
        return cz_fail(error, CZ_NO_MEMORY, "%s: no memory for the network", where);
    made->layers = shape->layers, made->units = shape->units, made->inputs = shape->inputs;
    made->padded = (shape->units + CZ_UNIT_BLOCK - 1) / CZ_UNIT_BLOCK * CZ_UNIT_BLOCK;
    made->precision = precision, made->path = taken;
    for (int32_t k = 0; k < made->layers && !code; k++) {
        layer_tensors from;
        code = layer_of(tensors, k, k ? made->units : made->inputs, made->units, where, &from, error);
        if (!code)
            code = pack(made, &from, k, error);
    }
    if (!code)
        code = pack_heads(made, tensors, shape, where, error);
    if (code) {
        cz_lstm_free(made);
        return code;
    }
    *lstm = made;
    return CZ_OK;
}

void cz_lstm_free(cz_lstm *lstm) {
    if (!lstm)
        return;
    for (int32_t k = 0; k < lstm->layers; k++) {
        const cz_lstm_layer *layer = &lstm->layer[k];
        const void *parts[] = {layer->weights32, layer->weights16, layer->weights8,
                               layer->bias,      layer->scales,    layer->sums};
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
            free((void *)parts[i]);
    }
    free(lstm->heads);
    free(lstm->head_bias);
    free(lstm);
}
