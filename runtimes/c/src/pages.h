/* The page cache of a stream of kind caching, policy, reuse or virtual, as cz_cache serves it. */
#ifndef CZ_PAGES_H
#define CZ_PAGES_H

#include "internal.h"

typedef struct cz_pages cz_pages;

/* `max_request` bytes of one request at most. */
int cz_pages_new(const cz_cache_options *options, cz_stream *stream, enum cz_writes writes, int64_t max_request,
                 cz_pages **pages, cz_error *error);
void cz_pages_free(cz_pages *pages);
int cz_pages_access(cz_pages *pages, const cz_request *request, cz_access *access);
/* CZ_BAD_CALL of kind virtual, whose queue would have to forget the page too. */
int cz_pages_drop(cz_pages *pages, int32_t volume, int64_t offset, int64_t size, cz_access *access);
int cz_pages_put(cz_pages *pages, int32_t volume, int64_t number, int32_t slot); /* see cz_cache_put */
int cz_pages_follow(cz_pages *pages, cz_stream *monitor, const cz_bundle *const *bundles, int32_t count,
                    cz_error *error);
int cz_pages_following(const cz_pages *pages, cz_following *following); /* CZ_BAD_CALL where nothing is followed */
void cz_pages_stats(const cz_pages *pages, cz_counters *counters);

#endif
