/* What a reference to a virtual I/O cache costs: nanoseconds of the processor, by queue and stream: the median of 40 parts
 * of the stream, and the least.
 *
 * zipf       pages drawn by Zipf's law with exponent 0.9 from four times the queue's pages, all over the volume
 * loop       in turns, half again as many pages as the queue has
 * uniform    drawn evenly from twice as many pages as the queue has
 *
 * alone: one cache of a quarter of the queue. shared: four applications with such streams of their own, in turns, in a
 * cache of one queue's length. The stream is served once before the clock starts, so the queues are full.
 *
 *     bench_share [PAGES [REFERENCES]]      262144 and 2000000 unless said */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cachezoo.h"
#include "measured.h"

enum { APPLICATIONS = 4, QUANTUM = 2000, PARTS = 40 };
enum { ZIPF, LOOP, UNIFORM };
static const char *const QUEUES[] = {"lru", "lfu", "arc"}, *const STREAMS[] = {"zipf", "loop", "uniform"};

static int refused(const cz_error *error) {
    fprintf(stderr, "bench_share: %s\n", error->text);
    return 1;
}

static void fill(uint64_t *keys, int64_t count, int64_t pages, int stream) {
    for (int64_t i = 0; i < count; i++)
        keys[i] = stream == ZIPF   ? zipf(4 * (uint64_t)pages)
                  : stream == LOOP ? (uint64_t)(i % (pages + pages / 2))
                                   : drawn() % (2 * (uint64_t)pages);
}

typedef struct taken {
    double ns[PARTS];
    int64_t hits;
} taken;

/* Serve the stream twice, the second time by parts, each with its time. Of one cache, or of applications in turns. */
static void serve(cz_virtual *cache, cz_share *share, const uint64_t *keys, int64_t count, taken *found) {
    cz_place place;
    for (int part = -PARTS; part < PARTS; part++) {
        int64_t low = (part + PARTS) % PARTS * (count / PARTS), high = low + count / PARTS;
        double before = now_ns(CLOCK_THREAD_CPUTIME_ID);
        found->hits = part == 0 ? 0 : found->hits;
        for (int64_t i = low; i < high; i++) {
            if (cache)
                cz_virtual_reference(cache, keys[i], &place);
            else
                cz_share_reference(share, (int32_t)(i % APPLICATIONS), keys[i], &place);
            found->hits += place.hit;
        }
        if (part >= 0)
            found->ns[part] = (now_ns(CLOCK_THREAD_CPUTIME_ID) - before) / (double)(high - low);
    }
    qsort(found->ns, PARTS, sizeof *found->ns, rising);
}

static int alone(const cz_virtual_settings *settings, const uint64_t *keys, int64_t count, taken *found) {
    cz_virtual *cache;
    cz_error error;
    if (cz_virtual_new(settings, settings->pages / 4, &cache, &error))
        return refused(&error);
    serve(cache, NULL, keys, count, found);
    cz_virtual_free(cache);
    return 0;
}

static int shared(const cz_virtual_settings *settings, const uint64_t *keys, int64_t count, taken *found) {
    cz_virtual_settings own[APPLICATIONS] = {*settings, *settings, *settings, *settings};
    cz_share_options options = {.pages = settings->pages};
    cz_share *share;
    cz_error error;
    if (cz_share_new(&options, own, APPLICATIONS, &share, &error))
        return refused(&error);
    serve(NULL, share, keys, count, found);
    cz_share_free(share);
    return 0;
}

int main(int words, char **given) {
    int64_t pages = words > 1 ? atoll(given[1]) : 262144, count = words > 2 ? atoll(given[2]) : 2000000;
    uint64_t *keys = pages > 1024 && count >= PARTS ? malloc((size_t)count * sizeof *keys) : NULL;
    int result = keys ? 0 : 1;
    printf("%-6s %-8s %9s %9s %9s %9s %9s\n", "queue", "stream", "alone", "least", "shared", "least", "hits");
    for (int queue = CZ_QUEUE_LRU; queue <= CZ_QUEUE_ARC && !result; queue++)
        for (int stream = ZIPF; stream <= UNIFORM && !result; stream++) {
            cz_virtual_settings settings = {
                .queue = queue, .fragment = 256, .runs = 2, .pages = pages, .quantum = QUANTUM, .decay = 0.95};
            taken one, all;
            fill(keys, count, pages, stream);
            result = alone(&settings, keys, count, &one) || shared(&settings, keys, count, &all);
            if (!result)
                printf("%-6s %-8s %9.0f %9.0f %9.0f %9.0f %9.4f\n", QUEUES[queue], STREAMS[stream], one.ns[PARTS / 2],
                       one.ns[0], all.ns[PARTS / 2], all.ns[0], (double)one.hits / (double)count);
        }
    free(keys);
    return result;
}
