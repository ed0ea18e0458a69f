/* Streams of kinds caching and workload: damaged states, and going on with another bundle. */
#include "internal.h"
#include "test.h"

#define CACHING "tests/golden/protocol2/caching.database.lstm1x8"
#define WORKLOAD "tests/golden/protocol2/workload.lstm8"
#define FLIPS 3000

static cz_error error;
static uint64_t seed = 88172645463325252u;

static uint64_t drawn(uint64_t below) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (seed >> 11) % below;
}

static cz_bundle *opened(const char *path) {
    cz_bundle *bundle = NULL;
    if (cz_open(path, CZ_FP32, &bundle, &error))
        fprintf(stderr, "%s\n", error.text);
    REQUIRE(bundle);
    return bundle;
}

static cz_stream *streamed(const cz_bundle *bundle) {
    cz_stream *stream = NULL;
    cz_stream_options options = {.capacity = 50, .max_keys = 400};
    if (cz_stream_new(bundle, &options, &stream, &error))
        fprintf(stderr, "%s\n", error.text);
    REQUIRE(stream);
    return stream;
}

static cz_request request_at(int64_t time_us) {
    return (cz_request){.time_us = time_us,
                        .offset = (int64_t)drawn(300) * 4096,
                        .size = 1 + (int64_t)drawn(20000),
                        .volume = (int32_t)drawn(2),
                        .name_space = CZ_UNKNOWN,
                        .user = CZ_UNKNOWN,
                        .flags = CZ_UNKNOWN,
                        .op = (uint8_t)drawn(2)};
}

static void feed(cz_stream *stream, int64_t from_us, int count) {
    cz_ticket ticket;
    for (int i = 0; i < count; i++) {
        cz_request request = request_at(from_us + i);
        REQUIRE(cz_observe(stream, &request, &ticket) == CZ_OK);
    }
}

/* A state with wrong bytes is refused, or it is one that a stream can go on from. */
static void damaged_states(const char *path) {
    cz_bundle *bundle = opened(path);
    cz_stream *whole = streamed(bundle);
    feed(whole, 0, 200);
    size_t size = whole->ops->save(whole, NULL);
    unsigned char *state = malloc(size), *copy = malloc(size);
    REQUIRE(state && copy && whole->ops->save(whole, state) == size);
    int refused = 0;
    for (int i = 0; i < FLIPS; i++) {
        cz_stream *fresh = streamed(bundle);
        memcpy(copy, state, size);
        for (uint64_t flips = 1 + drawn(3); flips; flips--)
            copy[drawn(size)] = (unsigned char)drawn(256);
        size_t left = i % 5 ? size : (size_t)drawn(size);
        int code = fresh->ops->restore(fresh, copy, left, &error);
        CHECK(code == CZ_OK || code == CZ_BAD_STATE);
        refused += code != CZ_OK;
        if (code == CZ_OK) {
            cz_request request = request_at(INT64_MAX / 4);
            cz_ticket ticket;
            for (int k = 0; k < 20; k++)
                CHECK(cz_observe(fresh, &request, &ticket) <= CZ_BAD_CALL);
        }
        cz_stream_free(fresh);
    }
    CHECK(refused > FLIPS / 10);
    free(state);
    free(copy);
    cz_stream_free(whole);
    cz_close(bundle);
}

/* Refused requests change nothing: the stream goes on as one that never saw them. */
static void bad_requests(const char *path) {
    cz_bundle *bundle = opened(path);
    cz_stream *stream = streamed(bundle), *other = streamed(bundle);
    const cz_request good = {.time_us = 10, .offset = 0, .size = 4096, .name_space = -1, .user = -1, .flags = -1};
    cz_request bad[6] = {good, good, good, good, good, good};
    cz_ticket one, two;
    bad[0].time_us = 9, bad[1].size = 0, bad[2].offset = -1, bad[3].op = 2, bad[4].volume = -1;
    bad[5].size = INT64_MAX;
    REQUIRE(cz_observe(stream, &good, &one) == CZ_OK && cz_observe(other, &good, &two) == CZ_OK);
    for (int i = 0; i < 6; i++)
        CHECK(cz_observe(stream, &bad[i], &one) == CZ_BAD_CALL);
    for (int i = 0; i < 30; i++) {
        cz_request request = request_at(20 + i);
        REQUIRE(cz_observe(stream, &request, &one) == CZ_OK && cz_observe(other, &request, &two) == CZ_OK);
        CHECK(memcmp(one.row, two.row, sizeof one.row) == 0 && memcmp(one.output, two.output, sizeof one.output) == 0);
        CHECK(one.number == two.number && one.category == two.category);
    }
    cz_stream_free(stream);
    cz_stream_free(other);
    cz_close(bundle);
}

/* After a swap pages are remembered, and the network begins anew. */
static void swapped(void) {
    cz_bundle *first = opened(CACHING), *second = opened(CACHING), *other = opened(WORKLOAD);
    cz_stream *stream = streamed(first), *same = streamed(first), *fresh = streamed(first);
    uint64_t begun = seed;
    feed(stream, 0, 100);
    seed = begun;
    feed(same, 0, 100);
    CHECK(cz_swap(stream, other, &error) == CZ_BAD_CALL);
    REQUIRE(cz_swap(stream, second, &error) == CZ_OK);
    cz_close(other);
    cz_request request = request_at(1000);
    cz_ticket a, b, c;
    REQUIRE(!cz_observe(stream, &request, &a) && !cz_observe(same, &request, &b) && !cz_observe(fresh, &request, &c));
    CHECK(memcmp(a.row, b.row, sizeof a.row) == 0 && memcmp(a.row, c.row, sizeof a.row) != 0);
    CHECK(memcmp(a.output, b.output, sizeof a.output) != 0);
    cz_stream_free(stream);
    cz_stream_free(same);
    cz_stream_free(fresh);
    cz_close(first);
    cz_close(second);
}

static void no_capacity(void) {
    cz_bundle *bundle = opened(CACHING);
    cz_stream *stream = NULL;
    CHECK(cz_stream_new(bundle, &(cz_stream_options){0}, &stream, &error) == CZ_BAD_CALL && !stream);
    CHECK(strstr(error.text, "capacity"));
    cz_close(bundle);
}

int main(void) {
    damaged_states(CACHING);
    damaged_states(WORKLOAD);
    bad_requests(CACHING);
    bad_requests(WORKLOAD);
    swapped();
    no_capacity();
    return TEST_END();
}
