/* What an access to a cache of classics costs: nanoseconds of the processor, the median of 40 parts, and the bytes that the
 * library takes for each page of the cache, what does not grow with it left out.
 *
 * Such a cache waits for memory most of the time, so the line at the end says what one load costs that the processor has to
 * wait for, from as many lines of 64 bytes: read the others by it where the machine is busy.
 *
 * Each request reads or writes one page, by cz_cache_access in the order in which it decides on it: seven of eight are drawn
 * by Zipf's law with exponent 0.9 from four times the cache's pages, which lie scattered over the disk, the others go round
 * in three times the cache's pages. A quarter are writes. The stream is served once before the clock starts.
 *
 *     bench_policy [PAGES [REQUESTS [TEXT ...]]]    262144, 2000000 and every eviction unless said */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cachezoo.h"
#include "measured.h"

enum { PARTS = 40, PAGE = 4096 };
static const char *const TEXTS[] = {
    "lru",          "fifo", "clock",    "sieve", "s3fifo", "twoq",        "arc",
    "larc",         "lirs", "wtinylfu", "inlfu", "lfu",    "rejectx+lru", "coinflip(p=0.3)+s3fifo",
    "lru+next(n=4)"};

static void fill(cz_request *requests, int64_t count, int64_t pages) {
    for (int64_t i = 0; i < count; i++) {
        uint64_t page = i % 8 ? zipf(4 * (uint64_t)pages) * UINT64_C(2654435761) % (UINT64_C(1) << 30)
                              : (UINT64_C(1) << 30) + (uint64_t)(i / 8 % (3 * pages));
        requests[i] = (cz_request){.offset = (int64_t)page * PAGE, .size = PAGE, .op = drawn() % 4 == 0};
    }
}

/* A walk through all lines in a random order; each says where the next one is. */
static double load_ns(int64_t lines) {
    typedef struct line {
        int64_t next, rest[7];
    } line;
    line *all = malloc((size_t)lines * sizeof *all);
    int64_t at = 0;
    if (!all)
        return 0;
    for (int64_t k = 0; k < lines; k++)
        all[k].next = k;
    for (int64_t k = lines - 1; k > 0; k--) { /* Sattolo: one cycle */
        int64_t other = (int64_t)(drawn() % (uint64_t)k), held = all[k].next;
        all[k].next = all[other].next;
        all[other].next = held;
    }
    double start = now_ns(CLOCK_THREAD_CPUTIME_ID);
    for (int64_t k = 0; k < lines; k++)
        at = all[at].next;
    double ns = (now_ns(CLOCK_THREAD_CPUTIME_ID) - start) / (double)lines;
    free(all);
    return at < 0 ? 0 : ns;
}

static size_t bytes_of(const cz_bundle *bundle, int64_t pages) {
    cz_stream *stream;
    size_t before = held_bytes();
    if (cz_stream_new(bundle, &(cz_stream_options){.capacity = pages}, &stream, NULL))
        return 0;
    size_t bytes = held_bytes() - before;
    cz_stream_free(stream);
    return bytes;
}

/* Serve the stream twice, the second time by parts, each with its time. */
static int serve(const char *text, const cz_request *requests, int64_t count, int64_t pages) {
    cz_bundle *bundle;
    cz_stream *stream = NULL;
    cz_cache *cache = NULL;
    cz_access access;
    cz_error error;
    double ns[PARTS];
    int64_t hits = 0;
    cz_cache_options options = {.mode = CZ_MODEL, .capacity = pages, .max_request = 1 << 20};
    if (cz_policy(text, &bundle, &error) ||
        cz_stream_new(bundle, &(cz_stream_options){.capacity = pages}, &stream, &error) ||
        cz_cache_new_writes(&options, CZ_BACK, (cz_stream *[]){stream, NULL}, &cache, &error)) {
        fprintf(stderr, "bench_policy: %s\n", error.text);
        return 1;
    }
    for (int part = -PARTS; part < PARTS; part++) {
        int64_t low = (part + PARTS) % PARTS * (count / PARTS), high = low + count / PARTS;
        double start = now_ns(CLOCK_THREAD_CPUTIME_ID);
        hits = part == 0 ? 0 : hits;
        for (int64_t i = low; i < high; i++) {
            cz_cache_access(cache, &requests[i], &access);
            hits += access.hits;
        }
        if (part >= 0)
            ns[part] = (now_ns(CLOCK_THREAD_CPUTIME_ID) - start) / (double)(high - low);
    }
    qsort(ns, PARTS, sizeof *ns, rising);
    printf("%-24s %9.0f %9.0f %12.0f %9.4f\n", text, ns[PARTS / 2], ns[0],
           (double)(bytes_of(bundle, pages) - bytes_of(bundle, 1)) / (double)pages, (double)hits / (double)count);
    cz_cache_free(cache);
    cz_stream_free(stream);
    cz_close(bundle);
    return 0;
}

int main(int words, char **given) {
    int64_t pages = words > 1 ? atoll(given[1]) : 262144, count = words > 2 ? atoll(given[2]) : 2000000;
    cz_request *requests = pages > 0 && count >= PARTS ? malloc((size_t)count * sizeof *requests) : NULL;
    int result = 0;
    if (!requests)
        return 1;
    fill(requests, count, pages);
    printf("%-24s %9s %9s %12s %9s\n", "policy", "median ns", "least", "bytes a page", "hits");
    for (int k = 3; k < words && !result; k++)
        result = serve(given[k], requests, count, pages);
    for (size_t k = 0; words <= 3 && k < sizeof TEXTS / sizeof *TEXTS && !result; k++)
        result = serve(TEXTS[k], requests, count, pages);
    free(requests);
    printf("one load: %.0f ns\n", load_ns(pages));
    return result;
}
