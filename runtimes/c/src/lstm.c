/* One step of an LSTM and its heads; the layers' arithmetic is in lstm_body.h, the packing in lstm_pack.c. */
#include "lstm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "lstm_net.h"

struct cz_lstm_state {
    int32_t layers, units, padded;
    float *hidden, *cell; /* layers * padded each */
};

#if defined(__x86_64__)
static bool has_avxvnni(void) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __builtin_cpu_supports("avx2") && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 4 & 1);
}

static bool has_avx512(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vnni");
}

static const cz_lstm_path *path_of(enum cz_path path) {
    switch (path) {
    case CZ_PATH_GENERIC:
        return &cz_lstm_generic;
    case CZ_PATH_AVX2:
        return __builtin_cpu_supports("avx2") ? &cz_lstm_avx2 : NULL;
    case CZ_PATH_AVXVNNI:
        return has_avxvnni() ? &cz_lstm_avxvnni : NULL;
    case CZ_PATH_AVX512:
        return has_avx512() ? &cz_lstm_avx512 : NULL;
    default:
        return NULL;
    }
}
#else
static const cz_lstm_path *path_of(enum cz_path path) {
    return path == CZ_PATH_GENERIC ? &cz_lstm_generic : NULL;
}
#endif

bool cz_path_works(enum cz_path path) {
    return path == CZ_PATH_BEST || path_of(path) != NULL;
}

const char *cz_path_name(enum cz_path path) {
    static const char *const names[CZ_N_PATHS] = {"best", "generic", "avx2", "avx_vnni", "avx512"};
    return path >= 0 && path < CZ_N_PATHS ? names[path] : "unknown";
}

const cz_lstm_path *cz_path_best(enum cz_path *path) {
    if (*path == CZ_PATH_BEST) {
        *path = CZ_PATH_AVX512;
        while (!path_of(*path))
            *path = (enum cz_path)(*path - 1);
    }
    return path_of(*path);
}

size_t cz_lstm_bytes(const cz_lstm *lstm) {
    return lstm->bytes;
}

int cz_lstm_state_new(const cz_lstm *lstm, cz_lstm_state **state, cz_error *error) {
    cz_lstm_state *made = calloc(1, sizeof *made);
    if (!made)
        return cz_fail(error, CZ_NO_MEMORY, "no memory for the state of a network");
    made->layers = lstm->layers, made->units = lstm->units, made->padded = lstm->padded;
    size_t size = sizeof(float) * (size_t)made->layers * (size_t)made->padded;
    made->hidden = aligned_alloc(64, size);
    made->cell = aligned_alloc(64, size);
    if (!made->hidden || !made->cell) {
        cz_lstm_state_free(made);
        return cz_fail(error, CZ_NO_MEMORY, "no memory for the state of a network of %d units", lstm->units);
    }
    cz_lstm_state_zero(made);
    *state = made;
    return CZ_OK;
}

void cz_lstm_state_free(cz_lstm_state *state) {
    if (!state)
        return;
    free(state->hidden);
    free(state->cell);
    free(state);
}

void cz_lstm_state_zero(cz_lstm_state *state) {
    size_t size = sizeof(float) * (size_t)state->layers * (size_t)state->padded;
    memset(state->hidden, 0, size);
    memset(state->cell, 0, size);
}

size_t cz_lstm_state_bytes(const cz_lstm_state *state) {
    return sizeof(float) * 2 * (size_t)state->layers * (size_t)state->units;
}

void cz_lstm_state_save(const cz_lstm_state *state, unsigned char *bytes) {
    size_t size = sizeof(float) * (size_t)state->units;
    for (int32_t layer = 0; layer < state->layers; layer++, bytes += 2 * size) {
        size_t from = (size_t)layer * (size_t)state->padded;
        memcpy(bytes, state->hidden + from, size);
        memcpy(bytes + size, state->cell + from, size);
    }
}

bool cz_lstm_state_load(cz_lstm_state *state, const unsigned char *bytes) {
    size_t size = sizeof(float) * (size_t)state->units;
    bool whole = true;
    for (int32_t layer = 0; layer < state->layers; layer++, bytes += 2 * size) {
        float *hidden = state->hidden + (size_t)layer * (size_t)state->padded;
        float *cell = state->cell + (size_t)layer * (size_t)state->padded;
        memcpy(hidden, bytes, size);
        memcpy(cell, bytes + size, size);
        for (int32_t i = 0; i < state->units; i++)
            whole = whole && fabsf(hidden[i]) <= 1.0f && isfinite(cell[i]);
    }
    if (!whole)
        cz_lstm_state_zero(state);
    return whole;
}

/* Values of magnitude up to 1 as two bytes each, see CZ_INT8_ONE, and room to a whole quad. */
static void in_bytes(const float *values, int32_t count, uint8_t *high, uint8_t *low) {
    for (int32_t i = 0; i < count; i++) {
        int32_t whole = (int32_t)lrintf(values[i] * (float)CZ_INT8_ONE);
        high[i] = (uint8_t)((whole >> 7) + 128);
        low[i] = (uint8_t)(whole & 127);
    }
    memset(high + count, 0, 4);
    memset(low + count, 0, 4);
}

void cz_lstm_step(const cz_lstm *lstm, cz_lstm_state *state, const float *inputs) {
    float values[CZ_LSTM_MOST_WIDTH + 1];
    uint8_t high[CZ_LSTM_MOST_WIDTH + 4], low[CZ_LSTM_MOST_WIDTH + 4];
    size_t own = sizeof(float) * (size_t)lstm->units;
    const float *below = inputs;
    int32_t width = lstm->inputs;
    for (int32_t k = 0; k < lstm->layers; k++) {
        const cz_lstm_layer *layer = &lstm->layer[k];
        float *hidden = state->hidden + (size_t)k * (size_t)state->padded;
        memcpy(values, below, sizeof(float) * (size_t)width);
        memcpy(values + width, hidden, own);
        values[layer->inputs] = 0.0f;
        int32_t bytes = layer->inputs - layer->wide;
        if (layer->quads)
            in_bytes(values + layer->wide, bytes, high, low);
        cz_lstm_input input = {values, high, low};
        lstm->path->step[lstm->precision](layer, &input, state->cell + (size_t)k * (size_t)state->padded, hidden);
        below = hidden, width = lstm->units;
    }
}

void cz_lstm_logits(const cz_lstm *lstm, const cz_lstm_state *state, float *logits) {
    const float *hidden = state->hidden + (size_t)(lstm->layers - 1) * (size_t)state->padded, *w = lstm->heads;
    for (int32_t row = 0; row < lstm->outputs; row++, w += lstm->units) {
        float sums[4] = {0};
        int32_t k = 0;
        for (; k + 4 <= lstm->units; k += 4)
            for (int i = 0; i < 4; i++)
                sums[i] += w[k + i] * hidden[k + i];
        for (; k < lstm->units; k++)
            sums[0] += w[k] * hidden[k];
        logits[row] = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + lstm->head_bias[row];
    }
}

float cz_sigmoid(float x) {
    return (float)(1.0 / (1.0 + exp(-(double)x)));
}

void cz_softmax(float *values, int32_t count) {
    float most = values[0];
    for (int32_t i = 1; i < count; i++)
        most = values[i] > most ? values[i] : most;
    double parts[CZ_MAX_OUTPUTS], sum = 0;
    for (int32_t i = 0; i < count; i++)
        sum += parts[i] = exp((double)values[i] - (double)most);
    for (int32_t i = 0; i < count; i++)
        values[i] = (float)(parts[i] / sum);
}
