/* What a request to a flash cache without a model costs: nanoseconds of the processor, the median of 40 parts and the least,
 * and bytes for each segment of the cache: those allocated, and those of the process that were touched when it ended.
 *
 * `segments` is LRU of segments, as blocks of one segment have it; `blocks` are of 64. A request reads or writes 1 to 16
 * segments of 4 KiB somewhere in a block, which is drawn by Zipf's law with exponent 0.9 from a sixteenth as many blocks
 * as the cache has segments. One in eight is a write. The stream is served once before the clock starts.
 *
 *     bench_flash [SEGMENTS [REQUESTS]]    262144 and 1000000 unless said */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cachezoo.h"
#include "measured.h"

enum { PARTS = 40, SEGMENT = 4096, PER_BLOCK = 64, MOST = 16 };

static void fill(cz_request *requests, int64_t count, int64_t segments) {
    for (int64_t i = 0; i < count; i++) {
        int64_t block = (int64_t)(zipf((uint64_t)(segments / 16 + 1)) * UINT64_C(2654435761) % (UINT64_C(1) << 24));
        int64_t touched = 1 + (int64_t)(drawn() % MOST);
        int64_t first = (int64_t)(drawn() % (uint64_t)(PER_BLOCK - touched + 1));
        requests[i] = (cz_request){.offset = (block * PER_BLOCK + first) * SEGMENT,
                                   .size = touched * SEGMENT,
                                   .op = drawn() % 8 == 0 ? CZ_WRITE : CZ_READ};
    }
}

static int64_t touched_bytes(void) {
    long long all, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%lld %lld", &all, &resident) != 2)
        resident = 0;
    if (file)
        fclose(file);
    return resident * sysconf(_SC_PAGESIZE);
}

static int serve(const char *name, enum cz_mode mode, int64_t block, const char *prefetch, const cz_request *requests,
                 int64_t count, int64_t segments) {
    cz_cache_options options = {.mode = mode,
                                .capacity = segments,
                                .unit_bytes = SEGMENT,
                                .block_bytes = block * SEGMENT,
                                .window = segments,
                                .prefetch = prefetch};
    cz_cache *cache;
    cz_access access;
    cz_error error;
    double ns[PARTS];
    size_t held = held_bytes();
    int64_t touched = touched_bytes();
    if (cz_cache_new(&options, NULL, &cache, &error)) {
        fprintf(stderr, "bench_flash: %s\n", error.text);
        return 1;
    }
    held = held_bytes() - held;
    cz_counters before = {0}, after;
    for (int part = -PARTS; part < PARTS; part++) {
        int64_t low = (part + PARTS) % PARTS * (count / PARTS), high = low + count / PARTS;
        if (part == 0)
            cz_cache_stats(cache, &before);
        double start = now_ns(CLOCK_THREAD_CPUTIME_ID);
        for (int64_t i = low; i < high; i++)
            cz_cache_access(cache, &requests[i], &access);
        if (part >= 0)
            ns[part] = (now_ns(CLOCK_THREAD_CPUTIME_ID) - start) / (double)(high - low);
    }
    touched = touched_bytes() - touched;
    cz_cache_stats(cache, &after);
    qsort(ns, PARTS, sizeof *ns, rising);
    printf("%-28s %9.0f %9.0f %12.0f %9.0f %9.4f\n", name, ns[PARTS / 2], ns[0], (double)held / (double)segments,
           (double)touched / (double)segments,
           (double)(after.hits - before.hits) / (double)(after.units - before.units));
    cz_cache_free(cache);
    return 0;
}

int main(int words, char **given) {
    int64_t segments = words > 1 ? atoll(given[1]) : 262144, count = words > 2 ? atoll(given[2]) : 1000000;
    cz_request *requests = segments > 0 && count >= PARTS ? malloc((size_t)count * sizeof *requests) : NULL;
    if (!requests)
        return 1;
    fill(requests, count, segments);
    printf("%-28s %9s %9s %12s %9s %9s\n", "cache", "median ns", "least", "bytes a seg.", "touched", "hits");
    int result = serve("segments, LRU", CZ_LRU, 1, "none", requests, count, segments) ||
                 serve("blocks, LRU", CZ_LRU, PER_BLOCK, "none", requests, count, segments) ||
                 serve("blocks, LRU, next(16)", CZ_LRU, PER_BLOCK, "next(16)", requests, count, segments) ||
                 serve("segments, RejectX", CZ_REJECTX, 1, "none", requests, count, segments) ||
                 serve("blocks, RejectX", CZ_REJECTX, PER_BLOCK, "none", requests, count, segments);
    free(requests);
    return result;
}
