/* The flash cache of Baleen: LRU over segments, or over blocks of them. Reads fill it, writes invalidate what they
 * overwrite and are not cached; a read that misses is one I/O from the first to the last missing segment, widened by what is prefetched.
 * Source: src/cachezoo/kernels/flash.py, which it equals request for request. */
#ifndef CZ_FLASH_H
#define CZ_FLASH_H

#include "internal.h"

#define CZ_BY_VERDICT (-1)

typedef struct cz_flash cz_flash;

typedef struct cz_flash_options {
    int64_t capacity;   /* segments, at least 1 */
    int64_t per_block;  /* segments to a block, at least 1 */
    int64_t max_units;  /* most segments of one request, at least 1 */
    int64_t window;     /* RejectX: requests within which a second miss admits; CZ_BY_VERDICT: the caller decides */
    int64_t max_misses; /* RejectX: misses remembered at most; the oldest is forgotten */
    bool by_block;      /* a read uses its blocks; the oldest segment of the oldest block is evicted */
} cz_flash_options;

/* What is decided about a read that misses. */
typedef struct cz_verdict {
    bool admit;        /* not read by RejectX */
    int32_t low, high; /* segments of the block of the request's first segment to fetch as well; none: low >= high */
    bool on_partial;   /* prefetch only where some of the request was resident */
} cz_verdict;

/* A mode of prefetching. */
enum cz_prefetching { CZ_NO_PREFETCH, CZ_ALL_ON_MISS, CZ_ALL_ON_PARTIAL, CZ_NEXT };
typedef struct cz_prefetch_mode {
    enum cz_prefetching kind;
    int64_t ahead; /* CZ_NEXT: segments */
} cz_prefetch_mode;

/* false where the text is no mode. */
bool cz_prefetch_parse(const char *text, cz_prefetch_mode *mode);
/* low, high and on_partial of a mode; `last` is the request's last segment counted from its block's start, and may lie
 * beyond the block. */
void cz_prefetch_plain(const cz_prefetch_mode *mode, int64_t last, int64_t per_block, cz_verdict *verdict);

int cz_flash_new(const cz_flash_options *options, cz_flash **flash, cz_error *error);
void cz_flash_free(cz_flash *flash);

/* The next request, over segments [first, first + count) of a volume: what is resident is used, or made invalid by a
 * write. Where it is a read and access->misses is above 0, cz_flash_fill must follow. CZ_BAD_CALL where count is not
 * in [1, max_units]. */
int cz_flash_look(cz_flash *flash, enum cz_op op, int32_t volume, int64_t first, int64_t count, cz_access *access);
/* Decide on what the read before missed. */
void cz_flash_fill(cz_flash *flash, const cz_verdict *verdict, cz_access *access);
/* Both at once, where the verdict does not wait for the miss. */
int cz_flash_access(cz_flash *flash, enum cz_op op, int32_t volume, int64_t first, int64_t count,
                    const cz_verdict *verdict, cz_access *access);
/* Segments leave without being a request. */
int cz_flash_drop(cz_flash *flash, int32_t volume, int64_t first, int64_t count, cz_access *access);
/* Before the first request: a segment that is resident already, used later than those put before it. */
int cz_flash_put(cz_flash *flash, int32_t volume, int64_t number, int32_t slot);
void cz_flash_stats(const cz_flash *flash, cz_counters *counters);

#endif
