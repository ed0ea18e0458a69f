/* Caches of models: what their streams' bundles say is what they do, also after cz_swap. */
#include <sys/stat.h>
#include <unistd.h>

#include "changed.h"

#define ADMISSION "tests/golden/protocol2/admission.database.lgbm"
#define CACHING "tests/golden/protocol2/caching.database.lstm1x8"
#define REQUESTS 3000

static cz_error error;

static cz_bundle *changed(const char *path, const char *text, const char *with) {
    cz_bundle *bundle;
    int result = open_changed(path, text, with, &bundle, &error);
    if (result)
        fprintf(stderr, "%s\n", error.text);
    REQUIRE(result == CZ_OK);
    return bundle;
}

static cz_stream *new_stream(const cz_bundle *bundle) {
    cz_stream_options options = {.max_keys = 4096, .max_names = 8, .capacity = 300};
    cz_stream *stream;
    REQUIRE(cz_stream_new(bundle, &options, &stream, &error) == CZ_OK);
    REQUIRE(cz_intern(stream, CZ_VOLUME, "vda") == 0);
    return stream;
}

static cz_cache *new_cache(cz_stream *stream, const char *prefetch) {
    cz_cache_options options = {.mode = CZ_MODEL, .capacity = 300, .prefetch = prefetch};
    cz_stream *streams[2] = {stream, NULL};
    cz_cache *cache;
    REQUIRE(cz_cache_new(&options, streams, &cache, &error) == CZ_OK);
    return cache;
}

static void serve(cz_cache *cache, int64_t i, uint8_t op, cz_access *access) {
    uint64_t drawn = (uint64_t)i * UINT64_C(0x9E3779B97F4A7C15) >> 32;
    cz_request request = {.time_us = i,
                          .offset = (int64_t)(drawn % (1 + (uint64_t)i % 97 * 9)) * 4096,
                          .size = 1 + (int64_t)(drawn >> 8) % 90000,
                          .name_space = CZ_UNKNOWN,
                          .user = CZ_UNKNOWN,
                          .flags = CZ_UNKNOWN,
                          .op = op};
    REQUIRE(cz_cache_access(cache, &request, access) == CZ_OK);
}

static bool same(const cz_access *one, const cz_access *other) {
    return one->hits == other->hits && one->written == other->written && one->prefetched == other->prefetched &&
           one->evicted == other->evicted && one->asked == other->asked &&
           one->decision.admit == other->decision.admit && one->n_units == other->n_units;
}

/* Serve a history of writes, which leave a flash cache empty; then swap, and go on beside a cache of the new bundle
 * that saw the same. Returns how often the old bundle would have decided otherwise. */
static int swapped_and_fresh(const char *text, const char *with, const char *prefetch) {
    cz_bundle *old = changed(ADMISSION, NULL, NULL), *bundle = changed(ADMISSION, text, with);
    cz_bundle *stays = changed(ADMISSION, NULL, NULL);
    cz_stream *streams[3] = {new_stream(old), new_stream(bundle), new_stream(stays)};
    cz_cache *caches[3];
    cz_access access[3];
    int otherwise = 0;
    for (int k = 0; k < 3; k++)
        caches[k] = new_cache(streams[k], prefetch);
    for (int64_t i = 0; i < 500; i++)
        for (int k = 0; k < 3; k++)
            serve(caches[k], i, CZ_WRITE, &access[k]);
    REQUIRE(cz_swap(streams[0], bundle, &error) == CZ_OK);
    cz_close(old);
    for (int64_t i = 500; i < REQUESTS; i++) {
        for (int k = 0; k < 3; k++)
            serve(caches[k], i, i % 4 == 0, &access[k]);
        CHECK(same(&access[0], &access[1]));
        otherwise += !same(&access[0], &access[2]);
    }
    for (int k = 0; k < 3; k++) {
        cz_cache_free(caches[k]);
        cz_stream_free(streams[k]);
    }
    cz_close(bundle);
    cz_close(stays);
    return otherwise;
}

static void test_a_cache_follows_its_swapped_stream(void) {
    CHECK(swapped_and_fresh("\"threshold\": -1.4322657585144043", "\"threshold\": 0.75", "none") > 50);
    CHECK(swapped_and_fresh("\"mode\": \"next(16)\"", "\"mode\": \"all_on_miss\"", NULL) > 50);
    CHECK(swapped_and_fresh("\"mode\": \"next(16)\"", "\"mode\": \"next(8)\"", "next(16)") > 50); /* not its own mode */
}

