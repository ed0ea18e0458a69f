/* The page cache of a stream of kind reuse, for cz_cache. */
#ifndef CZ_REUSE_H
#define CZ_REUSE_H

#include "internal.h"

#define CZ_REUSE_PAGE_BYTES 4096
#define CZ_REUSE_MOST_PAGES 16384 /* of a request: 64 MiB */

/* What became of a page of a request, in rising address. */
typedef struct cz_reuse_page {
    int64_t number, victim_number; /* of the page in its volume: byte offset / 4096 */
    int32_t volume, victim_volume; /* the victim was evicted for this page; -1: none was */
    int32_t slot;                  /* of the cache, in [0, capacity); -1 where the page was bypassed */
    int32_t victim_id;             /* number by first appearance, -1: none */
    uint8_t outcome;               /* 0 bypassed, 1 admitted, 2 hit */
    uint8_t leader;                /* 0 the forest's cache, k the k-th of policy.experts */
    uint8_t victim_dirty;          /* written while it was cached: must be written to the disk */
} cz_reuse_page;

/* Serve a request: CZ_BAD_CALL where it is larger than CZ_REUSE_MOST_PAGES. `pages` is valid until the next call. */
int cz_reuse_access(cz_stream *stream, const cz_request *request, const cz_reuse_page **pages, int64_t *n);
/* The page becomes another one, of which nothing is known; what the cache held of it takes up room until it is evicted, which
 * then names no victim. Returns the slot that is void now, -1 where it was not resident. */
int32_t cz_reuse_turn(cz_stream *stream, int32_t volume, int64_t number);
int64_t cz_reuse_capacity(const cz_stream *stream);

#endif
