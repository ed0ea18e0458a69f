/* Saved states of kind reuse: every state that requests make is taken back; a forged one is refused, or harms nothing
 * (run it under the sanitizers for that). */
#include <math.h>
#include <unistd.h>

#include "forged.h"
#include "reuse_cache.h"
#include "test.h"

#define BUNDLE "tests/golden/protocol2/reuse.follow"
#define CAPACITY 60
#define HEAD (8 + 64 + 6 * 8)
#define DIGEST 64

typedef struct reuse_stream { /* as kind_reuse.c has it */
    cz_stream base;
    cz_reuse *cache;
} reuse_stream;

static cz_error error;
static char path[] = "/tmp/cz_reuse_XXXXXX";

static cz_stream *new_stream(const cz_bundle *bundle) {
    cz_stream_options options = {.capacity = CAPACITY, .max_keys = 1 << 15, .max_names = 8};
    cz_stream *stream;
    REQUIRE(cz_stream_new(bundle, &options, &stream, &error) == CZ_OK);
    REQUIRE(cz_intern(stream, CZ_VOLUME, "vda") == 0 && cz_intern(stream, CZ_FLAGS, "M") == 0);
    return stream;
}

static void observe(cz_stream *stream, int64_t first, int64_t end) {
    cz_ticket ticket;
    for (int64_t i = first; i < end; i++) {
        uint64_t mixed = (uint64_t)(i + 1) * UINT64_C(0x9E3779B97F4A7C15) >> 32;
        int64_t pages = i % 3 ? 150 : 2000;
        cz_request request = {.time_us = i,
                              .offset = (int64_t)(mixed % (uint64_t)pages) * 4096,
                              .size = 1 + (int64_t)(mixed >> 9) % 20000,
                              .name_space = CZ_UNKNOWN,
                              .user = CZ_UNKNOWN,
                              .flags = i % 5 ? CZ_UNKNOWN : 0,
                              .op = i % 4 == 0};
        REQUIRE(cz_observe(stream, &request, &ticket) == CZ_OK);
    }
}

static unsigned char *saved(const cz_stream *stream, size_t *size) {
    REQUIRE(cz_save(stream, path, &error) == CZ_OK);
    FILE *file = fopen(path, "rb");
    REQUIRE(file && fseek(file, 0, SEEK_END) == 0);
    *size = (size_t)ftell(file);
    rewind(file);
    unsigned char *data = malloc(*size);
    REQUIRE(data && fread(data, 1, *size, file) == *size && fclose(file) == 0);
    return data;
}

static void test_what_requests_make_is_taken_back(void) {
    cz_bundle *bundle;
    REQUIRE(cz_open(BUNDLE, CZ_FP32, &bundle, &error) == CZ_OK);
    cz_stream *stream = new_stream(bundle);
    int64_t at = 0;
    for (int64_t next = 1; next < 4000; next += 1 + next / 3) {
        size_t size, again;
        observe(stream, at, next);
        at = next;
        unsigned char *data = saved(stream, &size);
        REQUIRE(cz_restore(stream, path, &error) == CZ_OK);
        unsigned char *same = saved(stream, &again);
        CHECK(size == again && memcmp(data, same, size) == 0);
        free(data);
        free(same);
    }
    cz_stream_free(stream);
    cz_close(bundle);
}

static int restore_forged(cz_stream *stream, unsigned char *data, size_t size) {
    char sum[65];
    cz_sha256_of(data, size - DIGEST, sum);
    memcpy(data + size - DIGEST, sum, DIGEST);
    FILE *file = fopen(path, "wb");
    REQUIRE(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
    return cz_restore(stream, path, &error);
}

static void test_forged_states_do_no_harm(void) {
    cz_bundle *bundle;
    REQUIRE(cz_open(BUNDLE, CZ_FP32, &bundle, &error) == CZ_OK);
    cz_stream *stream = new_stream(bundle);
    size_t size;
    int refused = 0, tries = getenv("CZ_FORGED") ? atoi(getenv("CZ_FORGED")) : 60;
    observe(stream, 0, 1500);
    unsigned char *data = saved(stream, &size), *forged = malloc(size);
    REQUIRE(forged);
    for (int i = 0; i < tries; i++) {
        memcpy(forged, data, size);
        forge(forged + HEAD + 4, size - DIGEST - HEAD - 4);
        int result = restore_forged(stream, forged, size);
        CHECK(result == CZ_OK || (result == CZ_BAD_STATE && !strchr(error.text, '\n')));
        refused += result != CZ_OK;
        if (result == CZ_OK)
            observe(stream, 1500, 1800);
    }
    CHECK(refused > tries / 20);
    free(forged);
    free(data);
    cz_stream_free(stream);
    cz_close(bundle);
}

/* A forest is grown on targets, so these have to be numbers that an access can have. */
static void test_targets_that_no_access_has_are_refused(void) {
    cz_bundle *bundle;
    REQUIRE(cz_open(BUNDLE, CZ_FP32, &bundle, &error) == CZ_OK);
    cz_stream *stream = new_stream(bundle);
    const float targets[] = {5.0f, -7.0f, NAN, INFINITY, 5.5f, -7.5f};
    observe(stream, 0, 400);
    for (int k = 0; k < 6; k++) {
        cz_own *own = &((reuse_stream *)stream)->cache->own;
        own->target[own->reservoir[0]] = targets[k];
        REQUIRE(cz_save(stream, path, &error) == CZ_OK);
        own->target[own->reservoir[0]] = 0.0f;
        CHECK(cz_restore(stream, path, &error) == (k < 2 ? CZ_OK : CZ_BAD_STATE));
    }
    cz_stream_free(stream);
    cz_close(bundle);
}

/* The counters of the cache are the last of a state: a number of accesses that no stream has seen. */
static void test_states_of_another_layout_or_past_are_refused(void) {
    cz_bundle *bundle;
    REQUIRE(cz_open(BUNDLE, CZ_FP32, &bundle, &error) == CZ_OK);
    cz_stream *stream = new_stream(bundle);
    size_t size;
    uint64_t name_bytes = 0;
    observe(stream, 0, 400);
    unsigned char *data = saved(stream, &size), *forged = malloc(size);
    REQUIRE(forged);
    for (int i = 0; i < 8; i++)
        name_bytes |= (uint64_t)data[HEAD - 16 + i] << (8 * i);
    memcpy(forged, data, size);
    forged[HEAD + name_bytes]++;
    CHECK(restore_forged(stream, forged, size) == CZ_BAD_STATE && strstr(error.text, "layout"));
    memcpy(forged, data, size);
    forged[size - DIGEST - 24 + 6] = 0x7f; /* accesses */
    CHECK(restore_forged(stream, forged, size) == CZ_BAD_STATE);
    memcpy(forged, data, size);
    CHECK(restore_forged(stream, forged, size) == CZ_OK);
    free(forged);
    free(data);
    cz_stream_free(stream);
    cz_close(bundle);
}

int main(void) {
    int file = mkstemp(path);
    REQUIRE(file >= 0 && close(file) == 0);
    test_what_requests_make_is_taken_back();
    test_states_of_another_layout_or_past_are_refused();
    test_targets_that_no_access_has_are_refused();
    test_forged_states_do_no_harm();
    CHECK(unlink(path) == 0);
    return TEST_END();
}
