/* What the benchmarks share: draws that are the same each time, the clock, and the order of what was taken. */
#ifndef CZ_MEASURED_H
#define CZ_MEASURED_H

#include <malloc.h>
#include <math.h>
#include <stdint.h>
#include <time.h>

static inline uint64_t drawn(void) {
    static uint64_t state = 88172645463325252ULL;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}

static inline double now_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* For qsort. */
static inline int rising(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Zipf's law by its integral: rank r has about r^-0.9 of the references. */
static inline uint64_t zipf(uint64_t pages) {
    double rank = pow(1 + (double)(drawn() >> 11) * 0x1p-53 * (pow((double)pages, 0.1) - 1), 10);
    return ((uint64_t)rank * UINT64_C(0x9E3779B97F4A7C15)) >> 20;
}

/* Bytes that are allocated now. */
static inline size_t held_bytes(void) {
    struct mallinfo2 now = mallinfo2();
    return now.uordblks + now.hblkhd;
}

#endif
