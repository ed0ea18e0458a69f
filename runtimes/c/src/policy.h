/* Kind policy: a cache composed of the simulator's classics, as its text says: [admission+]eviction[+prefetch]. */
#ifndef CZ_POLICY_H
#define CZ_POLICY_H

#include "internal.h"

enum { CZ_PART_ADMISSION, CZ_PART_EVICTION, CZ_PART_PREFETCH, CZ_PARTS };
enum { CZ_MOST_VALUES = 4, CZ_MOST_POLICY_TEXT = 256 };
enum { CZ_ACCEPT_ALL, CZ_COIN_FLIP, CZ_REJECT_X };
enum {
    CZ_EVICT_ARC,
    CZ_EVICT_CLOCK,
    CZ_EVICT_FIFO,
    CZ_EVICT_INLFU,
    CZ_EVICT_LARC,
    CZ_EVICT_LFU,
    CZ_EVICT_LIRS,
    CZ_EVICT_LRU,
    CZ_EVICT_S3FIFO,
    CZ_EVICT_SIEVE,
    CZ_EVICT_TWOQ,
    CZ_EVICT_WTINYLFU
};
enum { CZ_PREFETCH_NONE, CZ_PREFETCH_NEXT };

/* A composition that was read: its three components, with all their values, in the simulator's order. */
typedef struct cz_policy_plan {
    double values[CZ_PARTS][CZ_MOST_VALUES];
    int32_t component[CZ_PARTS], zero;
} cz_policy_plan;

/* The grammar, names, defaults and ranges of src/cachezoo/policies/spec.py; CZ_BAD_CALL, in one line, where the text is no
 * composition, or one that this library does not run. */
int cz_policy_parse(const char *text, cz_policy_plan *plan, cz_error *error);
/* The canonical text, as the simulator writes it; returns its length, and writes what there is room for, and a 0. */
size_t cz_policy_text(const cz_policy_plan *plan, char *buffer, size_t room);
const char *cz_policy_name(const cz_policy_plan *plan, int part);
/* The i-th parameter of a component; false past the last. */
bool cz_policy_value(const cz_policy_plan *plan, int part, int i, const char **name, double *value);

/* Kind's own part of a bundle: model.json, golden sets. */
int cz_policy_model_new(const cz_bundle *bundle, const cz_values *values, enum cz_precision precision, void **model,
                        cz_error *error);
int cz_policy_remake(const cz_bundle *bundle, const void *model, const cz_golden *golden, cz_remade *remade,
                     cz_error *error);

/* ---- the page cache of a stream of kind policy ---- */

#define CZ_POLICY_PAGE_BYTES 4096
#define CZ_POLICY_MOST_PAGES 16385 /* of a request: 64 MiB, wherever it begins */

/* What became of an access: of a page of a request, or of one that is to be prefetched with it. */
typedef struct cz_policy_page {
    int64_t number, victim_number; /* of the page in its volume: byte offset / 4096 */
    int32_t volume, victim_volume; /* the victim was evicted for this page; -1: none was */
    int32_t slot;                  /* of the cache, in [0, capacity); -1 where the page was bypassed */
    int32_t void_slot;             /* of what the cache held of the page until this write went around it; -1: nothing */
    uint8_t outcome;               /* 0 bypassed, 1 admitted, 2 hit, 3 prefetched */
    uint8_t victim_dirty;          /* must be written to the disk */
    uint8_t victim_void;           /* it was no longer what the disk holds: its slot was void before */
} cz_policy_page;

/* Serve a request: CZ_BAD_CALL where it has more than CZ_POLICY_MOST_PAGES. `pages` is valid until the next call: those of
 * the request, by rising address, then those that the prefetch names, fetched or not. */
int cz_policy_access(cz_stream *stream, const cz_request *request, const cz_policy_page **pages, int64_t *n);
void cz_policy_set_writes(cz_stream *stream, enum cz_writes writes); /* before the first request; else back */
int64_t cz_policy_ahead(const cz_stream *stream);                    /* pages that one request prefetches at most */
/* The page becomes another one; returns the slot that is void now, -1 where it was not resident. */
int32_t cz_policy_turn(cz_stream *stream, int32_t volume, int64_t number);
int64_t cz_policy_resident(const cz_stream *stream); /* pages that have a slot, also what was overwritten */
/* Before the first request: admit a page, as a read, into a free slot; false where it is not taken. */
bool cz_policy_put(cz_stream *stream, int32_t volume, int64_t number, int32_t slot);

#endif
