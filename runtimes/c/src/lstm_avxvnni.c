/* The path of CPUs with AVX2 and AVX-VNNI. */
#if defined(__x86_64__)
#include <immintrin.h>

#define LANES 8
#include "lstm_body.h"

#define VNNI __m256i
#define SET _mm256_set1_epi32
#define DOT _mm256_dpbusd_avx_epi32
#include "lstm_vnni.h"

const cz_lstm_path cz_lstm_avxvnni = {LANES, {step32, step16, step8}};
#else
typedef int no_path; /* another type of CPU */
#endif
