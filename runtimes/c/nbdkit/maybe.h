/* A set of units by hash: a unit that was added is in it, and now and then one that was not. */
#ifndef CZ_MAYBE_H
#define CZ_MAYBE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define MAYBE_BITS 16

typedef struct maybe {
    bool any, all; /* anything is in it; everything is */
    uint64_t bits[(1 << MAYBE_BITS) / 64];
} maybe;

static inline uint64_t maybe_place(int64_t number) {
    return ((uint64_t)number * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - MAYBE_BITS);
}

static inline void maybe_clear(maybe *set) {
    if (set->any)
        memset(set, 0, sizeof *set);
}

static inline void maybe_add(maybe *set, int64_t number) {
    uint64_t place = maybe_place(number);
    set->any = true;
    set->bits[place / 64] |= UINT64_C(1) << (place % 64);
}

static inline void maybe_add_all(maybe *set) {
    set->any = set->all = true;
}

static inline bool maybe_holds(const maybe *set, int64_t number) {
    uint64_t place = maybe_place(number);
    return set->any && (set->all || (set->bits[place / 64] >> (place % 64)) & 1);
}

/* Everything in `more` as well. */
static inline void maybe_join(maybe *set, const maybe *more) {
    set->any = set->any || more->any;
    set->all = set->all || more->all;
    for (int k = 0; k < (1 << MAYBE_BITS) / 64; k++)
        set->bits[k] |= more->bits[k];
}

#endif
