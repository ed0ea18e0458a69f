/* SHA-256, FIPS 180-4. */
#include <stdio.h>
#include <string.h>

#include "internal.h"

static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turn(uint32_t value, int by) {
    return value >> by | value << (32 - by);
}

static void mix(uint32_t state[8], const unsigned char *block) {
    uint32_t w[64], s[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
               block[4 * i + 3];
    for (int i = 16; i < 64; i++)
        w[i] = w[i - 16] + (turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 7] +
               (turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10);
    memcpy(s, state, sizeof s);
    /* The standard's letters move from word to word, so that no word has to: h is word i, a the one after it. */
    for (unsigned i = 64; i-- > 0;) {
        unsigned round = 63 - i;
        uint32_t a = s[(i + 1) & 7], b = s[(i + 2) & 7], c = s[(i + 3) & 7], *d = &s[(i + 4) & 7], e = s[(i + 5) & 7],
                 f = s[(i + 6) & 7], g = s[(i + 7) & 7], *h = &s[i & 7];
        uint32_t one = *h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + K[round] + w[round];
        uint32_t two = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        *d += one;
        *h = one + two;
    }
    for (int i = 0; i < 8; i++)
        state[i] += s[i];
}

void cz_sha256_start(cz_sha256 *sum) {
    static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(sum->state, first, sizeof first);
    sum->size = 0;
}

void cz_sha256_add(cz_sha256 *sum, const void *data, size_t size) {
    const unsigned char *at = data;
    while (size > 0) {
        size_t held = sum->size % 64, step = 64 - held < size ? 64 - held : size;
        if (held == 0 && step == 64) {
            mix(sum->state, at);
        } else {
            memcpy(sum->block + held, at, step);
            if (held + step == 64)
                mix(sum->state, sum->block);
        }
        sum->size += step;
        at += step;
        size -= step;
    }
}

void cz_sha256_end(cz_sha256 *sum, char text[65]) {
    static const unsigned char padding[64] = {0x80};
    uint64_t bits = 8 * sum->size;
    unsigned char length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)(bits >> (56 - 8 * i));
    cz_sha256_add(sum, padding, 1 + (119 - sum->size % 64) % 64);
    cz_sha256_add(sum, length, sizeof length);
    for (int i = 0; i < 8; i++)
        snprintf(text + 8 * i, 9, "%08x", (unsigned)sum->state[i]);
}

void cz_sha256_of(const void *data, size_t size, char text[65]) {
    cz_sha256 sum;
    cz_sha256_start(&sum);
    cz_sha256_add(&sum, data, size);
    cz_sha256_end(&sum, text);
}
