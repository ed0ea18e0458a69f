/* A model of kind caching, for the cache that it decides for. */
#ifndef CZ_CACHING_H
#define CZ_CACHING_H

#include "manager.h"
#include "sequence.h"

/* Rules of the model's own cache of so many pages. */
void cz_caching_rules(const void *model, int64_t capacity, cz_rules *rules);

/* A stream of a model that is fed its own tags observes only if its cache gives it the tags of every request. */
void cz_caching_join(cz_stream *stream);
void cz_caching_tell(cz_stream *stream, const float tags[CZ_N_TAGS]);

/* Whether another model may take over from the stream's: CZ_BAD_CALL, in one line, where its inputs, memory or network have
 * another shape, or it is fed its own tags. Its rules may differ. */
int cz_caching_may_follow(const cz_stream *stream, const void *model, cz_error *error);
/* Go on with the bundle's model, from a zero state. */
void cz_caching_go_on(cz_stream *stream, const cz_bundle *bundle, const void *model);
/* The raw inputs of the request that was observed last; and the queue that the model wants for a request with such inputs,
 * asked about it alone: from a zero state, which the stream has afterwards. */
void cz_caching_raw(const cz_stream *stream, float raw[CZ_N_RAW]);
int32_t cz_caching_alone(cz_stream *stream, const float raw[CZ_N_RAW]);

#endif
