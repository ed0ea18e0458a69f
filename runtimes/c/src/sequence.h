/* Inputs of the LSTMs: what a request is, and what its pages and its region did before it.
 *
 * float64 as in src/cachezoo/kernels/sequence.py, rounded to float32 where that rounds, so that all bits are equal. */
#ifndef CZ_SEQUENCE_H
#define CZ_SEQUENCE_H

#include "internal.h"

#define CZ_PAGE_BYTES 4096

/* Columns; those from CZ_RATIO on hang on the capacity. */
enum cz_raw {
    CZ_GAP = 0,
    CZ_DELTA,
    CZ_ADDRESS,
    CZ_SIZE,
    CZ_OP,
    CZ_RUN,
    CZ_AGE,
    CZ_FRESH,
    CZ_COUNT,
    CZ_PAST_GAP,
    CZ_WRITTEN,
    CZ_REGION_AGE,
    CZ_RATIO,
    CZ_HEAT,
    CZ_LONG_HEAT,
    CZ_REGION_HEAT,
    CZ_N_RAW
};

/* The previous request, for columns CZ_GAP to CZ_RUN. */
typedef struct cz_plain {
    int64_t time_us, end, run;
    bool begun;
} cz_plain;

void cz_plain_step(cz_plain *plain, const cz_request *request, float raw[CZ_N_RAW]);

/* What is remembered, and for how long: policy.memory, and the cache's capacity in pages. */
typedef struct cz_horizons {
    int64_t memory, window, region_bytes, capacity;
    int region_bits;
} cz_horizons;

typedef struct cz_sequence cz_sequence;

/* Remembers the pages of the last `memory` or `window` page accesses, at most max_pages of them: then the one used
 * longest ago is forgotten early, and counted. */
int cz_sequence_new(const cz_horizons *horizons, int64_t max_pages, cz_sequence **sequence, cz_error *error);
void cz_sequence_free(cz_sequence *sequence);

/* Fill a request's raw inputs and make it part of the history. */
void cz_sequence_step(cz_sequence *sequence, const cz_request *request, float raw[CZ_N_RAW]);

void cz_sequence_stats(const cz_sequence *sequence, cz_counters *counters); /* keys, forgotten and bytes */
size_t cz_sequence_save(const cz_sequence *sequence, unsigned char *buffer);
/* False where the bytes are no state of such horizons and so many pages; the sequence is then as good as new. */
bool cz_sequence_restore(cz_sequence *sequence, const unsigned char *buffer, size_t size);

/* Whether a request lies within what a disk can have, and is no longer than a request can be. */
bool cz_request_fits(const cz_request *request);

#endif
