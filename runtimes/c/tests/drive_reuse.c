/* Runs a reuse bundle's cache over requests of a binary file, for the tests in Python.
 *
 *   drive_reuse BUNDLE REQUESTS OUT CAPACITY MAX_KEYS PROCESSES [rows]
 *
 * REQUESTS: records of int64 offset, size; int32 volume, user, op, flags (bits of reuse_parts.h).
 * OUT, for each page access: int32 outcome, victim, leader, class; float32 score, and its 26 inputs where `rows` is given.
 * Prints page accesses, seconds of processor time, bytes of memory and pages forgotten.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "reuse_cache.h"

typedef struct record {
    int64_t offset, size;
    int32_t volume, user, op, flags;
} record;

static void fail(const char *what)
{
    fprintf(stderr, "drive_reuse: %s\n", what);
    exit(1);
}

static record *read_all(const char *path, int64_t *n)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0)
        fail("cannot read the requests");
    *n = ftell(file) / (int64_t)sizeof(record);
    record *found = malloc((size_t)*n * sizeof *found + 1);
    rewind(file);
    if (!found || fread(found, sizeof *found, (size_t)*n, file) != (size_t)*n)
        fail("cannot read the requests");
    fclose(file);
    return found;
}

static void put(FILE *out, const cz_reuse *cache, int64_t n, bool rows)
{
    for (int64_t k = 0; k < n; k++) {
        const cz_reuse_page *page = &cache->served[k];
        int32_t told[4] = {page->outcome, page->victim_id, page->leader,
                           cache->pages[cache->accesses[k].slot].class};
        fwrite(told, sizeof told, 1, out);
        fwrite(&cache->scores[k], sizeof(float), 1, out);
        if (rows)
            fwrite(cache->rows + k * CZ_INPUTS, sizeof(float), CZ_INPUTS, out);
    }
}

int main(int argc, char **argv)
{
    if (argc < 7)
        fail("BUNDLE REQUESTS OUT CAPACITY MAX_KEYS PROCESSES [rows]");
    cz_error error;
    cz_bundle *bundle;
    if (cz_open(argv[1], CZ_FP32, &bundle, &error) != CZ_OK)
        fail(error.text);
    int64_t n, pages, accesses = 0;
    record *requests = read_all(argv[2], &n);
    FILE *out = strcmp(argv[3], "-") == 0 ? NULL : fopen(argv[3], "wb");
    const cz_reuse_model *model = cz_bundle_model(bundle);
    int64_t keys = atoll(argv[5]);
    if (keys < cz_reuse_least_keys(model, atoll(argv[4])))
        keys = cz_reuse_least_keys(model, atoll(argv[4]));
    cz_reuse *cache = cz_reuse_new(model, atoll(argv[4]), keys, atoi(argv[6]));
    if (!cache)
        fail("no memory");
    clock_t start = clock();
    for (int64_t k = 0; k < n; k++) {
        cz_request request = {.offset = requests[k].offset, .size = requests[k].size, .volume = requests[k].volume,
                              .user = requests[k].user, .op = (uint8_t)requests[k].op};
        if (cz_reuse_serve(cache, model, &request, requests[k].flags, NULL, &pages) != CZ_OK)
            fail("a request that the cache does not take");
        if (out)
            put(out, cache, pages, argc > 7);
        accesses += pages;
    }
    printf("%lld %.6f %zu %llu\n", (long long)accesses, (double)(clock() - start) / CLOCKS_PER_SEC,
           cache->memory.bytes, (unsigned long long)cache->table.n.forgotten);
    cz_reuse_free(cache);
    free(requests);
    cz_close(bundle);
    return out && fclose(out) != 0 ? 1 : 0;
}
