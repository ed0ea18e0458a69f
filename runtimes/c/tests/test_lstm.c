/* LSTM steps: every path gives the same bits, and they are those of an LSTM. */
#include "test.h"

#include "random_network.h"

#define MOST_UNITS 256
#define MOST_INPUTS 20
#define STEPS 40

/* ---- the same in double ---- */

static double sigmoid(double x) {
    return 1.0 / (1.0 + exp(-x));
}

static const float *data_of(const network *of, const char *name, int32_t layer) {
    char full[64];
    snprintf(full, sizeof full, "lstm.%s_l%d", name, (int)layer);
    return cz_tensors_get(of->tensors, full)->data;
}

static void step_double(const network *of, const double *x, double h[][MOST_UNITS], double c[][MOST_UNITS]) {
    int32_t units = of->units, width = of->inputs;
    for (int32_t layer = 0; layer < of->layers; layer++) {
        const float *given = data_of(of, "weight_ih", layer), *own = data_of(of, "weight_hh", layer);
        const float *one = data_of(of, "bias_ih", layer), *two = data_of(of, "bias_hh", layer);
        double gates[4][MOST_UNITS], after[MOST_UNITS];
        for (int32_t row = 0; row < 4 * units; row++) {
            double sum = (double)one[row] + (double)two[row];
            for (int32_t k = 0; k < width; k++)
                sum += (double)given[(size_t)row * (size_t)width + (size_t)k] * x[k];
            for (int32_t k = 0; k < units; k++)
                sum += (double)own[(size_t)row * (size_t)units + (size_t)k] * h[layer][k];
            gates[row / units][row % units] = sum;
        }
        for (int32_t u = 0; u < units; u++) {
            c[layer][u] = sigmoid(gates[1][u]) * c[layer][u] + sigmoid(gates[0][u]) * tanh(gates[2][u]);
            after[u] = sigmoid(gates[3][u]) * tanh(c[layer][u]);
        }
        memcpy(h[layer], after, sizeof after);
        x = h[layer], width = units;
    }
}

static void logits_double(const network *of, const double *hidden, double logits[4]) {
    const float *bias[] = {cz_tensors_get(of->tensors, "cached.bias")->data,
                           cz_tensors_get(of->tensors, "duration.bias")->data};
    const float *weights[] = {cz_tensors_get(of->tensors, "cached.weight")->data,
                              cz_tensors_get(of->tensors, "duration.weight")->data};
    for (int row = 0; row < 4; row++) {
        int head = row > 0, place = row > 0 ? row - 1 : 0;
        logits[row] = (double)bias[head][place];
        for (int32_t k = 0; k < of->units; k++)
            logits[row] += (double)weights[head][place * of->units + k] * hidden[k];
    }
}

/* ---- tests ---- */

static cz_lstm *packed(const network *of, enum cz_precision precision, enum cz_path path) {
    cz_lstm *lstm = NULL;
    cz_error error = {0};
    if (cz_lstm_new(of->tensors, &of->shape, precision, path, "weights", &lstm, &error))
        fprintf(stderr, "%s\n", error.text);
    REQUIRE(lstm);
    return lstm;
}

/* All logits of a run. */
static void run(const network *of, enum cz_precision precision, enum cz_path path, float logits[STEPS][4]) {
    cz_lstm *lstm = packed(of, precision, path);
    cz_lstm_state *state = NULL;
    REQUIRE(cz_lstm_state_new(lstm, &state, NULL) == CZ_OK);
    seed = 12345;
    for (int i = 0; i < STEPS; i++) {
        float x[MOST_INPUTS];
        for (int k = 0; k < of->inputs; k++)
            x[k] = draw(6.0f);
        cz_lstm_step(lstm, state, x);
        cz_lstm_logits(lstm, state, logits[i]);
    }
    cz_lstm_state_free(state);
    cz_lstm_free(lstm);
}

static double worst_of(const network *of, float logits[STEPS][4]) {
    double h[4][MOST_UNITS] = {{0}}, c[4][MOST_UNITS] = {{0}}, worst = 0;
    seed = 12345;
    for (int i = 0; i < STEPS; i++) {
        double x[MOST_INPUTS], want[4];
        for (int k = 0; k < of->inputs; k++)
            x[k] = (double)draw(6.0f);
        step_double(of, x, h, c);
        logits_double(of, h[of->layers - 1], want);
        for (int k = 0; k < 4; k++)
            worst = fmax(worst, fabs(want[k] - (double)logits[i][k]));
    }
    return worst;
}

