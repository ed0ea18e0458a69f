/* The history behind the inputs, as sequence.c keeps it and sequence_state.c saves it. */
#ifndef CZ_SEQUENCE_STATE_H
#define CZ_SEQUENCE_STATE_H

#include "index.h"
#include "sequence.h"

#define CZ_MOST_PAGES ((int64_t)1 << 30)

typedef struct cz_page {
    int64_t last, uses, gap;
    double heat, long_heat;
    int32_t wrote;
} cz_page;

typedef struct cz_region {
    int64_t last; /* -1: never used */
    double heat;
} cz_region;

struct cz_sequence {
    cz_horizons horizons;
    cz_plain plain;
    int32_t max_pages, used; /* places of pages: [0, used) are taken */
    int32_t live;            /* pages of the last `window` page accesses */
    int32_t oldest_live;
    int64_t accesses;
    uint64_t forgotten;
    cz_page *pages;
    cz_index index;
    cz_rings order; /* one, from the newest page to the oldest */
    cz_region *regions;
};

void cz_sequence_clear(cz_sequence *sequence);

#endif
