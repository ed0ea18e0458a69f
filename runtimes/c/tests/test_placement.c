/* Kind streams: the search against a walk of all ranges, what sid.bin may not be, and calls on a bundle. */
#include <pthread.h>

#include "../src/streams.h"
#include "changed.h"

#define STREAMS "tests/golden/protocol2/streams.ledger.fios"
#define ADMISSION "tests/golden/protocol2/admission.database.lgbm"
#define HEAD 24
#define MOST 5000
#define TOP ((uint64_t)1 << 32)

static cz_error error;
static uint64_t state = 88172645463325252ULL;

static uint64_t drawn(void) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}

typedef struct made {
    unsigned char *data; /* of its own size, so that the sanitizer sees what is read behind it */
    size_t size;
    uint32_t starts[MOST], ranges;
    unsigned char streams[MOST];
} made;

static void write_table(made *table, uint32_t streams) {
    uint32_t chunk_bytes = CZ_CHUNK_BYTES;
    uint64_t ranges = table->ranges;
    table->size = HEAD + 5 * (size_t)ranges;
    table->data = malloc(table->size);
    REQUIRE(table->data);
    memcpy(table->data, "CZSID1\0", 8);
    memcpy(table->data + 8, &chunk_bytes, 4);
    memcpy(table->data + 12, &streams, 4);
    memcpy(table->data + 16, &ranges, 8);
    memcpy(table->data + HEAD, table->starts, 4 * (size_t)ranges);
    memcpy(table->data + HEAD + 4 * (size_t)ranges, table->streams, (size_t)ranges);
}

/* Ranges of 1 to `widest` chunks; the last one begins at the last chunk of all where that is asked for. */
static void draw_table(made *table, uint32_t ranges, uint32_t widest, bool to_top) {
    uint64_t start = 0;
    table->ranges = ranges;
    for (uint32_t i = 0; i < ranges; i++) {
        table->starts[i] = (uint32_t)start;
        table->streams[i] = (unsigned char)drawn();
        start += 1 + drawn() % widest;
    }
    if (to_top)
        table->starts[ranges - 1] = (uint32_t)(TOP - 1);
    write_table(table, 256);
}

static int walked(const made *table, uint64_t chunk) {
    int found = -1;
    for (uint32_t i = 0; i < table->ranges; i++)
        if (table->starts[i] <= chunk)
            found = table->streams[i];
    return chunk < TOP ? found : 0;
}

static void agrees(const cz_table *table, const made *own, uint64_t chunk) {
    int wanted = walked(own, chunk);
    CHECK(cz_table_stream(table, chunk * CZ_CHUNK_BYTES) == wanted);
    CHECK(cz_table_stream(table, chunk * CZ_CHUNK_BYTES + CZ_CHUNK_BYTES - 1) == wanted);
}

static void test_search(uint32_t ranges, uint32_t widest, bool to_top) {
    static made own;
    cz_table *table;
    draw_table(&own, ranges, widest, to_top);
    REQUIRE(cz_table_read(own.data, own.size, "a", &table, &error) == CZ_OK);
    CHECK(cz_table_ranges(table) == ranges && cz_table_streams(table) == 256);
    for (uint32_t i = 0; i < ranges; i += 1 + ranges / 300) {
        agrees(table, &own, own.starts[i]);
        agrees(table, &own, own.starts[i] + (uint64_t)1);
        if (own.starts[i])
            agrees(table, &own, own.starts[i] - 1);
    }
    for (int i = 0; i < 200; i++)
        agrees(table, &own, drawn() % (own.starts[ranges - 1] + (uint64_t)2));
    agrees(table, &own, own.starts[ranges - 1]);
    agrees(table, &own, TOP - 2);
    agrees(table, &own, TOP - 1);
    agrees(table, &own, TOP);
    CHECK(cz_table_stream(table, UINT64_MAX) == 0);
    cz_table_free(table);
    free(own.data);
}

static void refused(const made *own, size_t at, uint32_t value, const char *problem) {
    cz_table *table;
    unsigned char *data = malloc(own->size);
    REQUIRE(data);
    memcpy(data, own->data, own->size);
    memcpy(data + at, &value, at + 4 <= own->size ? 4 : 1);
    CHECK(cz_table_read(data, own->size, "b/sid.bin", &table, &error) == CZ_BAD_BUNDLE && !table);
    CHECK(strstr(error.text, "b/sid.bin: ") && strstr(error.text, problem) && !strchr(error.text, '\n'));
    free(data);
}

