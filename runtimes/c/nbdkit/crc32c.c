#include "crc32c.h"

#include <stdbool.h>
#include <string.h>

#define POLYNOMIAL UINT32_C(0x82F63B78) /* bits reversed */

static uint32_t by_bits(uint32_t crc, const unsigned char *at, size_t size) {
    for (; size > 0; size--) {
        crc ^= *at++;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (POLYNOMIAL & (0u - (crc & 1u)));
    }
    return crc;
}

#if defined(__x86_64__)
#include <nmmintrin.h>

__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t crc, const unsigned char *at, size_t size) {
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

static bool has_instruction(void) {
    return __builtin_cpu_supports("sse4.2");
}
#else
static uint32_t by_instruction(uint32_t crc, const unsigned char *at, size_t size) {
    return by_bits(crc, at, size);
}

static bool has_instruction(void) {
    return false;
}
#endif

uint32_t crc32c(uint32_t crc, const void *data, size_t size) {
    return ~(has_instruction() ? by_instruction : by_bits)(~crc, data, size);
}
