/* Kind policy: a whole page cache, composed of classics. */
#include <stdlib.h>

#include "policy_cache.h"

typedef struct policy_stream {
    cz_stream base;
    cz_composed *cache;
} policy_stream;

static void stream_free(cz_stream *stream) {
    policy_stream *own = (policy_stream *)stream;
    cz_policy_free(own->cache);
    own->cache = NULL;
}

static int stream_new(const void *model, const cz_stream_options *options, cz_stream *stream, cz_error *error) {
    return cz_policy_new(model, options->capacity, options->max_keys, &((policy_stream *)stream)->cache, error);
}

int cz_policy_access(cz_stream *stream, const cz_request *request, const cz_policy_page **pages, int64_t *n) {
    policy_stream *own = (policy_stream *)stream;
    *pages = own->cache->served;
    *n = 0;
    int result = cz_policy_serve(own->cache, request, n);
    stream->observed += result == CZ_OK;
    return result;
}

void cz_policy_set_writes(cz_stream *stream, enum cz_writes writes) {
    ((policy_stream *)stream)->cache->writes = writes;
}

int64_t cz_policy_ahead(const cz_stream *stream) {
    return ((const policy_stream *)stream)->cache->ahead;
}

int32_t cz_policy_turn(cz_stream *stream, int32_t volume, int64_t number) {
    return cz_policy_other(((policy_stream *)stream)->cache, volume, number);
}

int64_t cz_policy_resident(const cz_stream *stream) {
    return ((const policy_stream *)stream)->cache->n.resident;
}

bool cz_policy_put(cz_stream *stream, int32_t volume, int64_t number, int32_t slot) {
    return cz_policy_fill(((policy_stream *)stream)->cache, volume, number, slot);
}

/* The ticket shows nothing but the request: a classic has no inputs. */
static int observe(cz_stream *stream, const cz_request *request, cz_ticket *ticket) {
    const cz_policy_page *pages;
    int64_t n;
    *ticket = (cz_ticket){.number = stream->observed, .request = *request};
    return cz_policy_access(stream, request, &pages, &n);
}

/* The whole cache decides as it observes: cz_cache_access says what became of a request. */
static int decide(const cz_stream *stream, const cz_ticket *ticket, cz_decision *decision) {
    (void)stream;
    (void)ticket;
    (void)decision;
    return CZ_BAD_CALL;
}

static int may_swap(const void *from, const void *to, cz_error *error) {
    if (memcmp(from, to, sizeof(cz_policy_plan)) != 0)
        return cz_fail(error, CZ_BAD_CALL, "the other bundle is of another policy; begin with a new stream");
    return CZ_OK;
}

static void stats(const cz_stream *stream, cz_counters *counters) {
    cz_policy_counters(((const policy_stream *)stream)->cache, counters);
}

const cz_kind_ops cz_kind_policy = {
    .name = "policy",
    .kind = CZ_POLICY,
    .stream_bytes = sizeof(policy_stream),
    .model_new = cz_policy_model_new,
    .model_free = free,
    .stream_new = stream_new,
    .stream_free = stream_free,
    .observe = observe,
    .decide = decide,
    .remake = cz_policy_remake,
    .may_swap = may_swap,
    .stats = stats,
};
