/* What models of kinds caching and workload share: their inputs, their network, and who they are. */
#ifndef CZ_NETWORK_H
#define CZ_NETWORK_H

#include "lstm.h"

/* An input: a raw value less `shift`, cut to [low, high], less `mean`, over `scale`, cut to +- clip. */
typedef struct cz_input {
    int32_t column; /* of the raw values */
    bool relative;  /* log2 of the capacity is taken off */
    double mean, scale, low, high;
} cz_input;

/* A formula of an input, and its column. */
typedef struct cz_formula {
    const char *name;
    int32_t column;
    bool relative;
} cz_formula;

/* Read features [first, first + count) into inputs; their formulas are among `known`, which ends with a NULL name.
 * policy.ranges, where there are some, cut them. */
int cz_inputs_read(const cz_values *values, const char *where, const cz_formula *known, int32_t first, int32_t count,
                   cz_input *inputs, cz_error *error);

/* An input's value in float32. */
float cz_input_of(const cz_input *input, float raw, double log2_capacity, double clip);

/* The network of weights.safetensors, with as many layers and units as arch says. */
int cz_network_new(const cz_bundle *bundle, const cz_values *values, enum cz_precision precision, const cz_head *heads,
                   int32_t n_heads, cz_lstm **lstm, cz_error *error);

/* Number of features; CZ_BAD_BUNDLE where there are none or more than this library serves. */
int cz_features_count(const cz_values *values, const char *where, int32_t *count, cz_error *error);

/* Whether two lists of inputs read the same raw values. */
bool cz_inputs_same(const cz_input *one, const cz_input *other, int32_t count);

#endif
