/* What is known of a page write when the drive gets it: inputs of the forests of kind streams. */
#ifndef CZ_LIFETIMES_H
#define CZ_LIFETIMES_H

#include "bytes.h"
#include "internal.h"

#define CZ_LIFETIME_INPUTS 21
#define CZ_LEAST_KEPT 64
#define CZ_MOST_KEPT (1 << 26)

typedef struct cz_lifetimes cz_lifetimes;

/* Remembers at most `pages` pages, a power of two from CZ_LEAST_KEPT to CZ_MOST_KEPT, a quarter as many chunks and a
 * sixteenth as many regions. All its memory is taken here. NULL where there is none. */
cz_lifetimes *cz_lifetimes_new(int64_t pages, int64_t half_life);
void cz_lifetimes_free(cz_lifetimes *own);

/* A write request by the pages that it touches. */
typedef struct cz_written {
    int64_t first, pages;
    float gap_us; /* since the write request before; -1 of the first */
} cz_written;

cz_written cz_lifetimes_begin(const cz_lifetimes *own, int64_t time_us, int64_t first, int64_t pages);
/* The inputs of a page of a request that is not counted yet. */
void cz_lifetimes_describe(const cz_lifetimes *own, const cz_written *written, int64_t page,
                           float row[CZ_LIFETIME_INPUTS]);
void cz_lifetimes_count(cz_lifetimes *own, const cz_written *written, int64_t time_us);

uint64_t cz_lifetimes_keys(const cz_lifetimes *own);
uint64_t cz_lifetimes_forgotten(const cz_lifetimes *own);
size_t cz_lifetimes_bytes(const cz_lifetimes *own);
void cz_lifetimes_save(const cz_lifetimes *own, cz_writer *out);
bool cz_lifetimes_restore(cz_lifetimes *own, cz_bytes *in); /* into a new one */

#endif