static void test_damage(void) {
    static made own;
    cz_table *table;
    draw_table(&own, 20, 9, false);
    own.data[12] = 16, own.data[13] = 0;
    memset(own.data + HEAD + 80, 15, 20);
    REQUIRE(cz_table_read(own.data, own.size, "a", &table, &error) == CZ_OK);
    cz_table_free(table);
    refused(&own, 0, 0, "does not begin with CZSID1");
    refused(&own, 4, 0x31003144, "does not begin with CZSID1");
    refused(&own, 8, 65536, "its chunks do not have 32768 bytes");
    refused(&own, 12, 0, "1 to 256 streams");
    refused(&own, 12, 257, "1 to 256 streams");
    refused(&own, 16, 0, "its size is not that of its ranges");
    refused(&own, 16, 19, "its size is not that of its ranges");
    refused(&own, 20, 0x33333333, "its size is not that of its ranges"); /* 5 times this comes back to 20 */
    refused(&own, HEAD, 1, "does not start at chunk 0");
    refused(&own, HEAD + 8, own.starts[1], "not start behind the one before");
    refused(&own, HEAD + 8, 0, "not start behind the one before");
    refused(&own, own.size - 1, 16, "a stream that there is not");
    for (size_t size = 0; size < own.size; size++)
        CHECK(cz_table_read(own.data, size, "b", &table, NULL) == CZ_BAD_BUNDLE && !table);
    free(own.data);
}

static void *place_all(void *bundle) {
    long sum = 0;
    for (uint64_t i = 0; i < 20000; i++)
        sum += cz_placement(bundle, i * 4096);
    return (void *)sum;
}

static void test_bundle(void) {
    cz_bundle *bundle, *other;
    cz_stream *stream;
    cz_ticket ticket;
    cz_decision decision;
    cz_counters counters;
    cz_cache *cache;
    cz_request request = {.offset = 5 * CZ_CHUNK_BYTES, .size = 4096, .op = CZ_WRITE};
    REQUIRE(cz_open(STREAMS, CZ_FP32, &bundle, &error) == CZ_OK &&
            cz_open(ADMISSION, CZ_FP32, &other, &error) == CZ_OK);
    CHECK(cz_placement(NULL, 0) == -CZ_BAD_CALL && cz_placement(other, 0) == -CZ_BAD_CALL);
    CHECK(cz_placement(bundle, UINT64_MAX) == 0 && cz_placement(bundle, (uint64_t)1 << 47) == 0);
    REQUIRE(cz_stream_new(bundle, NULL, &stream, &error) == CZ_OK);
    for (int64_t chunk = 0; chunk < 4100; chunk++) {
        request.offset = chunk * CZ_CHUNK_BYTES + 512;
        int wanted = cz_placement(bundle, (uint64_t)request.offset);
        CHECK(wanted >= 0 && wanted < 16);
        CHECK(cz_observe(stream, &request, &ticket) == CZ_OK && cz_decide(stream, &ticket, &decision) == CZ_OK);
        CHECK(ticket.row[0] == (float)chunk && decision.output[0] == wanted && ticket.output[0] == wanted);
    }
    request.size = 0;
    CHECK(cz_observe(stream, &request, &ticket) == CZ_BAD_CALL);
    cz_stats(stream, &counters);
    CHECK(counters.requests == 4100 && counters.keys == 0);
    CHECK(cz_save(stream, "/no-such-folder/state", &error) == CZ_IO && strstr(error.text, "state"));
    CHECK(cz_swap(stream, other, &error) == CZ_BAD_CALL && cz_swap(stream, bundle, &error) == CZ_OK);
    CHECK(cz_cache_new(&(cz_cache_options){.mode = CZ_MODEL, .capacity = 4}, (cz_stream *[2]){stream, NULL}, &cache,
                       &error) == CZ_BAD_CALL);
    pthread_t threads[2];
    void *sums[2];
    for (int i = 0; i < 2; i++)
        REQUIRE(pthread_create(&threads[i], NULL, place_all, bundle) == 0);
    for (int i = 0; i < 2; i++)
        REQUIRE(pthread_join(threads[i], &sums[i]) == 0);
    CHECK(sums[0] == sums[1] && sums[0] == place_all(bundle));
    cz_stream_free(stream);
    cz_close(other);
    cz_close(bundle);
}

static void test_documents(void) {
    cz_bundle *bundle;
    CHECK(open_changed(STREAMS, "\"streams\": 16", "\"streams\": 17", &bundle, &error) == CZ_BAD_BUNDLE);
    CHECK(strstr(error.text, "writes_by_stream") && !strchr(error.text, '\n'));
    CHECK(open_changed(STREAMS, "\"chunk_bytes\": 32768", "\"chunk_bytes\": 65536", &bundle, &error) == CZ_BAD_BUNDLE);
    CHECK(strstr(error.text, "chunk_bytes"));
    CHECK(open_changed(STREAMS, "\"unknown\": 0", "\"unknown\": 1", &bundle, &error) == CZ_BAD_BUNDLE);
    CHECK(open_changed(STREAMS, "\"kind\": \"streams\"", "\"kind\": \"tables\"", &bundle, &error) == CZ_BAD_BUNDLE);
    CHECK(strstr(error.text, "kind") && !strchr(error.text, '\n'));
}

int main(void) {
    static const uint32_t ranges[] = {1, 2, 11, 12, 13, 24, 25, 191, 192, 193, 3071, 3072, 3073, MOST};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        test_search(ranges[i], 7, false);
        test_search(ranges[i], 1 << 19, false);
        if (ranges[i] > 1)
            test_search(ranges[i], 7, true);
    }
    test_damage();
    test_bundle();
    test_documents();
    return TEST_END();
}
