/* Streams of every kind: what is refused changes nothing, saved states, other bundles. */
#include <stdint.h>
#include <unistd.h>

#include "internal.h"
#include "test.h"

#define ADMISSION "tests/golden/protocol2/admission.database.lgbm"
#define WORKLOAD "tests/golden/protocol2/workload.lstm8"

static cz_error error;
static char folder[] = "/tmp/cz_streams_XXXXXX";

static const char *path_of(const char *name) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static cz_bundle *open_bundle(const char *path) {
    cz_bundle *bundle;
    REQUIRE(cz_open(path, CZ_FP32, &bundle, &error) == CZ_OK);
    return bundle;
}

static cz_stream *new_stream(const cz_bundle *bundle, int64_t max_keys) {
    cz_stream_options options = {.max_keys = max_keys, .max_names = 8};
    cz_stream *stream;
    REQUIRE(cz_stream_new(bundle, &options, &stream, &error) == CZ_OK);
    REQUIRE(cz_intern(stream, CZ_VOLUME, "vda") == 0 && cz_intern(stream, CZ_USER, "postgres") == 0);
    return stream;
}

static cz_request request_at(int64_t i) {
    return (cz_request){.time_us = i,
                        .offset = i * i % 61 * 30000,
                        .size = 1 + i * 7919 % 90000,
                        .name_space = CZ_UNKNOWN,
                        .user = i % 3 ? 0 : CZ_UNKNOWN,
                        .flags = CZ_UNKNOWN,
                        .op = i % 4 == 0};
}

static void observe(cz_stream *stream, int64_t first, int64_t end, cz_ticket *last) {
    for (int64_t i = first; i < end; i++) {
        cz_request request = request_at(i);
        REQUIRE(cz_observe(stream, &request, last) == CZ_OK);
    }
}

static bool same_future(cz_stream *a, cz_stream *b, const cz_bundle *bundle, int64_t from) {
    cz_ticket one, other;
    cz_info info;
    cz_bundle_info(bundle, &info);
    for (int64_t i = from; i < from + 200; i++) {
        observe(a, i, i + 1, &one);
        observe(b, i, i + 1, &other);
        if (one.number != other.number || memcmp(one.row, other.row, (size_t)info.features * sizeof(float)))
            return false;
    }
    return true;
}

static void test_bad_requests_change_nothing(void) {
    cz_bundle *bundle = open_bundle(ADMISSION);
    cz_stream *one = new_stream(bundle, 100), *other = new_stream(bundle, 100);
    cz_request good = request_at(1), bad[12];
    cz_ticket ticket;
    for (int i = 0; i < 12; i++)
        bad[i] = good;
    bad[0].offset = -1;
    bad[1].size = 0;
    bad[2].size = -5;
    bad[3].offset = INT64_MAX - 10;
    bad[3].size = 100;
    bad[4].offset = INT64_MAX - 1;
    bad[5].volume = -1;
    bad[6].volume = 1;
    bad[7].user = 1;
    bad[8].user = -2;
    bad[9].op = 2;
    bad[10].size = (int64_t)1 << 40;
    bad[11].name_space = 7;
    observe(one, 0, 50, &ticket);
    observe(other, 0, 50, &ticket);
    for (int i = 0; i < 12; i++)
        CHECK(cz_observe(one, &bad[i], &ticket) == CZ_BAD_CALL);
    CHECK(same_future(one, other, bundle, 50));
    cz_stream_free(one);
    cz_stream_free(other);
    cz_close(bundle);
}

static void test_options_and_names(void) {
    cz_bundle *bundle = open_bundle(ADMISSION);
    cz_stream *stream;
    cz_stream_options wrong[] = {{.max_keys = -1}, {.max_names = -1}, {.capacity = -1}, {.max_keys = (int64_t)1 << 40}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK(cz_stream_new(bundle, &wrong[i], &stream, &error) == CZ_BAD_CALL);
        CHECK(stream == NULL && error.text[0] && !strchr(error.text, '\n'));
    }
    stream = new_stream(bundle, 10);
    char name[] = "vdb";
    for (int i = 1; i < 8; i++, name[2]++)
        CHECK(cz_intern(stream, CZ_VOLUME, name) == i);
    CHECK(cz_intern(stream, CZ_VOLUME, "one too many") == CZ_UNKNOWN);
    CHECK(cz_intern(stream, CZ_VOLUME, "vdb") == 1);
    CHECK(cz_intern(stream, CZ_NAMESPACE, "vdb") == 0);
    CHECK(cz_intern(stream, (enum cz_column)4, "x") == CZ_UNKNOWN && cz_intern(stream, CZ_USER, NULL) == CZ_UNKNOWN);
    size_t size = 1 << 20;
    char *longest = malloc(size);
    REQUIRE(longest);
    memset(longest, 'x', size);
    longest[size - 1] = 0;
    CHECK(cz_intern(stream, CZ_USER, longest) == CZ_UNKNOWN);
    free(longest);
    cz_stream_free(stream);
    cz_close(bundle);
}

static unsigned char *read_whole(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    REQUIRE(file && fseek(file, 0, SEEK_END) == 0);
    *size = (size_t)ftell(file);
    rewind(file);
    unsigned char *data = malloc(*size + 1);
    REQUIRE(data && fread(data, 1, *size, file) == *size);
    fclose(file);
    return data;
}

