/* What a step of an LSTM with its heads costs, by shape, precision and path, with weights that are drawn:
 *
 *     bench_lstm [LAYERS UNITS INPUTS]
 *
 * Median and p99 of steps timed one by one, the clock's own time (about 20 ns) and what else runs among them. */
#include <time.h>

#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "bench_lstm: not so: %s\n", #condition);                                                   \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)
#include "../tests/random_network.h"
#include "measured.h"

#define STEPS 20000

static double now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static void time_steps(const network *of, enum cz_precision precision, enum cz_path path) {
    static const char *const names[] = {"fp32", "bf16", "int8"};
    static double taken[STEPS];
    cz_lstm *lstm = NULL;
    cz_lstm_state *state = NULL;
    int64_t steps = path == CZ_PATH_GENERIC ? STEPS / 10 : STEPS;
    REQUIRE(cz_lstm_new(of->tensors, &of->shape, precision, path, "weights", &lstm, NULL) == CZ_OK);
    REQUIRE(cz_lstm_state_new(lstm, &state, NULL) == CZ_OK);
    for (int64_t i = 0; i < steps; i++) {
        float x[CZ_MAX_FEATURES], logits[4];
        for (int32_t k = 0; k < of->inputs; k++)
            x[k] = draw(3.0f);
        double begun = now_us();
        cz_lstm_step(lstm, state, x);
        cz_lstm_logits(lstm, state, logits);
        taken[i] = now_us() - begun;
    }
    qsort(taken, (size_t)steps, sizeof *taken, rising);
    printf("%dx%d %s %-8s %10zu %9.2f %9.2f\n", (int)of->layers, (int)of->units, names[precision], cz_path_name(path),
           cz_lstm_bytes(lstm), taken[steps / 2], taken[steps * 99 / 100]);
    fflush(stdout);
    cz_lstm_state_free(state);
    cz_lstm_free(lstm);
}

static void time_shape(int32_t layers, int32_t units, int32_t inputs) {
    network of = make_network(layers, units, inputs, UINT32_MAX);
    for (int precision = CZ_FP32; precision <= CZ_INT8; precision++)
        for (int path = CZ_PATH_GENERIC; path < CZ_N_PATHS; path++)
            if (cz_path_works((enum cz_path)path))
                time_steps(&of, (enum cz_precision)precision, (enum cz_path)path);
    drop_network(&of);
}

int main(int count, char **arguments) {
    printf("shape precision path weights/bytes median/us p99/us\n");
    if (count == 4) {
        time_shape(atoi(arguments[1]), atoi(arguments[2]), atoi(arguments[3]));
        return 0;
    }
    time_shape(2, 64, 16);  /* the zoo's caching models */
    time_shape(3, 256, 20); /* RC-RNN's, with the tags that it is fed */
    return 0;
}
