/* The path of CPUs with AVX2. */
#if defined(__x86_64__)
#include <immintrin.h>

#define LANES 8
#include "lstm_body.h"

/* maddubs adds two products in 16 bits: 2 * 127 * 127 fit, what 128 + high gives would not. So high goes by its size,
 * and its sign to the weights. */
static inline __m256i dot(__m256i sum, __m256i size, __m256i weights) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(size, weights), _mm256_set1_epi16(1)));
}

static inline void int8_dots(const int8_t *weights, const cz_lstm_input *input, int32_t quads, const vi *sums128,
                             vi high[CZ_GATES], vi low[CZ_GATES]) {
    __m256i h0 = _mm256_setzero_si256(), h1 = h0, h2 = h0, h3 = h0, l0 = h0, l1 = h0, l2 = h0, l3 = h0;
    const __m256i *w = (const __m256i *)weights, offset = _mm256_set1_epi8((char)0x80);
    (void)sums128;
    for (int32_t k = 0; k < quads; k++, w += CZ_GATES) {
        int32_t four[2];
        memcpy(&four[0], input->high + 4 * k, 4);
        memcpy(&four[1], input->low + 4 * k, 4);
        __m256i x = _mm256_xor_si256(_mm256_set1_epi32(four[0]), offset), size = _mm256_abs_epi8(x);
        __m256i rest = _mm256_set1_epi32(four[1]);
        h0 = dot(h0, size, _mm256_sign_epi8(w[0], x)), l0 = dot(l0, rest, w[0]);
        h1 = dot(h1, size, _mm256_sign_epi8(w[1], x)), l1 = dot(l1, rest, w[1]);
        h2 = dot(h2, size, _mm256_sign_epi8(w[2], x)), l2 = dot(l2, rest, w[2]);
        h3 = dot(h3, size, _mm256_sign_epi8(w[3], x)), l3 = dot(l3, rest, w[3]);
    }
    high[0] = (vi)h0, high[1] = (vi)h1, high[2] = (vi)h2, high[3] = (vi)h3;
    low[0] = (vi)l0, low[1] = (vi)l1, low[2] = (vi)l2, low[3] = (vi)l3;
}

const cz_lstm_path cz_lstm_avx2 = {LANES, {step32, step16, step8}};
#else
typedef int no_path; /* another type of CPU */
#endif