static void write_whole(const char *path, const void *data, size_t size) {
    FILE *file = fopen(path, "wb");
    REQUIRE(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
}

static void test_damaged_states_are_refused(void) {
    cz_bundle *bundle = open_bundle(ADMISSION);
    cz_stream *stream = new_stream(bundle, 12), *other = new_stream(bundle, 12);
    cz_ticket ticket;
    size_t size;
    observe(stream, 0, 40, &ticket);
    observe(other, 0, 40, &ticket);
    char saved[256];
    snprintf(saved, sizeof saved, "%s", path_of("state"));
    REQUIRE(cz_save(stream, saved, &error) == CZ_OK);
    unsigned char *data = read_whole(saved, &size);
    observe(stream, 40, 70, &ticket);
    observe(other, 40, 70, &ticket);
    for (size_t i = 0; i < size; i += i < 200 ? 1 : 97) {
        data[i] ^= 0x20;
        write_whole(path_of("damaged"), data, size);
        data[i] ^= 0x20;
        CHECK(cz_restore(stream, path_of("damaged"), &error) == CZ_BAD_STATE && !strchr(error.text, '\n'));
    }
    for (size_t end = 0; end < size; end += 211) {
        write_whole(path_of("damaged"), data, end);
        CHECK(cz_restore(stream, path_of("damaged"), &error) == CZ_BAD_STATE);
    }
    CHECK(cz_restore(stream, path_of("none"), &error) == CZ_IO);
    CHECK(cz_restore(stream, folder, &error) == CZ_IO);
    CHECK(same_future(stream, other, bundle, 70)); /* a refused state changes nothing */
    REQUIRE(cz_restore(stream, saved, &error) == CZ_OK);
    cz_stream *again = new_stream(bundle, 12);
    observe(again, 0, 40, &ticket);
    CHECK(same_future(stream, again, bundle, 40));
    free(data);
    cz_stream_free(stream);
    cz_stream_free(other);
    cz_stream_free(again);
    cz_close(bundle);
}

/* The checksum is put right, so that what is read afterwards must hold by itself. */
static void test_forged_states_do_not_harm(void) {
    cz_bundle *bundle = open_bundle(ADMISSION);
    cz_stream *stream = new_stream(bundle, 12);
    cz_ticket ticket;
    size_t size;
    observe(stream, 0, 40, &ticket);
    REQUIRE(cz_save(stream, path_of("forged"), &error) == CZ_OK);
    unsigned char *data = read_whole(path_of("forged"), &size);
    int refused = 0;
    for (size_t i = 8 + 64; i < size - 64; i += i < 400 ? 1 : 13) {
        char sum[65];
        unsigned char kept = data[i];
        data[i] = (unsigned char)(kept + 0x85);
        cz_sha256_of(data, size - 64, sum);
        unsigned char *forged = malloc(size);
        REQUIRE(forged);
        memcpy(forged, data, size);
        memcpy(forged + size - 64, sum, 64);
        write_whole(path_of("forged"), forged, size);
        free(forged);
        data[i] = kept;
        int result = cz_restore(stream, path_of("forged"), &error);
        CHECK(result == CZ_OK || result == CZ_BAD_STATE);
        refused += result != CZ_OK;
        cz_request request = request_at(3);
        request.user = CZ_UNKNOWN;
        CHECK(cz_observe(stream, &request, &ticket) != CZ_OK || ticket.row[0] >= 0);
    }
    CHECK(refused > 100);
    free(data);
    cz_stream_free(stream);
    cz_close(bundle);
}

static void test_states_of_another_model_or_size_are_refused(void) {
    cz_bundle *bundle = open_bundle(ADMISSION), *workload = open_bundle(WORKLOAD);
    cz_stream *stream = new_stream(bundle, 12), *larger = new_stream(bundle, 13), *other = new_stream(workload, 12);
    REQUIRE(cz_save(stream, path_of("own"), &error) == CZ_OK);
    CHECK(cz_restore(larger, path_of("own"), &error) == CZ_BAD_STATE && strstr(error.text, "max_keys"));
    CHECK(cz_restore(other, path_of("own"), &error) == CZ_BAD_STATE && strstr(error.text, "another model"));
    CHECK(cz_save(stream, "/nowhere/at/all", &error) == CZ_IO && strstr(error.text, "/nowhere/at/all"));
    CHECK(cz_save(stream, "/dev/full/x", &error) == CZ_IO);
    cz_stream_free(stream);
    cz_stream_free(larger);
    cz_stream_free(other);
    cz_close(bundle);
    cz_close(workload);
}

static void test_swapping(void) {
    cz_bundle *bundle = open_bundle(ADMISSION), *workload = open_bundle(WORKLOAD), *again = open_bundle(ADMISSION);
    cz_stream *stream = new_stream(bundle, 50), *other = new_stream(bundle, 50);
    cz_ticket ticket;
    observe(stream, 0, 60, &ticket);
    observe(other, 0, 60, &ticket);
    CHECK(cz_swap(stream, workload, &error) == CZ_BAD_CALL && strstr(error.text, "workload"));
    CHECK(cz_swap(stream, again, &error) == CZ_OK);
    CHECK(same_future(stream, other, bundle, 60));
    cz_stream_free(stream);
    cz_stream_free(other);
    cz_close(bundle);
    cz_close(workload);
    cz_close(again);
}

int main(void) {
    REQUIRE(mkdtemp(folder));
    test_bad_requests_change_nothing();
    test_options_and_names();
    test_damaged_states_are_refused();
    test_forged_states_do_not_harm();
    test_states_of_another_model_or_size_are_refused();
    test_swapping();
    const char *left[] = {"state", "damaged", "forged", "own"};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++)
        CHECK(unlink(path_of(left[i])) == 0);
    CHECK(rmdir(folder) == 0); /* no temporary file is left */
    return TEST_END();
}
