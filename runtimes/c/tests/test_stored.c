/* Every stored bundle is verified; cut, emptied or doubled files of it are refused, however well they are sealed. */
#include "../fuzz/sealed.h"
#include "stored.h"

static cz_error error;

static void verified(const char *path) {
    cz_bundle *bundle;
    cz_report report;
    cz_info info;
    int result = cz_open(path, CZ_FP32, &bundle, &error);
    if (result)
        fprintf(stderr, "%s\n", error.text);
    REQUIRE(result == CZ_OK);
    result = cz_verify(bundle, &report, &error);
    if (result)
        fprintf(stderr, "%s\n", error.text);
    CHECK(result == CZ_OK && report.rows > 0 && report.cases > 0 && report.agreement == 1);
    cz_bundle_info(bundle, &info);
    CHECK(strcmp(info.id, strrchr(path, '/') + 1) == 0 && info.features > 0 && info.outputs > 0);
    CHECK(strlen(info.digest) == 64 && strlen(info.model_digest) == 64);
    CHECK(info.protocol == CZ_PROTOCOL && strcmp(info.digest, info.model_digest) != 0);
    cz_close(bundle);
}

/* Whether cz_open or cz_verify refuses; the card holds nothing that this library reads. */
static int refused(const cz_store *base, const cz_entry *entry, const unsigned char *data, size_t size) {
    cz_bundle *bundle;
    int result = sealed_open(base, entry->path, data, size, CZ_FP32, &bundle, &error);
    if (!result)
        result = cz_verify(bundle, NULL, &error);
    cz_close(bundle);
    return result != CZ_OK && error.text[0] && !strchr(error.text, '\n');
}

static void damaged(const char *path) {
    cz_store base;
    sealed_load(path, &base);
    for (size_t i = 0; i < base.count; i++) {
        const cz_entry *entry = &base.entries[i];
        size_t size = (size_t)entry->size;
        bool read = strcmp(entry->path, "card.md") != 0 && strcmp(entry->path, CZ_SEAL) != 0;
        unsigned char *twice = malloc(2 * size);
        REQUIRE(twice);
        memcpy(twice, entry->data, size);
        memcpy(twice + size, entry->data, size);
        CHECK(refused(&base, entry, twice, 0) == read);
        CHECK(refused(&base, entry, twice, size / 2) == read);
        CHECK(!refused(&base, entry, twice, size));
        /* A forest's text has an end of its own, after which anything may stand. */
        bool forest = strstr(entry->path, ".lgb.txt") != NULL;
        CHECK(forest || refused(&base, entry, twice, 2 * size) == read);
        free(twice);
    }
    cz_store_free(&base);
}

static void calls(void) {
    cz_bundle *bundle;
    CHECK(cz_open(NULL, CZ_FP32, &bundle, &error) == CZ_BAD_CALL && !bundle);
    CHECK(cz_open("a", (enum cz_precision)7, &bundle, &error) == CZ_BAD_CALL);
    CHECK(cz_open("a", CZ_FP32, NULL, NULL) == CZ_BAD_CALL);
    CHECK(cz_open("tests/golden/nowhere", CZ_FP32, &bundle, NULL) == CZ_BAD_BUNDLE);
    CHECK(cz_verify(NULL, NULL, &error) == CZ_BAD_CALL);
    cz_close(NULL);
}

int main(void) {
    find_stored();
    for (size_t i = 0; i < n_stored; i++) {
        verified(stored[i]);
        damaged(stored[i]);
    }
    calls();
    return TEST_END();
}
