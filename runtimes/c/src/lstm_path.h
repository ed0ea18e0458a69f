/* What lstm.c and its paths share. */
#ifndef CZ_LSTM_PATH_H
#define CZ_LSTM_PATH_H

#include <stdint.h>

/* Units are padded to this, so that every path works on two vectors of units at a time. */
#define CZ_UNIT_BLOCK 32
#define CZ_GATES 4 /* input, forget, cell, output, in this order */

/* Steps of int8 activations: x is about (128 * high + low) / CZ_INT8_ONE, high from -127 to 126, low from 0 to 127. */
#define CZ_INT8_ONE 16256

/* A layer's weights, packed for a path of L lanes: blocks of 2 L units, in each block a row for every input, and in
 * each row, vector by vector, the four gates of the first L units and those of the next. bf16 weights: a row
 * for every two inputs, the first in the lower half of a lane. int8 weights: blocks of L
 * units, in each a row for every four inputs, and in each row, gate by gate, four bytes to a lane. */
typedef struct cz_lstm_layer {
    int32_t inputs;         /* values that the layer sees: its own and its last hidden state */
    int32_t wide;           /* the first of them, whose weights are float32 in a layer of int8 ones */
    int32_t pairs, quads;   /* rows of bf16 weights, and of int8 weights */
    int32_t units;          /* padded */
    const float *weights32; /* fp32: all; int8: those of the wide ones */
    const uint32_t *weights16;
    const int8_t *weights8;
    const float *bias;
    const float *scales; /* of the int8 rows */
    const int32_t *sums; /* 128 times the sum of a row's int8 weights */
} cz_lstm_layer;

/* What a layer sees in one step. */
typedef struct cz_lstm_input {
    const float *values;       /* fp32, bf16: all, and a 0 after them; int8: the wide ones */
    const uint8_t *high, *low; /* int8: the others, high as 128 + high, padded to whole quads */
} cz_lstm_input;

typedef void cz_layer_step(const cz_lstm_layer *layer, const cz_lstm_input *input, float *cell, float *hidden);

/* By enum cz_precision. */
typedef struct cz_lstm_path {
    int32_t lanes;
    cz_layer_step *step[3];
} cz_lstm_path;

extern const cz_lstm_path cz_lstm_generic, cz_lstm_avx2, cz_lstm_avxvnni, cz_lstm_avx512;

#endif
