/* Models of kind caching that take turns in one cache: what is known of its resident pages, to ask another model about them.
 *
 * As src/cachezoo/zoo/caching/switching.py with requeue "alone": the model that takes over decides on the last request of
 * each page from a zero state, and its state is zero at the first request that it serves. */
#ifndef CZ_TURNS_H
#define CZ_TURNS_H

#include "caching.h"

typedef struct cz_turns cz_turns;

/* The stream is of kind caching and the monitor of kind workload; the bundles are of kind caching, each of another category
 * of the monitor's. */
int cz_turns_new(int64_t capacity, cz_stream *stream, cz_stream *monitor, const cz_bundle *const *bundles,
                 int32_t count, cz_turns **turns, cz_error *error);
void cz_turns_free(cz_turns *turns);
/* Before a request is served: another model may take over. */
int cz_turns_before(cz_turns *turns, const cz_request *request, cz_manager *manager);
/* After it was served: it is the last request of the pages that it has touched and that are resident, by their slots of the
 * manager; `stamp` page accesses came before it. */
void cz_turns_note(cz_turns *turns, const cz_manager *manager, const cz_unit *units, int64_t n, int64_t stamp);
/* A page was put into a slot before the first request: it is older than those of requests. */
void cz_turns_put(cz_turns *turns, int32_t slot);
void cz_turns_stats(const cz_turns *turns, cz_following *following);
size_t cz_turns_bytes(const cz_turns *turns);

#endif
