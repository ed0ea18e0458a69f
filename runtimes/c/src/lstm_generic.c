/* The path of any CPU. */
#define LANES 4
#include "lstm_body.h"

static inline void int8_dots(const int8_t *weights, const cz_lstm_input *input, int32_t quads, const vi *sums128,
                             vi high[CZ_GATES], vi low[CZ_GATES]) {
    int32_t sums_high[CZ_GATES * LANES] = {0}, sums_low[CZ_GATES * LANES] = {0};
    for (int32_t k = 0; k < quads; k++, weights += 4 * CZ_GATES * LANES)
        for (int lane = 0; lane < CZ_GATES * LANES; lane++)
            for (int i = 0; i < 4; i++) {
                sums_high[lane] += weights[4 * lane + i] * input->high[4 * k + i];
                sums_low[lane] += weights[4 * lane + i] * input->low[4 * k + i];
            }
    memcpy(high, sums_high, sizeof sums_high);
    memcpy(low, sums_low, sizeof sums_low);
    for (int g = 0; g < CZ_GATES; g++)
        high[g] -= sums128[g];
}

const cz_lstm_path cz_lstm_generic = {LANES, {step32, step16, step8}};
