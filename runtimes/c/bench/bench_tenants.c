/* What a reference to a cache of four tenants costs: nanoseconds of the processor, the median of 40 parts, and the bytes that
 * the library keeps for each page of the cache.
 *
 * Two tenants draw pages by Zipf's law with exponent 0.9 from four times the cache's pages, one goes round in three eighths
 * of it, one draws evenly from twice as many; they take turns. The stream is served once before the clock starts.
 *
 *     bench_tenants [PAGES [REFERENCES]]    262144 and 2000000 unless said */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cachezoo.h"
#include "measured.h"

enum { TENANTS = 4, PARTS = 40 };
static const char *const POLICIES[] = {"azor", "lfu", "lirs", "lru", "s3fifo", "wtinylfu"};

static void fill(uint64_t *keys, int64_t count, int64_t pages) {
    for (int64_t i = 0; i < count; i++)
        keys[i] = i % TENANTS < 2    ? zipf(4 * (uint64_t)pages)
                  : i % TENANTS == 2 ? (uint64_t)(i / TENANTS % (3 * pages / 8))
                                     : drawn() % (2 * (uint64_t)pages);
}

/* Serve the stream twice, the second time by parts, each with its time. */
static int serve(const char *name, const cz_tenants_options *options, const uint64_t *keys, int64_t count,
                 int64_t pages) {
    cz_tenants *tenants;
    cz_tenant_access access;
    cz_error error;
    double ns[PARTS];
    int64_t hits = 0;
    size_t before = held_bytes();
    if (cz_tenants_new(options, TENANTS, &tenants, &error)) {
        fprintf(stderr, "bench_tenants: %s\n", error.text);
        return 1;
    }
    size_t bytes = held_bytes() - before;
    for (int part = -PARTS; part < PARTS; part++) {
        int64_t low = (part + PARTS) % PARTS * (count / PARTS), high = low + count / PARTS;
        double start = now_ns(CLOCK_THREAD_CPUTIME_ID);
        hits = part == 0 ? 0 : hits;
        for (int64_t i = low; i < high; i++) {
            cz_tenants_reference(tenants, (int32_t)(i % TENANTS), keys[i], &access);
            hits += access.outcome == 2;
        }
        if (part >= 0)
            ns[part] = (now_ns(CLOCK_THREAD_CPUTIME_ID) - start) / (double)(high - low);
    }
    qsort(ns, PARTS, sizeof *ns, rising);
    printf("%-16s %9.0f %9.0f %12.0f %9.4f\n", name, ns[PARTS / 2], ns[0], (double)bytes / (double)pages,
           (double)hits / (double)count);
    cz_tenants_free(tenants);
    return 0;
}

int main(int words, char **given) {
    int64_t pages = words > 1 ? atoll(given[1]) : 262144, count = words > 2 ? atoll(given[2]) : 2000000;
    uint64_t *keys = pages > 2048 && count >= PARTS ? malloc((size_t)count * sizeof *keys) : NULL;
    cz_tenant each[TENANTS];
    char name[40];
    if (!keys)
        return 1;
    fill(keys, count, pages);
    printf("%-16s %9s %9s %12s %9s\n", "cache", "median ns", "least", "bytes a page", "hits");
    int result = 0;
    for (size_t k = 0; k < sizeof POLICIES / sizeof *POLICIES && !result; k++) {
        snprintf(name, sizeof name, "shared %s", POLICIES[k]);
        cz_tenants_options options = {.how = CZ_TENANTS_SHARED, .pages = pages, .policy = POLICIES[k]};
        result = serve(name, &options, keys, count, pages);
    }
    for (size_t k = 0; k < sizeof POLICIES / sizeof *POLICIES && !result; k++) {
        snprintf(name, sizeof name, "fixed %s", POLICIES[k]);
        for (int a = 0; a < TENANTS; a++)
            each[a] = (cz_tenant){POLICIES[k], pages / TENANTS};
        result = serve(name, &(cz_tenants_options){.how = CZ_TENANTS_FIXED, .each = each}, keys, count, pages);
    }
    if (!result)
        result = serve("ucp", &(cz_tenants_options){.how = CZ_TENANTS_UCP, .pages = pages}, keys, count, pages);
    free(keys);
    return result;
}