static void paths_agree(int32_t layers, int32_t units, int32_t inputs) {
    static const double limits[] = {1e-5, 0.1, 0.3};
    static float first[STEPS][4], other[STEPS][4];
    network of = make_network(layers, units, inputs, UINT32_MAX);
    for (int precision = CZ_FP32; precision <= CZ_INT8; precision++) {
        run(&of, (enum cz_precision)precision, CZ_PATH_GENERIC, first);
        double worst = worst_of(&of, first);
        if (!(worst <= limits[precision]))
            fprintf(stderr, "%dx%d: off by %g\n", (int)layers, (int)units, worst);
        CHECK(worst <= limits[precision]);
        for (int path = CZ_PATH_AVX2; path < CZ_N_PATHS; path++) {
            if (!cz_path_works((enum cz_path)path))
                continue;
            run(&of, (enum cz_precision)precision, (enum cz_path)path, other);
            if (memcmp(first, other, sizeof first) != 0)
                fprintf(stderr, "%dx%d, precision %d, %s\n", (int)layers, (int)units, precision,
                        cz_path_name((enum cz_path)path));
            CHECK(memcmp(first, other, sizeof first) == 0);
        }
    }
    drop_network(&of);
}

/* Weights that bfloat16 holds give the bits of float32. */
static void bfloat_is_float_where_it_can(void) {
    static float wide[STEPS][4], half[STEPS][4];
    network of = make_network(2, 24, 7, 0xffff0000u);
    run(&of, CZ_FP32, CZ_PATH_BEST, wide);
    run(&of, CZ_BF16, CZ_PATH_BEST, half);
    CHECK(memcmp(wide, half, sizeof wide) == 0);
    drop_network(&of);
}

static void states_are_kept(void) {
    network of = make_network(2, 21, 5, UINT32_MAX);
    cz_lstm *lstm = packed(&of, CZ_FP32, CZ_PATH_BEST);
    cz_lstm_state *one = NULL, *two = NULL;
    REQUIRE(cz_lstm_state_new(lstm, &one, NULL) == CZ_OK && cz_lstm_state_new(lstm, &two, NULL) == CZ_OK);
    float x[5] = {1, -2, 3, 0, 6}, a[4], b[4];
    for (int i = 0; i < 5; i++)
        cz_lstm_step(lstm, one, x);
    unsigned char *bytes = malloc(cz_lstm_state_bytes(one));
    REQUIRE(bytes);
    cz_lstm_state_save(one, bytes);
    CHECK(cz_lstm_state_load(two, bytes));
    cz_lstm_step(lstm, one, x), cz_lstm_step(lstm, two, x);
    cz_lstm_logits(lstm, one, a), cz_lstm_logits(lstm, two, b);
    CHECK(memcmp(a, b, sizeof a) == 0);
    float beyond = 1.5f;
    memcpy(bytes, &beyond, sizeof beyond); /* no hidden state is above 1 */
    CHECK(!cz_lstm_state_load(two, bytes));
    cz_lstm_state_zero(one);
    cz_lstm_step(lstm, one, x), cz_lstm_step(lstm, two, x);
    cz_lstm_logits(lstm, one, a), cz_lstm_logits(lstm, two, b);
    CHECK(memcmp(a, b, sizeof a) == 0);
    free(bytes);
    cz_lstm_state_free(one);
    cz_lstm_state_free(two);
    cz_lstm_free(lstm);
    drop_network(&of);
}

static void wrong_shapes_are_refused(void) {
    network of = make_network(2, 8, 4, UINT32_MAX);
    cz_lstm *lstm = NULL;
    cz_error error;
    cz_lstm_shape shape = of.shape;
    shape.layers = 3;
    CHECK(cz_lstm_new(of.tensors, &shape, CZ_FP32, CZ_PATH_BEST, "here", &lstm, &error) == CZ_BAD_BUNDLE);
    CHECK(strstr(error.text, "here: has no tensor lstm.weight_ih_l2"));
    shape = of.shape, shape.units = 16;
    CHECK(cz_lstm_new(of.tensors, &shape, CZ_FP32, CZ_PATH_BEST, "here", &lstm, &error) == CZ_BAD_BUNDLE);
    CHECK(strstr(error.text, "lstm.weight_ih_l0 has another shape"));
    shape = of.shape, shape.heads[1].rows = 4;
    CHECK(cz_lstm_new(of.tensors, &shape, CZ_FP32, CZ_PATH_BEST, "here", &lstm, &error) == CZ_BAD_BUNDLE);
    shape = of.shape, shape.units = 1 << 20;
    CHECK(cz_lstm_new(of.tensors, &shape, CZ_FP32, CZ_PATH_BEST, "here", &lstm, &error) == CZ_BAD_BUNDLE);
    CHECK(strstr(error.text, "this library runs up to"));
    CHECK(lstm == NULL);
    drop_network(&of);
}

static void probabilities(void) {
    float values[3] = {1000.0f, 999.0f, -1000.0f};
    cz_softmax(values, 3);
    CHECK(fabsf(values[0] - 0.73105858f) < 1e-7f && values[2] == 0.0f);
    CHECK(cz_sigmoid(0.0f) == 0.5f && cz_sigmoid(-1000.0f) == 0.0f && cz_sigmoid(1000.0f) == 1.0f);
}

int main(void) {
    paths_agree(1, 1, 1);
    paths_agree(2, 33, 5);
    paths_agree(2, 64, 16);
    paths_agree(3, 256, 20);
    bfloat_is_float_where_it_can();
    states_are_kept();
    wrong_shapes_are_refused();
    probabilities();
    return TEST_END();
}
