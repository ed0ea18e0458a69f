/* A packed network, as lstm_pack.c makes it and lstm.c runs it. */
#ifndef CZ_LSTM_NET_H
#define CZ_LSTM_NET_H

#include "lstm.h"
#include "lstm_path.h"

#define CZ_LSTM_MOST_WIDTH (2 * CZ_LSTM_MOST_UNITS + CZ_MAX_FEATURES)

struct cz_lstm {
    int32_t layers, units, padded, inputs, outputs;
    enum cz_precision precision;
    const cz_lstm_path *path;
    size_t bytes;
    cz_lstm_layer layer[CZ_LSTM_MOST_LAYERS];
    float *heads, *head_bias;
};

/* The path that is named, or the best one of this CPU, named in *path; NULL where the CPU cannot take it. */
const cz_lstm_path *cz_path_best(enum cz_path *path);

#endif
