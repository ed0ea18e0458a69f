/* What a request costs a model of kind admission: its inputs, and the decision on a miss.
 *
 *     bench_history [BUNDLE [NAMES REQUESTS]]
 *
 * BUNDLE: models/bundles/admission.database.lgbm unless said. Requests are made up, or a file's; the files are those of
 * tests/history_run.c. The mean is of the processor's time, many calls at once;
 * median and p99 are of calls timed one by one, the clock's own time (about 20 ns) and what else runs among them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cachezoo.h"
#include "measured.h"

#define COLUMNS 8
#define MADE 200000
#define BLOCK (1 << 18)
#define BATCH 1024

static cz_error error;

static void stop(const char *what) {
    fprintf(stderr, "bench_history: %s %s\n", what, error.text);
    exit(1);
}

static void print_row(const char *what, double mean, double *taken, int64_t n) {
    qsort(taken, (size_t)n, sizeof *taken, rising);
    printf("%-10s %9lld %9.0f %9.0f %9.0f\n", what, (long long)n, mean, taken[n / 2], taken[n * 99 / 100]);
}

/* Requests of 1 to 32 segments; most of them come back to a block in a few, as reuse is in block traces. */
static cz_request *make_requests(int64_t *n) {
    cz_request *made = calloc(MADE, sizeof *made);
    uint64_t state = 88172645463325252ULL;
    if (!made)
        stop("no memory");
    for (int64_t i = 0; i < MADE; i++) {
        for (int k = 0; k < 4; k++)
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        uint64_t block = state >> (state & 3 ? 52 : 44) & 0xfffff, start = state >> 8 & 63, size = state >> 16 & 31;
        made[i] = (cz_request){.time_us = i,
                               .offset = (int64_t)(block * BLOCK + start * 4096),
                               .size = (int64_t)(size * size / 31 * 4096 + 4096),
                               .volume = 0,
                               .name_space = CZ_UNKNOWN,
                               .user = CZ_UNKNOWN,
                               .flags = CZ_UNKNOWN,
                               .op = state >> 24 & 3 ? CZ_READ : CZ_WRITE};
    }
    *n = MADE;
    return made;
}

static void read_names(cz_stream *stream, const char *path) {
    char line[4096];
    FILE *file = fopen(path, "r");
    if (!file)
        stop(path);
    while (fgets(line, sizeof line, file)) {
        char *text = strchr(line, '\t');
        line[strcspn(line, "\n")] = 0;
        if (!text || cz_intern(stream, (enum cz_column)atoi(line), text + 1) == CZ_UNKNOWN)
            stop("a name");
    }
    fclose(file);
}

static cz_request *read_requests(const char *path, int64_t *n) {
    int64_t row[COLUMNS];
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END))
        stop(path);
    *n = ftell(file) / (long)sizeof row;
    rewind(file);
    cz_request *made = calloc((size_t)*n + 1, sizeof *made);
    for (int64_t i = 0; made && i < *n; i++) {
        if (fread(row, sizeof row, 1, file) != 1)
            stop(path);
        made[i] = (cz_request){.time_us = row[0],
                               .op = (uint8_t)row[1],
                               .offset = row[2],
                               .size = row[3],
                               .volume = (int32_t)row[4],
                               .name_space = (int32_t)row[5],
                               .user = (int32_t)row[6],
                               .flags = (int32_t)row[7]};
    }
    fclose(file);
    if (!made || !*n)
        stop("no requests");
    return made;
}

/* Nanoseconds of each call. */
static void time_calls(cz_stream *stream, const cz_request *requests, int64_t n, double *observed, double *decided) {
    cz_ticket ticket;
    cz_decision decision;
    for (int64_t i = 0; i < n; i++) {
        double start = now_ns(CLOCK_MONOTONIC);
        if (cz_observe(stream, &requests[i], &ticket))
            stop("observe");
        double middle = now_ns(CLOCK_MONOTONIC);
        if (cz_decide(stream, &ticket, &decision))
            stop("decide");
        observed[i] = middle - start;
        decided[i] = now_ns(CLOCK_MONOTONIC) - middle;
    }
}

/* Nanoseconds of the processor, of all calls together. */
static void time_all(cz_stream *stream, const cz_request *requests, int64_t n, double *observed, double *decided) {
    static cz_ticket tickets[BATCH];
    cz_decision decision;
    *observed = *decided = 0;
    for (int64_t first = 0; first < n; first += BATCH) {
        int64_t end = first + BATCH < n ? first + BATCH : n;
        double start = now_ns(CLOCK_THREAD_CPUTIME_ID);
        for (int64_t i = first; i < end; i++) {
            if (cz_observe(stream, &requests[i], &tickets[i - first]))
                stop("observe");
        }
        double middle = now_ns(CLOCK_THREAD_CPUTIME_ID);
        for (int64_t i = first; i < end; i++) {
            if (cz_decide(stream, &tickets[i - first], &decision))
                stop("decide");
        }
        *observed += middle - start;
        *decided += now_ns(CLOCK_THREAD_CPUTIME_ID) - middle;
    }
}

static cz_stream *new_stream(const cz_bundle *bundle, const char *names) {
    cz_stream *stream;
    if (cz_stream_new(bundle, NULL, &stream, &error))
        stop("");
    if (names)
        read_names(stream, names);
    else if (cz_intern(stream, CZ_VOLUME, "disk") != 0)
        stop("a name");
    return stream;
}

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "models/bundles/admission.database.lgbm";
    const char *names = argc > 2 ? argv[2] : NULL;
    double observe, decide;
    cz_bundle *bundle;
    cz_info info;
    int64_t n;
    if (argc != 1 && argc != 2 && argc != 4)
        stop("usage: bench_history [BUNDLE [NAMES REQUESTS]]");
    if (cz_open(path, CZ_FP32, &bundle, &error))
        stop("");
    cz_bundle_info(bundle, &info);
    cz_request *requests = names ? read_requests(argv[3], &n) : make_requests(&n);
    double *taken = calloc(2 * (size_t)n, sizeof *taken);
    if (!taken)
        stop("no memory");
    cz_stream *stream = new_stream(bundle, names);
    time_all(stream, requests, n, &observe, &decide);
    cz_stream_free(stream);
    stream = new_stream(bundle, names);
    time_calls(stream, requests, n, taken, taken + n);
    printf("%s, ns\n%-10s %9s %9s %9s %9s\n", info.id, "", "calls", "mean", "median", "p99");
    print_row("observe", observe / (double)n, taken, n);
    print_row("decide", decide / (double)n, taken + n, n);
    cz_stream_free(stream);
    cz_close(bundle);
    free(requests);
    free(taken);
    return 0;
}
