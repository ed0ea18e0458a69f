/* Runs a reuse bundle's cache over requests of a binary file, for the tests in Python.
 *
 *   drive_reuse BUNDLE REQUESTS OUT CAPACITY MAX_KEYS [NAME=VALUE ...]
 *
 * REQUESTS: records of int64 offset, size; int32 volume, user, op, flags (bits of reuse_parts.h, -1 unknown).
 * OUT ("-": none), for each page access: int64 page, victim's page; int32 outcome, victim, leader, class, slot, dirty;
 * float32 score, 26 inputs. NAME: of the plan (candidates, own_trees, own_rows, own_pace, seed, half_life, lead, price,
 * head_start), which is changed before the stream begins; save=N: the stream is saved after N requests and another goes
 * on; longest=1: each request is timed. MAX_KEYS 0: the least. Prints page accesses, seconds of processor time, bytes,
 * pages forgotten, pages known, and the most seconds of processor time that a page access of a request took, or 0.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "reuse_cache.h"

typedef struct record {
    int64_t offset, size;
    int32_t volume, user, op, flags;
} record;
typedef struct moved {
    int64_t page, victim_page;
    int32_t outcome, victim, leader, class, slot, dirty;
    float score, row[CZ_INPUTS], rest;
} moved;
typedef struct drive {
    cz_bundle *bundle;
    cz_stream_options options;
    cz_stream *stream;
    record *requests;
    int64_t n, save, longest;
    FILE *out;
} drive;
typedef struct reuse_stream { /* as kind_reuse.c has it */
    cz_stream base;
    cz_reuse *cache;
} reuse_stream;

static void fail(const char *what) {
    fprintf(stderr, "drive_reuse: %s\n", what);
    exit(1);
}

static void read_all(drive *on, const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0)
        fail("cannot read the requests");
    on->n = ftell(file) / (int64_t)sizeof(record);
    on->requests = malloc((size_t)on->n * sizeof(record) + 1);
    rewind(file);
    if (!on->requests || fread(on->requests, sizeof(record), (size_t)on->n, file) != (size_t)on->n)
        fail("cannot read the requests");
    fclose(file);
}

static void set(drive *on, cz_reuse_model *model, const char *text) {
    const char *names[] = {"candidates", "own_trees", "own_rows", "own_pace",  "seed",
                           "half_life",  "lead",      "price",    "head_start"};
    int64_t *whole[] = {&model->plan.candidates, &model->plan.own_trees, &model->plan.own_rows, &model->plan.own_pace,
                        &model->plan.seed};
    double *number[] = {&model->plan.half_life, &model->plan.lead, &model->plan.price, &model->plan.head_start};
    size_t length = strcspn(text, "=");
    if (strncmp(text, "save=", 5) == 0) {
        on->save = atoll(text + 5);
        return;
    }
    if (strncmp(text, "longest=", 8) == 0) {
        on->longest = atoll(text + 8);
        return;
    }
    for (int k = 0; k < 9; k++) {
        if (strlen(names[k]) != length || strncmp(names[k], text, length) != 0)
            continue;
        if (k < 5)
            *whole[k] = atoll(text + length + 1);
        else
            *number[k - 5] = strtod(text + length + 1, NULL);
        return;
    }
    fail("no such value of the plan");
}

static void begin(drive *on) {
    static const char *const flags[8] = {"", "M", "A", "MA", "S", "MS", "AS", "MAS"};
    cz_error error;
    char name[16];
    if (cz_stream_new(on->bundle, &on->options, &on->stream, &error) != CZ_OK)
        fail(error.text);
    for (int k = 0; k < 64; k++) {
        snprintf(name, sizeof name, "name%d", k);
        if (cz_intern(on->stream, CZ_VOLUME, name) != k || cz_intern(on->stream, CZ_USER, name) != k ||
            (k < 8 && cz_intern(on->stream, CZ_FLAGS, flags[k]) != k))
            fail("names are not numbered in their order");
    }
}

static void save(const drive *on, char *path) {
    cz_error error;
    int file = mkstemp(path);
    if (file < 0 || close(file) != 0)
        fail("no room for a state");
    if (cz_save(on->stream, path, &error) != CZ_OK)
        fail(error.text);
}

