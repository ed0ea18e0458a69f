/* cz run: a trace through a cache. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "golden.h"
#include "streams.h"

#define MOST_PAGES (((int64_t)1 << 30) / CZ_FLASH_PAGE + 1) /* of the longest write */

enum { TIME, OP, OFFSET, SIZE, VOLUME, NAMESPACE, USER, FLAGS, OTHER };
static const char *const COLUMNS[] = {"time_us", "op", "offset", "size", "volume", "namespace", "user", "flags"};

typedef struct run {
    const cz_arguments *given;
    cz_bundle *bundle;
    cz_stream *stream; /* the model's; with other modes it only numbers names */
    cz_cache *cache;
    bool places; /* kind streams: there is no cache */
    uint64_t reads, writes[CZ_MOST_STREAMS], bytes[CZ_MOST_STREAMS];
    uint8_t *pages; /* the stream of each page of a write */
    char *data;
    size_t size;
    int columns[CZ_CSV_FIELDS], count;
    int64_t row;
    cz_error error;
} run;

static int bad_row(run *on, const char *problem) {
    return cz_fail(&on->error, CZ_BAD_CALL, "%s: row %lld: %s", on->given->trace, (long long)on->row, problem);
}

/* The trace is read where it lies: it may be larger than memory. */
static int map_trace(run *on) {
    struct stat seen;
    int file = open(on->given->trace, O_RDONLY | O_CLOEXEC);
    void *data = MAP_FAILED;
    if (file >= 0 && fstat(file, &seen) == 0 && seen.st_size > 0)
        data = mmap(NULL, (size_t)seen.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    int cause = errno;
    if (file >= 0)
        close(file);
    if (data == MAP_FAILED)
        return cz_fail(&on->error, CZ_IO, "%s: cannot be read, or is empty (%s)", on->given->trace, strerror(cause));
    on->data = data;
    on->size = (size_t)seen.st_size;
    return CZ_OK;
}

static int open_cache(run *on) {
    const cz_arguments *given = on->given;
    cz_info info;
    int result = cz_open_signed(given->path, given->key, given->precision, &on->bundle, &on->error);
    if (result)
        return result;
    cz_bundle_info(on->bundle, &info);
    on->places = info.kind == CZ_STREAMS;
    if (on->places != (given->capacity == 0))
        return cz_fail(&on->error, CZ_BAD_CALL, "%s: %s", given->path,
                       on->places ? "kind streams runs no cache; leave --capacity out" : "run needs --capacity");
    cz_stream_options stream = {.capacity = given->capacity};
    result = cz_stream_new(on->bundle, &stream, &on->stream, &on->error);
    if (!result && on->places && !(on->pages = malloc(MOST_PAGES)))
        result = cz_fail(&on->error, CZ_NO_MEMORY, "no memory for the pages of a write");
    if (result || on->places)
        return result;
    cz_stream *streams[2] = {on->stream, NULL}, *none[2] = {NULL, NULL};
    bool model = given->mode == CZ_MODEL;
    int64_t unit = info.segment_bytes ? info.segment_bytes : info.page_bytes;
    cz_cache_options options = {
        .mode = given->mode,
        .capacity = given->capacity,
        .unit_bytes = model ? 0 : unit,
        .block_bytes = model              ? 0
                       : info.block_bytes ? info.block_bytes
                                          : unit,
        .window = given->window ? given->window : given->capacity,
    };
    return cz_cache_new(&options, model ? streams : none, &on->cache, &on->error);
}

static int read_header(run *on, const cz_csv *line) {
    bool seen[OTHER + 1] = {false};
    on->count = line->count;
    for (int i = 0; i < line->count; i++) {
        int column = 0;
        while (column < OTHER && strcmp(line->fields[i], COLUMNS[column]) != 0)
            column++;
        if (column < OTHER && seen[column])
            return bad_row(on, "the header names a column twice");
        on->columns[i] = column;
        seen[column] = true;
    }
    for (int column = TIME; column <= SIZE; column++)
        if (!seen[column])
            return bad_row(on, "the header needs the columns time_us,op,offset,size");
    /* A trace that names no volume is of one. */
    if (!seen[VOLUME] && cz_intern(on->stream, CZ_VOLUME, "") != 0)
        return bad_row(on, "the stream numbers no volume");
    return CZ_OK;
}

static int read_text(run *on, int column, const char *text, cz_request *request) {
    int32_t *const places[] = {&request->volume, &request->name_space, &request->user, &request->flags};
    int32_t number = cz_intern(on->stream, (enum cz_column)(column - VOLUME), text);
    if (number < 0 && column == VOLUME)
        return bad_row(on, "more volumes than a stream numbers");
    *places[column - VOLUME] = number;
    return CZ_OK;
}

/* A word or its first letter, in any case. */
static bool is_word(const char *text, const char *word) {
    return strcasecmp(text, word) == 0 || ((*text | 0x20) == *word && text[1] == 0);
}

static int read_row(run *on, const cz_csv *line, cz_request *request) {
    int64_t *const places[] = {&request->time_us, NULL, &request->offset, &request->size};
    *request = (cz_request){.name_space = CZ_UNKNOWN, .user = CZ_UNKNOWN, .flags = CZ_UNKNOWN};
    if (line->count != on->count)
        return bad_row(on, "it has more or fewer fields than the header");
    for (int i = 0; i < line->count; i++) {
        const char *text = line->fields[i];
        int column = on->columns[i], result = CZ_OK;
        if (column >= VOLUME && column < OTHER)
            result = read_text(on, column, text, request);
        else if (column == OP && !is_word(text, "read") && !is_word(text, "write"))
            result = bad_row(on, "op is none of R, W, read and write");
        else if (column == OP)
            request->op = (*text | 0x20) == 'w' ? CZ_WRITE : CZ_READ;
        else if (column < OTHER && (!cz_whole(text, line->lengths[i], places[column]) || *places[column] < 0))
            result = bad_row(on, "a number is none, negative or too large");
        if (result)
            return result;
    }
    return request->size > 0 ? CZ_OK : bad_row(on, "size is 0");
}

/* Each write is counted; one whose pages go to several streams in each run of one. */
static int place(run *on, const cz_request *request) {
    if (request->op == CZ_READ) {
        on->reads++;
        return CZ_OK;
    }
    int64_t pages = cz_place_pages(on->stream, request, on->pages, MOST_PAGES);
    if (pages < 0)
        return bad_row(on, "the bundle places no such write: see offset and size");
    int64_t at = request->offset, end = request->offset + request->size;
    for (int64_t i = 0; i < pages; i++) {
        int64_t next = (at / CZ_FLASH_PAGE + 1) * CZ_FLASH_PAGE;
        next = next < end ? next : end;
        on->writes[on->pages[i]] += i == 0 || on->pages[i] != on->pages[i - 1];
        on->bytes[on->pages[i]] += (uint64_t)(next - at);
        at = next;
    }
    return CZ_OK;
}

static int access_cache(run *on, const cz_request *request) {
    cz_access access;
    if (cz_cache_access(on->cache, request, &access) == CZ_OK)
        return CZ_OK;
    return bad_row(on, "the cache does not take this request: see offset and size");
}

static int serve(run *on, cz_csv *line) {
    cz_request request;
    on->row = 1;
    int result = cz_csv_next(line) ? read_header(on, line) : bad_row(on, "no header stands in it");
    while (!result && cz_csv_next(line)) {
        on->row++;
        result = read_row(on, line, &request);
        if (!result)
            result = on->places ? place(on, &request) : access_cache(on, &request);
    }
    return !result && line->problem ? bad_row(on, line->problem) : result;
}

static void print_streams(const run *on) {
    printf("%-14s %llu\n%-14s %14s %14s\n", "reads", (unsigned long long)on->reads, "stream", "writes", "bytes");
    for (int stream = 0; stream < CZ_MOST_STREAMS; stream++)
        if (on->writes[stream])
            printf("%-14d %14llu %14llu\n", stream, (unsigned long long)on->writes[stream],
                   (unsigned long long)on->bytes[stream]);
}

static void print_counters(const run *on) {
    static const char *const modes[] = {"lru", "rejectx", "model"};
    cz_counters found;
    cz_cache_stats(on->cache, &found);
    double share = found.units ? (double)found.hits / (double)found.units : 0;
    printf("%-14s %s\n%-14s %llu\n%-14s %llu\n%-14s %llu\n%-14s %.6f\n%-14s %llu\n%-14s %llu\n%-14s %llu\n%-14s %llu\n",
           "mode", modes[on->given->mode], "requests", (unsigned long long)found.requests, "units",
           (unsigned long long)found.units, "hits", (unsigned long long)found.hits, "hit_ratio", share, "written",
           (unsigned long long)(found.admitted + found.prefetched), "prefetched", (unsigned long long)found.prefetched,
           "evicted", (unsigned long long)found.evicted, "bypassed", (unsigned long long)found.bypassed);
}

int cz_cli_run(const cz_arguments *given) {
    run on = {.given = given};
    cz_csv line = {.at = NULL};
    int result = open_cache(&on);
    if (!result)
        result = map_trace(&on);
    if (!result && !cz_csv_open(&line, on.data, on.size))
        result = bad_row(&on, line.problem ? line.problem : "no memory to read it");
    if (!result)
        result = serve(&on, &line);
    if (result)
        cz_print(stderr, "cz: %s", on.error.text);
    else if (on.places)
        print_streams(&on);
    else
        print_counters(&on);
    if (!result && !cz_calibrated(on.stream))
        cz_print(stderr, "cz: warning: %s: its thresholds are for caches of another size against what was used of late",
                 given->path);
    cz_csv_close(&line);
    if (on.data)
        munmap(on.data, on.size);
    free(on.pages);
    cz_cache_free(on.cache);
    cz_stream_free(on.stream);
    cz_close(on.bundle);
    return result ? 1 : 0;
}
