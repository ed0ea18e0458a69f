/* Runs a bundle of kind admission over requests, for the tests that compare it with the Python reference.
 *
 *     history_run BUNDLE NAMES REQUESTS ROWS [key=value …]
 *
 * NAMES: lines "column TAB text", interned in their order. REQUESTS: int64 time_us, op, offset, size, volume,
 * namespace, user, flags each. ROWS: float32 inputs, float64 score, int32 admit each. Keys:
 * max_keys; ahead, requests observed before each is decided; save_at, the request before which the stream goes through
 * a file, ROWS.state; swap_at, before which it goes on with the bundle opened anew; log, a log of the requests. Prints the
 * counters. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachezoo.h"

#define COLUMNS 8
#define MOST_AHEAD 64

typedef struct options {
    long long max_keys, ahead, save_at, swap_at;
    const char *log;
} options;

static cz_error error;

static void stop(const char *what) {
    fprintf(stderr, "history_run: %s: %s\n", what, error.text);
    exit(1);
}

static void *read_whole(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END))
        stop(path);
    long length = ftell(file);
    rewind(file);
    char *data = malloc((size_t)length + 1);
    if (!data || fread(data, 1, (size_t)length, file) != (size_t)length)
        stop(path);
    data[length] = 0;
    fclose(file);
    *size = (size_t)length;
    return data;
}

static options parse(int argc, char **argv) {
    options found = {0, 0, -1, -1, NULL};
    for (int i = 5; i < argc; i++) {
        const char *value = strchr(argv[i], '=');
        if (!value++)
            stop(argv[i]);
        else if (!strncmp(argv[i], "log=", 4))
            found.log = value;
        else if (!strncmp(argv[i], "max_keys=", 9))
            found.max_keys = atoll(value);
        else if (!strncmp(argv[i], "ahead=", 6))
            found.ahead = atoll(value);
        else if (!strncmp(argv[i], "save_at=", 8))
            found.save_at = atoll(value);
        else if (!strncmp(argv[i], "swap_at=", 8))
            found.swap_at = atoll(value);
        else
            stop(argv[i]);
    }
    if (found.ahead < 0 || found.ahead >= MOST_AHEAD)
        stop("ahead");
    return found;
}

static void intern(cz_stream *stream, const char *path) {
    size_t size;
    char *names = read_whole(path, &size), *rest = names;
    for (char *line; (line = strsep(&rest, "\n")) && *line;) {
        char *text = strchr(line, '\t');
        if (!text || cz_intern(stream, (enum cz_column)atoi(line), text + 1) == CZ_UNKNOWN)
            stop("a name");
    }
    free(names);
}

static cz_stream *through_file(cz_stream *stream, const cz_bundle *bundle, cz_stream_options *sizes, const char *rows) {
    char path[4096];
    cz_stream *fresh;
    snprintf(path, sizeof path, "%s.state", rows);
    if (cz_save(stream, path, &error))
        stop("save");
    if (cz_stream_new(bundle, sizes, &fresh, &error) || cz_restore(fresh, path, &error))
        stop("restore");
    cz_stream_free(stream);
    return fresh;
}

static cz_request request_of(const int64_t *row) {
    return (cz_request){.time_us = row[0],
                        .op = (uint8_t)row[1],
                        .offset = row[2],
                        .size = row[3],
                        .volume = (int32_t)row[4],
                        .name_space = (int32_t)row[5],
                        .user = (int32_t)row[6],
                        .flags = (int32_t)row[7]};
}

static void write_row(FILE *out, const cz_stream *stream, const cz_ticket *ticket, int32_t features) {
    cz_decision made;
    if (cz_decide(stream, ticket, &made))
        stop("decide");
    if (fwrite(ticket->row, sizeof *ticket->row, (size_t)features, out) != (size_t)features ||
        fwrite(made.output, sizeof *made.output, 1, out) != 1 || fwrite(&made.admit, sizeof made.admit, 1, out) != 1)
        stop("write");
}

static void print_counters(const cz_stream *stream) {
    cz_counters counters;
    cz_stats(stream, &counters);
    printf("{\"requests\": %llu, \"forgotten\": %llu, \"keys\": %llu, \"bytes\": %llu}\n",
           (unsigned long long)counters.requests, (unsigned long long)counters.forgotten,
           (unsigned long long)counters.keys, (unsigned long long)counters.bytes);
}

int main(int argc, char **argv) {
    if (argc < 5)
        stop("usage");
    options given = parse(argc, argv);
    cz_bundle *bundle, *other;
    cz_stream *stream;
    cz_logger *logger = NULL;
    cz_info info;
    cz_stream_options sizes = {.max_keys = given.max_keys};
    static cz_ticket tickets[MOST_AHEAD];
    if (cz_open(argv[1], CZ_FP32, &bundle, &error) || cz_open(argv[1], CZ_FP32, &other, &error))
        stop("open");
    cz_bundle_info(bundle, &info);
    if (cz_stream_new(bundle, &sizes, &stream, &error))
        stop("stream");
    intern(stream, argv[2]);
    if (given.log && cz_log_open(given.log, stream, &logger, &error))
        stop("log");
    size_t size;
    int64_t *rows = read_whole(argv[3], &size), n = (int64_t)(size / sizeof *rows / COLUMNS), ahead = given.ahead;
    FILE *out = fopen(argv[4], "wb");
    if (!out)
        stop(argv[4]);
    for (int64_t i = 0; i < n + ahead; i++) {
        if (i == given.save_at)
            stream = through_file(stream, bundle, &sizes, argv[4]);
        if (i == given.swap_at && cz_swap(stream, other, &error))
            stop("swap");
        if (i < n) {
            cz_request request = request_of(rows + i * COLUMNS);
            if (cz_observe(stream, &request, &tickets[i % (ahead + 1)]))
                stop("observe");
            if (logger && cz_log(logger, &request)) {
                cz_log_close(logger, &error);
                stop("log");
            }
        }
        if (i >= ahead)
            write_row(out, stream, &tickets[(i - ahead) % (ahead + 1)], info.features);
    }
    if (fclose(out))
        stop("close");
    if (logger && cz_log_close(logger, &error))
        stop("log");
    print_counters(stream);
    cz_stream_free(stream);
    cz_close(bundle);
    cz_close(other);
    free(rows);
    return 0;
}
