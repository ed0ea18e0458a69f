/* CRC-32C three ways: by eight tables; by carry-less multiplication of 16 bytes; and of 64.
 *
 * The last two keep four remainders of the data read so far, each of it at another distance from the end. A remainder R
 * before D more bits is R * x^D; the product of its 64-bit halves with x^(D + 64) and x^D modulo the polynomial is
 * congruent to that and fits 128 bits again. At the end the four become one, which is taken for data. The instruction
 * for CRC-32C does that and what is left. (V. Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ
 * Instruction", Intel, 2009, section "Folding"; the constants are computed at the start, by our own derivation below.) */
#include "crc32c.h"

#include <string.h>

#define POLYNOMIAL UINT32_C(0x82F63B78) /* bits reversed */
#define TABLES 8

static uint32_t tables[TABLES][256]; /* of a byte with 0 to 7 bytes after it */

static void make_tables(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (POLYNOMIAL & (0u - (crc & 1u)));
        tables[0][byte] = crc;
    }
    for (int table = 1; table < TABLES; table++) {
        for (uint32_t byte = 0; byte < 256; byte++) {
            uint32_t before = tables[table - 1][byte];
            tables[table][byte] = (before >> 8) ^ tables[0][before & 255];
        }
    }
}

static uint32_t by_tables(uint32_t crc, const unsigned char *at, size_t size) {
    for (; size >= TABLES; size -= TABLES, at += TABLES) {
        uint32_t next = 0;
        for (int k = 0; k < 4; k++)
            next ^= tables[7 - k][at[k] ^ ((crc >> (8 * k)) & 255u)] ^ tables[3 - k][at[k + 4]];
        crc = next;
    }
    for (; size > 0; size--)
        crc = (crc >> 8) ^ tables[0][(crc ^ *at++) & 255u];
    return crc;
}

#if defined(__x86_64__)
#include <immintrin.h>

#define SCALAR __attribute__((target("sse4.2")))
#define NARROW __attribute__((target("sse4.2,pclmul")))
#define WIDE __attribute__((target("sse4.2,pclmul,avx512f,avx512vl,avx512bw,avx512dq,vpclmulqdq")))
#define LANES 4 /* remainders, and 16-byte parts of a 64-byte register */

/* Factors of the two halves of 16 bytes that 16, 64 and 256 more bytes follow. */
static struct factors {
    uint64_t first, second;
} past_16, past_64, past_256;

/* With bits reversed, the product of two 64-bit halves is x times what the 128 bits stand for, and a 32-bit factor in the
 * low half stands for x^32 times itself: for x^n it is x^(n - 33) modulo the polynomial. */
static uint64_t factor(unsigned n) {
    uint32_t power = UINT32_C(1) << 31; /* x^0 */
    for (unsigned k = 0; k < n - 33; k++)
        power = (power >> 1) ^ (POLYNOMIAL & (0u - (power & 1u)));
    return power;
}

static struct factors factors_of(unsigned bytes) {
    return (struct factors){factor(8 * bytes + 64), factor(8 * bytes)};
}

SCALAR static uint32_t by_instruction(uint32_t crc, const unsigned char *at, size_t size) {
    uint64_t wide = crc;
    for (; size >= 8; size -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        wide = _mm_crc32_u64(wide, word);
    }
    crc = (uint32_t)wide;
    for (; size > 0; size--)
        crc = _mm_crc32_u8(crc, *at++);
    return crc;
}

NARROW static inline __m128i fold(__m128i rest, __m128i by, __m128i next) {
    __m128i moved = _mm_xor_si128(_mm_clmulepi64_si128(rest, by, 0x00), _mm_clmulepi64_si128(rest, by, 0x11));
    return _mm_xor_si128(moved, next);
}

NARROW static inline __m128i load_factors(const struct factors *by) {
    return _mm_set_epi64x((int64_t)by->second, (int64_t)by->first);
}

