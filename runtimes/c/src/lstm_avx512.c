/* The path of CPUs with AVX-512 F, BW, DQ, VL and VNNI. */
#if defined(__x86_64__)
#include <immintrin.h>

#define LANES 16
#include "lstm_body.h"

#define VNNI __m512i
#define SET _mm512_set1_epi32
#define DOT _mm512_dpbusd_epi32
#include "lstm_vnni.h"

const cz_lstm_path cz_lstm_avx512 = {LANES, {step32, step16, step8}};
#else
typedef int no_path; /* another type of CPU */
#endif