/* The number of swaps must not begin anew with what is restored. */
static void test_a_restored_stream_is_not_taken_for_the_one_before_its_swap(void) {
    cz_bundle *old = changed(ADMISSION, NULL, NULL);
    cz_bundle *bundle = changed(ADMISSION, "\"threshold\": -1.4322657585144043", "\"threshold\": 1e9");
    cz_stream *stream = new_stream(old);
    cz_cache *cache = new_cache(stream, "none");
    cz_access access;
    char path[] = "/tmp/cz_cache_XXXXXX";
    int file = mkstemp(path);
    REQUIRE(file >= 0 && close(file) == 0);
    REQUIRE(cz_swap(stream, bundle, &error) == CZ_OK && cz_save(stream, path, &error) == CZ_OK);
    REQUIRE(cz_restore(stream, path, &error) == CZ_OK && unlink(path) == 0);
    for (int64_t i = 0; i < 200; i++) {
        serve(cache, i, CZ_READ, &access);
        CHECK(access.written == 0);
    }
    cz_cache_free(cache);
    cz_stream_free(stream);
    cz_close(old);
    cz_close(bundle);
}

static void test_rules_of_a_page_cache_are_not_swapped(void) {
    static const char *const rules[][2] = {
        {"\"demote_capacities\": 5,\n    \"fill_free\"", "\"demote_capacities\": 6,\n    \"fill_free\""},
        {"\"fill_free\": true,\n    \"memory\"", "\"fill_free\": false,\n    \"memory\""},
        {"\"on_hit\": \"stay\"", "\"on_hit\": \"requeue\""},
        {"\"protected_percent\": 20,\n    \"queues\"", "\"protected_percent\": 21,\n    \"queues\""},
    };
    cz_bundle *bundle = changed(CACHING, NULL, NULL),
              *threshold = changed(CACHING, "\"threshold\": 0.5", "\"threshold\": 0.4");
    cz_stream *stream = new_stream(bundle);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        cz_bundle *other = changed(CACHING, rules[i][0], rules[i][1]);
        CHECK(cz_swap(stream, other, &error) == CZ_BAD_CALL && strstr(error.text, "protected_percent"));
        cz_close(other);
    }
    CHECK(cz_swap(stream, threshold, &error) == CZ_OK);
    cz_stream_free(stream);
    cz_close(bundle);
    cz_close(threshold);
}

static void test_a_second_stream_is_refused(void) {
    cz_bundle *bundle = changed(ADMISSION, NULL, NULL);
    cz_stream *streams[2] = {new_stream(bundle), new_stream(bundle)};
    cz_cache_options options = {.mode = CZ_MODEL, .capacity = 300};
    cz_cache *cache;
    CHECK(cz_cache_new(&options, streams, &cache, &error) == CZ_BAD_CALL && !cache);
    CHECK(strstr(error.text, "no longer runs") && !strchr(error.text, '\n'));
    for (int k = 0; k < 2; k++)
        cz_stream_free(streams[k]);
    cz_close(bundle);
}

static void test_calls_without_what_they_need(void) {
    cz_bundle *bundle = changed(ADMISSION, NULL, NULL);
    cz_stream *stream = new_stream(bundle);
    cz_cache *cache;
    cz_cache_options options = {.mode = CZ_LRU, .capacity = 1, .unit_bytes = 4096, .block_bytes = 4096};
    cz_request request = {.size = 1};
    cz_ticket ticket = {0};
    cz_decision decision;
    cz_access access;
    cz_counters counters = {.keys = 7};
    cz_info info;
    CHECK(cz_observe(NULL, &request, &ticket) == CZ_BAD_CALL && cz_observe(stream, NULL, &ticket) == CZ_BAD_CALL &&
          cz_observe(stream, &request, NULL) == CZ_BAD_CALL);
    CHECK(cz_decide(NULL, &ticket, &decision) == CZ_BAD_CALL && cz_decide(stream, NULL, &decision) == CZ_BAD_CALL &&
          cz_decide(stream, &ticket, NULL) == CZ_BAD_CALL);
    CHECK(cz_cache_new(&options, NULL, NULL, &error) == CZ_BAD_CALL && strstr(error.text, "cz_cache_new"));
    CHECK(cz_cache_new(NULL, NULL, &cache, &error) == CZ_BAD_CALL && !cache);
    cache = new_cache(stream, "none");
    CHECK(cz_cache_access(NULL, &request, &access) == CZ_BAD_CALL &&
          cz_cache_access(cache, NULL, &access) == CZ_BAD_CALL &&
          cz_cache_access(cache, &request, NULL) == CZ_BAD_CALL);
    CHECK(cz_cache_drop(NULL, 0, 0, 1, &access) == CZ_BAD_CALL && cz_cache_drop(cache, 0, 0, 1, NULL) == CZ_BAD_CALL);
    CHECK(cz_cache_put(NULL, 0, 0, 0) == CZ_BAD_CALL && cz_log(NULL, &request) == CZ_BAD_CALL);
    cz_following following;
    CHECK(cz_cache_follow(NULL, stream, NULL, 0, &error) == CZ_BAD_CALL &&
          cz_cache_follow(cache, stream, NULL, 0, &error) == CZ_BAD_CALL);
    CHECK(cz_cache_following(NULL, &following) == CZ_BAD_CALL && cz_cache_following(cache, NULL) == CZ_BAD_CALL &&
          cz_cache_following(cache, &following) == CZ_BAD_CALL);
    CHECK(cz_category(NULL, 0) == NULL && cz_category(bundle, 0) == NULL);
    CHECK(cz_vote_every(NULL, 60) == CZ_BAD_CALL && cz_vote_every(stream, 60) == CZ_BAD_CALL);
    cz_stats(NULL, &counters);
    CHECK(counters.keys == 0);
    counters.keys = 7;
    cz_cache_stats(NULL, &counters);
    CHECK(counters.keys == 0);
    cz_stats(stream, NULL);
    cz_cache_stats(cache, NULL);
    cz_bundle_info(bundle, NULL);
    cz_bundle_info(NULL, &info);
    CHECK(strcmp(info.id, "") == 0 && info.kind == 0);
    cz_cache_free(cache);
    cz_stream_free(stream);
    cz_close(bundle);
}