NARROW static uint32_t by_pclmul(uint32_t crc, const unsigned char *at, size_t size) {
    const size_t step = LANES * sizeof(__m128i);
    if (size < 2 * step)
        return by_instruction(crc, at, size);
    __m128i rest[LANES], by = load_factors(&past_64);
    for (int k = 0; k < LANES; k++)
        rest[k] = _mm_loadu_si128((const __m128i *)at + k);
    rest[0] = _mm_xor_si128(rest[0], _mm_cvtsi32_si128((int)crc));
    for (at += step, size -= step; size >= step; at += step, size -= step) {
        for (int k = 0; k < LANES; k++)
            rest[k] = fold(rest[k], by, _mm_loadu_si128((const __m128i *)at + k));
    }
    by = load_factors(&past_16);
    for (int k = 1; k < LANES; k++)
        rest[k] = fold(rest[k - 1], by, rest[k]);
    unsigned char last[sizeof(__m128i)];
    _mm_storeu_si128((__m128i *)last, rest[LANES - 1]);
    return by_instruction(by_instruction(0, last, sizeof last), at, size);
}

WIDE static inline __m512i fold_wide(__m512i rest, __m512i by, __m512i next) {
    return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(rest, by, 0x00), _mm512_clmulepi64_epi128(rest, by, 0x11),
                                     next, 0x96);
}

WIDE static uint32_t by_avx512(uint32_t crc, const unsigned char *at, size_t size) {
    const size_t step = LANES * sizeof(__m512i);
    if (size < 2 * step)
        return by_pclmul(crc, at, size);
    __m512i rest[LANES], by = _mm512_broadcast_i32x4(load_factors(&past_256));
    for (int k = 0; k < LANES; k++)
        rest[k] = _mm512_loadu_si512(at + (size_t)k * sizeof(__m512i));
    rest[0] = _mm512_xor_si512(rest[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)crc)));
    for (at += step, size -= step; size >= step; at += step, size -= step) {
        for (int k = 0; k < LANES; k++)
            rest[k] = fold_wide(rest[k], by, _mm512_loadu_si512(at + (size_t)k * sizeof(__m512i)));
    }
    by = _mm512_broadcast_i32x4(load_factors(&past_64));
    for (int k = 1; k < LANES; k++)
        rest[k] = fold_wide(rest[k - 1], by, rest[k]);
    unsigned char last[sizeof(__m512i)];
    _mm512_storeu_si512(last, rest[LANES - 1]);
    return by_instruction(by_instruction(0, last, sizeof last), at, size);
}

static bool has(enum crc32c_path path) {
    bool pclmul = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
    if (path != CRC32C_AVX512)
        return path == CRC32C_TABLES || pclmul;
    return pclmul && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("vpclmulqdq");
}

static void make_factors(void) {
    past_16 = factors_of(16);
    past_64 = factors_of(64);
    past_256 = factors_of(256);
}
#else
#define by_pclmul by_tables
#define by_avx512 by_tables

static bool has(enum crc32c_path path) {
    return path == CRC32C_TABLES;
}

static void make_factors(void) {
}
#endif

typedef uint32_t (*way)(uint32_t crc, const unsigned char *at, size_t size);

static const way ways[CRC32C_PATHS] = {by_tables, by_pclmul, by_avx512};
static way best;

__attribute__((constructor)) static void choose(void) {
    make_tables();
    make_factors();
    for (int path = 0; path < CRC32C_PATHS; path++) {
        if (has((enum crc32c_path)path))
            best = ways[path];
    }
}

bool crc32c_works(enum crc32c_path path) {
    return has(path);
}

uint32_t crc32c_by(enum crc32c_path path, uint32_t crc, const void *data, size_t size) {
    return ~ways[path](~crc, data, size);
}

uint32_t crc32c(uint32_t crc, const void *data, size_t size) {
    return ~best(~crc, data, size);
}
