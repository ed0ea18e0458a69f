/* LSTMs: one step of all layers and the heads.
 *
 * Weights are packed once for the path that the CPU takes. Every path does the same operations in the same order on
 * each unit, and none fuses a product with a sum, so all paths give the same bits. */
#ifndef CZ_LSTM_H
#define CZ_LSTM_H

#include "internal.h"

#define CZ_LSTM_MOST_LAYERS 64
#define CZ_LSTM_MOST_UNITS 4096
#define CZ_LSTM_MOST_HEADS 4

enum cz_path { CZ_PATH_BEST = 0, CZ_PATH_GENERIC, CZ_PATH_AVX2, CZ_PATH_AVXVNNI, CZ_PATH_AVX512, CZ_N_PATHS };

typedef struct cz_head {
    const char *name; /* tensors <name>.weight and <name>.bias */
    int32_t rows;
} cz_head;

typedef struct cz_lstm_shape {
    int32_t layers, units, inputs, n_heads;
    cz_head heads[CZ_LSTM_MOST_HEADS];
} cz_lstm_shape;

typedef struct cz_lstm cz_lstm;
typedef struct cz_lstm_state cz_lstm_state;

/* Whether this CPU can take a path, and its name. */
bool cz_path_works(enum cz_path path);
const char *cz_path_name(enum cz_path path);

/* Pack the weights. `where` names the file in errors. */
int cz_lstm_new(const cz_tensors *tensors, const cz_lstm_shape *shape, enum cz_precision precision, enum cz_path path,
                const char *where, cz_lstm **lstm, cz_error *error);
void cz_lstm_free(cz_lstm *lstm);
size_t cz_lstm_bytes(const cz_lstm *lstm); /* of weights that a step reads */

/* Hidden and cell state of every layer, zero at first. It fits every network of the same layers and units. */
int cz_lstm_state_new(const cz_lstm *lstm, cz_lstm_state **state, cz_error *error);
void cz_lstm_state_free(cz_lstm_state *state);
void cz_lstm_state_zero(cz_lstm_state *state);
size_t cz_lstm_state_bytes(const cz_lstm_state *state); /* that save writes and load reads */
void cz_lstm_state_save(const cz_lstm_state *state, unsigned char *bytes);
/* False where they are no state: then it is zero. */
bool cz_lstm_state_load(cz_lstm_state *state, const unsigned char *bytes);

/* One step on `inputs` values, and the heads' logits after it. The state must be of a network of the same shape. */
void cz_lstm_step(const cz_lstm *lstm, cz_lstm_state *state, const float *inputs);
void cz_lstm_logits(const cz_lstm *lstm, const cz_lstm_state *state, float *logits);

/* 1 / (1 + e^-x); and e^x over the sum of them, in place. */
float cz_sigmoid(float x);
void cz_softmax(float *values, int32_t count);

#endif
