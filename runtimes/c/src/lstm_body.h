/* A layer's step on vectors of LANES floats, for each path in a file with its own flags. A file defines LANES, and
 * before it includes this, nothing else; after it, int8_dots for its path.
 *
 * Each lane is one unit. Sums run over the inputs in their order, whatever the lanes, and only +, -, * and / of float32
 * are used, each rounded once (-ffp-contract=off): so every path and every compiler gives the same bits. */
#include <string.h>

#include "lstm_path.h"

typedef float vf __attribute__((vector_size(4 * LANES), may_alias));
typedef int32_t vi __attribute__((vector_size(4 * LANES), may_alias));
typedef uint32_t vu __attribute__((vector_size(4 * LANES), may_alias));

/* The gates of 2 * LANES units before their functions. */
typedef struct sums {
    vf a[CZ_GATES], b[CZ_GATES];
} sums;

static inline vf below(vf x, float most) {
    vf limit = x * 0.0f + most;
    vi keep = x < limit;
    return (vf)((keep & (vi)x) | (~keep & (vi)limit));
}

/* e^x for x up to 80, and e^-80 for less: 2^n times a Taylor series of degree 7 on +-ln 2 / 2. */
static inline vf exponential(vf x) {
    const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds to a whole number */
    x = -below(-below(x, 80.0f), 80.0f);
    vf n = (x * 1.44269504f + magic) - magic;
    vf r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    vf p = r * (1.0f / 5040) + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    return p * (vf)((__builtin_convertvector(n, vi) + 127) << 23);
}

static inline vf sigmoid(vf x) {
    return 1.0f / (1.0f + exponential(-x));
}

static inline vf tangent(vf x) {
    return 1.0f - 2.0f / (1.0f + exponential(x * 2.0f));
}

static inline void finish(const vf gates[CZ_GATES], float *cell, float *hidden) {
    vf after = sigmoid(gates[1]) * *(const vf *)cell + sigmoid(gates[0]) * tangent(gates[2]);
    *(vf *)cell = after;
    *(vf *)hidden = sigmoid(gates[3]) * tangent(after);
}

static inline void finish_both(const sums *s, float *cell, float *hidden) {
    finish(s->a, cell, hidden);
    finish(s->b, cell + LANES, hidden + LANES);
}

static inline sums first(const vf *bias) {
    sums s = {{bias[0], bias[1], bias[2], bias[3]}, {bias[4], bias[5], bias[6], bias[7]}};
    return s;
}

static inline void add32(sums *s, const vf *w, const float *x, int32_t count) {
    vf a0 = s->a[0], a1 = s->a[1], a2 = s->a[2], a3 = s->a[3];
    vf b0 = s->b[0], b1 = s->b[1], b2 = s->b[2], b3 = s->b[3];
    for (int32_t k = 0; k < count; k++, w += 2 * CZ_GATES) {
        a0 += w[0] * x[k], a1 += w[1] * x[k], a2 += w[2] * x[k], a3 += w[3] * x[k];
        b0 += w[4] * x[k], b1 += w[5] * x[k], b2 += w[6] * x[k], b3 += w[7] * x[k];
    }
    *s = (sums){{a0, a1, a2, a3}, {b0, b1, b2, b3}};
}

/* The first of a lane's two bfloat16 weights, and the second. */
static inline vf lower(vu w) {
    return (vf)(w << 16);
}

static inline vf upper(vu w) {
    return (vf)(w & 0xffff0000u);
}

static inline void add16(sums *s, const vu *w, const float *x, int32_t pairs) {
    vf a0 = s->a[0], a1 = s->a[1], a2 = s->a[2], a3 = s->a[3];
    vf b0 = s->b[0], b1 = s->b[1], b2 = s->b[2], b3 = s->b[3];
    for (int32_t k = 0; k < pairs; k++, w += 2 * CZ_GATES, x += 2) {
        a0 += lower(w[0]) * x[0], a1 += lower(w[1]) * x[0], a2 += lower(w[2]) * x[0], a3 += lower(w[3]) * x[0];
        b0 += lower(w[4]) * x[0], b1 += lower(w[5]) * x[0], b2 += lower(w[6]) * x[0], b3 += lower(w[7]) * x[0];
        a0 += upper(w[0]) * x[1], a1 += upper(w[1]) * x[1], a2 += upper(w[2]) * x[1], a3 += upper(w[3]) * x[1];
        b0 += upper(w[4]) * x[1], b1 += upper(w[5]) * x[1], b2 += upper(w[6]) * x[1], b3 += upper(w[7]) * x[1];
    }
    *s = (sums){{a0, a1, a2, a3}, {b0, b1, b2, b3}};
}

static void step32(const cz_lstm_layer *layer, const cz_lstm_input *input, float *cell, float *hidden) {
    const vf *w = (const vf *)layer->weights32, *bias = (const vf *)layer->bias;
    for (int32_t u = 0; u < layer->units; u += 2 * LANES, bias += 2 * CZ_GATES) {
        sums s = first(bias);
        add32(&s, w, input->values, layer->inputs);
        w += (int64_t)2 * CZ_GATES * layer->inputs;
        finish_both(&s, cell + u, hidden + u);
    }
}

static void step16(const cz_lstm_layer *layer, const cz_lstm_input *input, float *cell, float *hidden) {
    const vu *w = (const vu *)layer->weights16;
    const vf *bias = (const vf *)layer->bias;
    for (int32_t u = 0; u < layer->units; u += 2 * LANES, bias += 2 * CZ_GATES) {
        sums s = first(bias);
        add16(&s, w, input->values, layer->pairs);
        w += (int64_t)2 * CZ_GATES * layer->pairs;
        finish_both(&s, cell + u, hidden + u);
    }
}

/* Sums of four gates of LANES units over rows of four inputs, of their high and low parts. */
static inline void int8_dots(const int8_t *weights, const cz_lstm_input *input, int32_t quads, const vi *sums128,
                             vi high[CZ_GATES], vi low[CZ_GATES]);

static inline void add8(vf gates[CZ_GATES], const int8_t *weights, const cz_lstm_input *input, int32_t quads,
                        const vf *scales, const vi *sums128) {
    vi high[CZ_GATES], low[CZ_GATES];
    int8_dots(weights, input, quads, sums128, high, low);
    for (int g = 0; g < CZ_GATES; g++) {
        vf whole = __builtin_convertvector(high[g], vf), part = __builtin_convertvector(low[g], vf);
        gates[g] += (whole * 128.0f + part) * scales[g];
    }
}

static void step8(const cz_lstm_layer *layer, const cz_lstm_input *input, float *cell, float *hidden) {
    const vf *wide = (const vf *)layer->weights32, *bias = (const vf *)layer->bias;
    const vf *scales = (const vf *)layer->scales;
    const vi *sums128 = (const vi *)layer->sums;
    const int8_t *w = layer->weights8;
    const int64_t block = (int64_t)4 * CZ_GATES * LANES * layer->quads;
    for (int32_t u = 0; u < layer->units; u += 2 * LANES) {
        sums s = first(bias);
        add32(&s, wide, input->values, layer->wide);
        add8(s.a, w, input, layer->quads, scales, sums128);
        add8(s.b, w + block, input, layer->quads, scales + CZ_GATES, sums128 + CZ_GATES);
        wide += (int64_t)2 * CZ_GATES * layer->wide;
        w += 2 * block;
        bias += 2 * CZ_GATES, scales += 2 * CZ_GATES, sums128 += 2 * CZ_GATES;
        finish_both(&s, cell + u, hidden + u);
    }
}
