/* What a stream costs: nanoseconds of a call of cz_placement, by how many ranges a dictionary has; and of a page write
 * that cz_place_pages places by a forest, by how many pages are written.
 *
 * warm   calls one after the other at random chunks, each offset hanging on the answer before, so that calls do not
 *        overlap; what fits in the CPU's caches lies there; the processor's time, median of 9 rounds
 * cold   the same, with every line of 64 MiB changed between any two calls; of single calls, less the clock's own time
 *
 *     bench_streams [RANGES...]      1000 10000 100000 1000000 unless said
 *     bench_streams BUNDLE [PAGES]   of a bundle that places by lifetime; writes of one page, nine in ten of them to a
 *                                    tenth of the pages: the processor's time, and the memory of what is remembered */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "measured.h"
#include "streams.h"

#define HEAD 24
#define CALLS 1000000
#define ROUNDS 9
#define COLD_CALLS 300
#define SPOILED ((size_t)64 << 20)

/* A number below a limit, as evenly as 64 bits make it. */
static uint64_t below(uint64_t drawn, uint64_t limit) {
    return (uint64_t)((unsigned __int128)drawn * limit >> 64);
}

/* Ranges of one to eight chunks. */
static cz_table *make_table(uint32_t ranges, uint64_t *chunks) {
    size_t size = HEAD + 5 * (size_t)ranges;
    unsigned char *data = malloc(size);
    const uint32_t head[] = {CZ_CHUNK_BYTES, 16};
    uint64_t count = ranges;
    uint32_t start = 0;
    cz_error error;
    cz_table *table = NULL;
    if (!data)
        return NULL;
    memcpy(data, "CZSID1\0", 8);
    memcpy(data + 8, head, sizeof head);
    memcpy(data + 16, &count, sizeof count);
    for (uint32_t i = 0; i < ranges; i++) {
        memcpy(data + HEAD + 4 * (size_t)i, &start, sizeof start);
        data[HEAD + 4 * (size_t)ranges + i] = (unsigned char)(drawn() & 15);
        start += 1 + (uint32_t)(drawn() & 7);
    }
    if (cz_table_read(data, size, "made", &table, &error))
        fprintf(stderr, "bench_streams: %s\n", error.text);
    free(data);
    *chunks = start;
    return table;
}

static double warm(const cz_table *table, uint64_t bytes) {
    double taken[ROUNDS];
    uint64_t last = 0;
    for (int round = -1; round < ROUNDS; round++) { /* the first fills the caches */
        double before = now_ns(CLOCK_THREAD_CPUTIME_ID);
        for (int i = 0; i < CALLS; i++)
            last = (uint64_t)cz_table_stream(table, below(drawn() + last, bytes));
        if (round >= 0)
            taken[round] = (now_ns(CLOCK_THREAD_CPUTIME_ID) - before) / CALLS;
    }
    qsort(taken, ROUNDS, sizeof *taken, rising);
    return last > 255 ? -1 : taken[ROUNDS / 2];
}

static void cold(const cz_table *table, uint64_t bytes, double *median, double *p99) {
    static double taken[COLD_CALLS], clock[COLD_CALLS];
    volatile unsigned char *other = calloc(SPOILED, 1);
    int sum = 0;
    if (!other)
        exit(1);
    for (int i = 0; i < COLD_CALLS; i++) {
        for (size_t k = 0; k < SPOILED; k += 64)
            other[k]++; /* memset might go past the caches */
        uint64_t offset = below(drawn(), bytes);
        double before = now_ns(CLOCK_MONOTONIC);
        double between = now_ns(CLOCK_MONOTONIC);
        sum += cz_table_stream(table, offset);
        taken[i] = now_ns(CLOCK_MONOTONIC) - between;
        clock[i] = between - before;
    }
    free((void *)other);
    qsort(taken, COLD_CALLS, sizeof *taken, rising);
    qsort(clock, COLD_CALLS, sizeof *clock, rising);
    *median = taken[COLD_CALLS / 2] - clock[COLD_CALLS / 2];
    *p99 = taken[COLD_CALLS * 99 / 100] - clock[COLD_CALLS / 2];
    if (sum < 0)
        exit(1);
}

static int measure(uint32_t ranges) {
    uint64_t chunks;
    cz_table *table = make_table(ranges, &chunks);
    double median, p99;
    if (!table)
        return 1;
    double fast = warm(table, chunks * CZ_CHUNK_BYTES);
    cold(table, chunks * CZ_CHUNK_BYTES, &median, &p99);
    printf("%10u %10.1f %12.0f %12.0f\n", ranges, fast, median, p99);
    cz_table_free(table);
    return 0;
}

/* A page's number: nine in ten are of the first tenth. */
static int64_t page_of(int64_t pages) {
    int64_t hot = pages / 10 + 1;
    return (int64_t)below(drawn(), (uint64_t)(drawn() % 10 ? hot : pages));
}

static int measure_forest(const char *path, int64_t pages) {
    cz_bundle *bundle = NULL;
    cz_stream *stream = NULL;
    cz_error error;
    cz_counters counters;
    double taken[ROUNDS];
    if (cz_open(path, CZ_FP32, &bundle, &error) || cz_stream_new(bundle, NULL, &stream, &error)) {
        fprintf(stderr, "bench_streams: %s\n", error.text);
        cz_close(bundle);
        return 1;
    }
    cz_request request = {.size = CZ_FLASH_PAGE, .op = CZ_WRITE, .name_space = CZ_UNKNOWN};
    uint64_t sum = 0;
    for (int round = -1; round < ROUNDS; round++) { /* the first writes all pages */
        double before = now_ns(CLOCK_THREAD_CPUTIME_ID);
        for (int64_t i = 0; i < CALLS; i++) {
            uint8_t placed = 0;
            request.offset = (round < 0 ? i % pages : page_of(pages)) * CZ_FLASH_PAGE;
            request.time_us += 50;
            cz_place_pages(stream, &request, &placed, 1);
            sum += placed;
        }
        if (round >= 0)
            taken[round] = (now_ns(CLOCK_THREAD_CPUTIME_ID) - before) / CALLS;
    }
    qsort(taken, ROUNDS, sizeof *taken, rising);
    cz_stats(stream, &counters);
    printf("%10s %12s %12s %12s\n%10lld %12.1f %12llu %12llu\n", "pages", "ns a write", "bytes", "remembered",
           (long long)pages, sum ? taken[ROUNDS / 2] : -1, (unsigned long long)counters.bytes,
           (unsigned long long)counters.keys);
    cz_stream_free(stream);
    cz_close(bundle);
    return 0;
}

int main(int count, char **words) {
    static const uint32_t ranges[] = {1000, 10000, 100000, 1000000};
    int result = 0;
    if (count > 1 && strchr(words[1], '/'))
        return measure_forest(words[1], count > 2 ? strtoll(words[2], NULL, 10) : 100000);
    printf("%10s %10s %12s %12s\n", "ranges", "warm mean", "cold median", "cold p99");
    for (int i = 1; i < count && !result; i++)
        result = measure((uint32_t)strtoul(words[i], NULL, 10));
    for (size_t i = 0; count == 1 && i < sizeof ranges / sizeof *ranges && !result; i++)
        result = measure(ranges[i]);
    return result;
}
