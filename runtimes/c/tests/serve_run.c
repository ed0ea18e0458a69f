/* Requests through a bundle of kind caching or workload: serve_run BUNDLE PRECISION CAPACITY CACHE [STATE EVERY]
 *
 * From stdin int64[n][5]: time_us, op, offset, size, volume. To stdout a row each: float32 features and outputs, then
 * int32 decision (queue or category), hits, victims and dirty victims. CACHE is 1 where the model's own cache serves
 * them, 0 where a stream alone decides. Every so many requests it goes on from the state saved in STATE. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachezoo.h"

static int fail(const char *what, const cz_error *error) {
    fprintf(stderr, "%s: %s\n", what, error->text);
    return 1;
}

static int put(const cz_info *info, const cz_ticket *ticket, const int32_t decisions[4]) {
    float outputs[CZ_MAX_OUTPUTS];
    for (int i = 0; i < info->outputs; i++)
        outputs[i] = (float)ticket->output[i];
    return fwrite(ticket->row, sizeof(float), (size_t)info->features, stdout) == (size_t)info->features &&
           fwrite(outputs, sizeof(float), (size_t)info->outputs, stdout) == (size_t)info->outputs &&
           fwrite(decisions, sizeof(int32_t), 4, stdout) == 4;
}

static int serve(cz_cache *cache, const cz_request *request, int32_t decisions[4]) {
    cz_access access;
    int code = cz_cache_access(cache, request, &access);
    if (code)
        return code;
    decisions[0] = access.asked ? access.decision.queue : -1;
    decisions[1] = access.hits;
    decisions[2] = access.evicted;
    for (int64_t i = 0; i < access.n_victims; i++)
        decisions[3] += access.victims[i].dirty;
    return CZ_OK;
}

/* Save the stream, and go on from the state read back: a new one, or the same where a cache holds it. */
static int go_on(const cz_bundle *bundle, const cz_stream_options *options, const char *state, bool same,
                 cz_stream **stream) {
    cz_error error;
    int code = cz_save(*stream, state, &error);
    if (!same) {
        cz_stream_free(*stream);
        *stream = NULL;
        if (!code)
            code = cz_stream_new(bundle, options, stream, &error);
    }
    if (!code)
        code = cz_restore(*stream, state, &error);
    return code ? fail("state", &error) : CZ_OK;
}

static int step(cz_stream *stream, cz_cache *cache, const cz_info *info, const int64_t row[5]) {
    cz_request request = {.time_us = row[0],
                          .offset = row[2],
                          .size = row[3],
                          .volume = (int32_t)row[4],
                          .name_space = CZ_UNKNOWN,
                          .user = CZ_UNKNOWN,
                          .flags = CZ_UNKNOWN,
                          .op = (uint8_t)row[1]};
    cz_ticket ticket = {0};
    cz_decision decision;
    int32_t decisions[4] = {0};
    int code = cache ? serve(cache, &request, decisions) : cz_observe(stream, &request, &ticket);
    if (!cache && !code && !(code = cz_decide(stream, &ticket, &decision)))
        decisions[0] = info->kind == CZ_CACHING ? decision.queue : decision.category;
    return code ? code : put(info, &ticket, decisions) ? CZ_OK : CZ_IO;
}
int main(int count, char **arguments) {
    cz_error error = {0};
    cz_bundle *bundle;
    cz_stream *streams[2] = {NULL, NULL};
    cz_cache *cache = NULL;
    cz_info info;
    if (count != 5 && count != 7)
        return fail("usage", &(cz_error){.text = "serve_run BUNDLE PRECISION CAPACITY CACHE"});
    int64_t capacity = atoll(arguments[3]);
    if (cz_open(arguments[1], (enum cz_precision)atoi(arguments[2]), &bundle, &error))
        return fail("open", &error);
    cz_bundle_info(bundle, &info);
    cz_stream_options options = {.capacity = capacity};
    if (cz_stream_new(bundle, &options, &streams[0], &error))
        return fail("stream", &error);
    cz_cache_options served = {.mode = CZ_MODEL, .capacity = capacity, .max_request = (int64_t)1 << 30};
    if (atoi(arguments[4]) && cz_cache_new(&served, streams, &cache, &error))
        return fail("cache", &error);
    int64_t row[5], every = count == 7 ? atoll(arguments[6]) : 0;
    int code = CZ_OK;
    for (int64_t done = 0; !code && fread(row, sizeof *row, 5, stdin) == 5; done++) {
        if (every && done && done % every == 0)
            code = go_on(bundle, &options, arguments[5], cache, &streams[0]);
        if (!code)
            code = step(streams[0], cache, &info, row);
    }
    cz_cache_free(cache);
    cz_stream_free(streams[0]);
    cz_close(bundle);
    return code ? fail("request", &(cz_error){.text = "was refused"}) : 0;
}
