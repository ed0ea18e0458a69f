/* A model of kind caching, for the cache that it decides for. */
#ifndef CZ_CACHING_H
#define CZ_CACHING_H

#include "manager.h"

/* Rules of the model's own cache of so many pages. */
void cz_caching_rules(const void *model, int64_t capacity, cz_rules *rules);

/* A stream of a model that is fed its own tags observes only if its cache gives it the tags of every request. */
void cz_caching_join(cz_stream *stream);
void cz_caching_tell(cz_stream *stream, const float tags[CZ_N_TAGS]);

#endif
