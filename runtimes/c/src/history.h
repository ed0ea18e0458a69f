/* Inputs of models that look at the access history: admission and prefetch. */
#ifndef CZ_HISTORY_H
#define CZ_HISTORY_H

#include "history_keys.h"
#include "names.h"

typedef struct cz_history_model {
    int64_t segment_bytes, per_block, bucket_requests;
    bool by_block; /* a read of the cache behind uses its blocks whole */
    cz_windows windows;
    int32_t features;
    int32_t column[CZ_MAX_FEATURES];   /* place of each input among all that are computed */
    const cz_json *namespaces, *users; /* encodings, NULL where there is none */
} cz_history_model;

/* A stream of any such model. */
typedef struct cz_history {
    struct cz_stream stream;
    cz_keys *segments, *blocks;
    cz_codes volumes, namespaces, users; /* a volume's name replaces a namespace that is not given */
} cz_history;

int cz_history_read(const cz_bundle *bundle, const cz_values *values, cz_history_model *model, cz_error *error);

/* What kinds do with such streams: stream->model begins with a cz_history_model; see cz_kind_ops. */
int cz_history_new(const void *model, const cz_stream_options *options, cz_stream *stream, cz_error *error);
void cz_history_free(cz_stream *stream);
int cz_history_observe(cz_stream *stream, const cz_request *request, cz_ticket *ticket);
size_t cz_history_save(const cz_stream *stream, unsigned char *buffer);
int cz_history_restore(cz_stream *stream, const unsigned char *buffer, size_t size, cz_error *error);
int cz_history_may_swap(const void *from, const void *to, cz_error *error);
void cz_history_swapped(cz_stream *stream);
void cz_history_stats(const cz_stream *stream, cz_counters *counters);

#endif