#define LRU "\"eviction\": \"lru\","

static void test_a_bundle_of_another_touch_is_not_swapped_in(void) {
    cz_bundle *bundle = changed(ADMISSION, NULL, NULL), *block = changed(ADMISSION, LRU, LRU " \"touch\": \"block\","),
              *segment = changed(ADMISSION, LRU, LRU " \"touch\": \"segment\",");
    cz_stream *stream = new_stream(bundle);
    CHECK(cz_swap(stream, block, &error) == CZ_BAD_CALL && strstr(error.text, "policy.touch"));
    CHECK(cz_swap(stream, segment, &error) == CZ_OK); /* as of bundles of before */
    cz_stream_free(stream);
    cz_close(bundle);
    cz_close(block);
    cz_close(segment);
}

/* What a device holds is put back by its last use: a block is as new as the newest of its segments. */
static void test_a_cache_that_goes_on_evicts_by_blocks(void) {
    static const int64_t held[] = {0, 2, 1};
    cz_cache_options options = {.mode = CZ_LRU, .capacity = 3, .unit_bytes = 4096, .block_bytes = 8192};
    cz_cache *cache;
    cz_access access;
    REQUIRE(cz_cache_new(&options, NULL, &cache, &error) == CZ_OK);
    for (int32_t slot = 0; slot < 3; slot++)
        REQUIRE(cz_cache_put(cache, 0, held[slot], slot) == CZ_OK);
    static const int64_t reads[] = {4, 5, 6}, victims[] = {2, 0, 1};
    for (int k = 0; k < 3; k++) {
        cz_request request = {.offset = reads[k] * 4096, .size = 4096, .op = CZ_READ};
        REQUIRE(cz_cache_access(cache, &request, &access) == CZ_OK && access.n_victims == 1);
        CHECK(access.victims[0].number == victims[k]);
    }
    cz_cache_free(cache);
}

/* Opened for reading, a FIFO would wait for a writer that never comes. */
static void test_a_state_is_a_plain_file(void) {
    cz_bundle *bundle = changed(ADMISSION, NULL, NULL);
    cz_stream *stream = new_stream(bundle);
    char folder[] = "/tmp/cz_fifo_XXXXXX", path[64];
    REQUIRE(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/fifo", folder);
    REQUIRE(mkfifo(path, 0600) == 0);
    alarm(20); /* ends the test where it hangs */
    CHECK(cz_restore(stream, path, &error) == CZ_IO && strstr(error.text, "fifo"));
    alarm(0);
    CHECK(unlink(path) == 0 && rmdir(folder) == 0);
    cz_stream_free(stream);
    cz_close(bundle);
}

int main(void) {
    test_calls_without_what_they_need();
    test_a_state_is_a_plain_file();
    test_a_second_stream_is_refused();
    test_a_bundle_of_another_touch_is_not_swapped_in();
    test_a_cache_that_goes_on_evicts_by_blocks();
    test_a_cache_follows_its_swapped_stream();
    test_a_restored_stream_is_not_taken_for_the_one_before_its_swap();
    test_rules_of_a_page_cache_are_not_swapped();
    return TEST_END();
}