static bool equal(const char *path, const char *other) {
    FILE *one = fopen(path, "rb"), *two = fopen(other, "rb");
    int byte = one && two ? 0 : EOF - 1;
    bool same = byte == 0;
    while (same && byte != EOF) {
        byte = fgetc(one);
        same = byte == fgetc(two);
    }
    if (one)
        fclose(one);
    if (two)
        fclose(two);
    return same;
}

/* Go on with another stream, which reads what this one has saved, and would save the same. */
static void go_on(drive *on) {
    char path[] = "/tmp/drive_reuse.XXXXXX", other[] = "/tmp/drive_reuse.XXXXXX";
    cz_error error;
    save(on, path);
    cz_stream_free(on->stream);
    begin(on);
    if (cz_restore(on->stream, path, &error) != CZ_OK)
        fail(error.text);
    save(on, other);
    if (!equal(path, other))
        fail("what was restored is not what was saved");
    unlink(path);
    unlink(other);
}

static void put(drive *on, const cz_reuse_page *pages, int64_t n) {
    const cz_reuse *cache = ((reuse_stream *)on->stream)->cache;
    for (int64_t k = 0; k < n; k++) {
        moved one = {.page = pages[k].number,
                     .victim_page = pages[k].victim_number,
                     .outcome = pages[k].outcome,
                     .victim = pages[k].victim_id,
                     .leader = pages[k].leader,
                     .slot = pages[k].slot,
                     .dirty = pages[k].victim_dirty,
                     .class = cache->pages[cache->accesses[k].slot].class,
                     .score = cache->scores[k]};
        memcpy(one.row, cache->rows + k * CZ_INPUTS, sizeof one.row);
        fwrite(&one, sizeof one, 1, on->out);
    }
}

static double processor_time(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int64_t run(drive *on, double *longest) {
    int64_t accesses = 0, n;
    const cz_reuse_page *pages;
    for (int64_t k = 0; k < on->n; k++) {
        const record *one = &on->requests[k];
        cz_request request = {.offset = one->offset,
                              .size = one->size,
                              .volume = one->volume,
                              .user = one->user,
                              .flags = one->flags,
                              .name_space = CZ_UNKNOWN,
                              .op = (uint8_t)one->op};
        if (k > 0 && k == on->save)
            go_on(on);
        double start = on->longest ? processor_time() : 0;
        if (cz_reuse_access(on->stream, &request, &pages, &n) != CZ_OK)
            fail("a request that the cache does not take");
        double each = on->longest ? (processor_time() - start) / (double)n : 0;
        *longest = each > *longest ? each : *longest;
        if (on->out)
            put(on, pages, n);
        accesses += n;
    }
    return accesses;
}

int main(int argc, char **argv) {
    drive on = {0};
    cz_error error;
    cz_counters counters;
    if (argc < 6)
        fail("BUNDLE REQUESTS OUT CAPACITY MAX_KEYS [NAME=VALUE ...]");
    if (cz_open(argv[1], CZ_FP32, &on.bundle, &error) != CZ_OK)
        fail(error.text);
    cz_reuse_model *model = (cz_reuse_model *)cz_bundle_model(on.bundle); /* the bundle is this program's alone */
    read_all(&on, argv[2]);
    on.out = strcmp(argv[3], "-") == 0 ? NULL : fopen(argv[3], "wb");
    for (int k = 6; k < argc; k++)
        set(&on, model, argv[k]);
    int64_t least = cz_reuse_least_keys(model, atoll(argv[4])), keys = atoll(argv[5]);
    on.options = (cz_stream_options){.capacity = atoll(argv[4]), .max_keys = keys > least ? keys : least};
    begin(&on);
    clock_t start = clock();
    double longest = 0;
    int64_t accesses = run(&on, &longest);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    cz_stats(on.stream, &counters);
    printf("%lld %.6f %llu %llu %llu %.9f\n", (long long)accesses, seconds, (unsigned long long)counters.bytes,
           (unsigned long long)counters.forgotten, (unsigned long long)counters.keys, longest);
    cz_stream_free(on.stream);
    cz_close(on.bundle);
    free(on.requests);
    return on.out && fclose(on.out) != 0 ? 1 : 0;
}
