/* Golden requests: golden/requests.csv. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"

#define PAGE 4096
#define MOST_PAGES ((int64_t)1 << 22)
#define MOST_SIZE ((int64_t)1 << 30)
#define MOST_END ((int64_t)1 << 62)
#define MOST_DIGITS 19

enum { TIME, OP, OFFSET, SIZE, TEXTS };
static const char *const HEADER[] = {"time_us", "op", "offset", "size"};
static const char *const NAMES[] = {"volume", "namespace", "user", "flags"};

/* Names of a column, numbered by their first appearance. */
typedef struct interner {
    char **names;
    int32_t count, room;
    int32_t *table; /* a power of two of slots, twice the room; -1 where none is */
} interner;

typedef struct reading {
    const char *where, *name;
    cz_golden *golden;
    int columns[CZ_CSV_FIELDS]; /* place of each in HEADER, or TEXTS + column */
    int count;
    int64_t room, pages;
    interner texts[4];
    cz_error *error;
} reading;

static int refuse(const reading *in, const char *problem) {
    return cz_fail(in->error, CZ_BAD_BUNDLE, "%s/%s: not golden requests of a bundle (%s); export the bundle again",
                   in->where, in->name, problem);
}

static int no_memory(const reading *in) {
    return cz_fail(in->error, CZ_NO_MEMORY, "%s: no memory to read %s", in->where, in->name);
}

static uint32_t hash(const char *text) {
    uint32_t value = 2166136261u;
    for (; *text; text++)
        value = (value ^ (unsigned char)*text) * 16777619u;
    return value ^ value >> 15;
}

static int32_t *slot_of(const interner *in, const char *text) {
    uint32_t mask = 2 * (uint32_t)in->room - 1, at = hash(text) & mask;
    while (in->table[at] >= 0 && strcmp(in->names[in->table[at]], text) != 0)
        at = (at + 1) & mask;
    return &in->table[at];
}

static bool grow(interner *in) {
    int32_t room = in->room ? 2 * in->room : 16;
    char **names = realloc(in->names, (size_t)room * sizeof *names);
    if (names)
        in->names = names;
    int32_t *table = malloc(2 * (size_t)room * sizeof *table);
    if (!names || !table) {
        free(table);
        return false;
    }
    free(in->table);
    in->table = table;
    in->room = room;
    memset(table, 0xff, 2 * (size_t)room * sizeof *table);
    for (int32_t i = 0; i < in->count; i++)
        *slot_of(in, in->names[i]) = i;
    return true;
}

/* Number of a text, -1 without memory. */
static int32_t number_of(interner *in, const char *text) {
    if (in->count == in->room && !grow(in))
        return -1;
    int32_t *slot = slot_of(in, text);
    if (*slot < 0) {
        char *copy = strdup(text);
        if (!copy)
            return -1;
        in->names[in->count] = copy;
        *slot = in->count++;
    }
    return *slot;
}

static int read_header(reading *in, const cz_csv *line) {
    bool seen[4] = {false};
    in->count = line->count;
    for (int i = 0; i < line->count; i++) {
        int text = 0;
        while (text < 4 && strcmp(line->fields[i], NAMES[text]) != 0)
            text++;
        bool plain = i < TEXTS && strcmp(line->fields[i], HEADER[i]) == 0;
        if (!plain && (i < TEXTS || text == 4 || seen[text] || (i == TEXTS) != (text == 0)))
            return refuse(in, "its header is not time_us,op,offset,size,volume and then namespace, user or flags");
        in->columns[i] = plain ? i : TEXTS + text;
        if (!plain)
            seen[text] = true;
    }
    if (line->count <= TEXTS)
        return refuse(in, "its header lacks a column");
    in->golden->has_namespace = seen[CZ_NAMESPACE];
    in->golden->has_user = seen[CZ_USER];
    in->golden->has_flags = seen[CZ_FLAGS];
    return CZ_OK;
}

static int read_text(reading *in, enum cz_column column, const char *text, cz_request *request) {
    int32_t *const places[] = {&request->volume, &request->name_space, &request->user, &request->flags};
    int32_t number = number_of(&in->texts[column], text);
    *places[column] = number;
    return number < 0 ? no_memory(in) : CZ_OK;
}

static int read_field(reading *in, int column, const char *text, size_t length, cz_request *request) {
    int64_t *const places[] = {&request->time_us, NULL, &request->offset, &request->size};
    if (column >= TEXTS)
        return read_text(in, (enum cz_column)(column - TEXTS), text, request);
    if (column == OP) {
        request->op = strcmp(text, "write") == 0;
        return request->op || strcmp(text, "read") == 0 ? CZ_OK : refuse(in, "an op is neither read nor write");
    }
    if (*text == '-' || length > MOST_DIGITS || !cz_whole(text, length, places[column]))
        return refuse(in, "a number is none, negative or too large");
    const cz_golden *golden = in->golden;
    if (column == TIME && golden->rows && request->time_us < golden->requests[golden->rows - 1].time_us)
        return refuse(in, "a request is earlier than the one before");
    return column == SIZE && *places[column] == 0 ? refuse(in, "a size is 0") : CZ_OK;
}

static int check_row(reading *in, const cz_request *request) {
    long long row = (long long)in->golden->rows + 1;
    if (request->size > MOST_SIZE)
        return cz_fail(in->error, CZ_BAD_BUNDLE, "%s/%s: row %lld: size: a request has at most %lld bytes (1 GiB)",
                       in->where, in->name, row, (long long)MOST_SIZE);
    if (request->offset > MOST_END - request->size)
        return cz_fail(in->error, CZ_BAD_BUNDLE, "%s/%s: row %lld: offset: offset + size overflows: check the unit",
                       in->where, in->name, row);
    in->pages += (request->size + PAGE - 1) / PAGE;
    if (in->pages > MOST_PAGES)
        return cz_fail(in->error, CZ_BAD_BUNDLE, "%s/%s: touches more than %lld pages; export the bundle again",
                       in->where, in->name, (long long)MOST_PAGES);
    return CZ_OK;
}

static int read_row(reading *in, const cz_csv *line) {
    cz_golden *golden = in->golden;
    cz_request request = {.name_space = CZ_UNKNOWN, .user = CZ_UNKNOWN, .flags = CZ_UNKNOWN};
    if (line->count != in->count)
        return refuse(in, "a row has more or fewer fields than the header");
    for (int i = 0; i < line->count; i++) {
        int result = read_field(in, in->columns[i], line->fields[i], line->lengths[i], &request);
        if (result)
            return result;
    }
    int result = check_row(in, &request);
    if (result)
        return result;
    if (golden->rows == in->room) {
        int64_t room = in->room ? 2 * in->room : 1024;
        cz_request *requests = realloc(golden->requests, (size_t)room * sizeof *requests);
        if (!requests)
            return no_memory(in);
        golden->requests = requests;
        in->room = room;
    }
    golden->requests[golden->rows++] = request;
    return CZ_OK;
}

static int read_lines(reading *in, cz_csv *line) {
    int result = cz_csv_next(line) ? read_header(in, line) : refuse(in, line->problem ? line->problem : "it is empty");
    while (!result && cz_csv_next(line))
        result = read_row(in, line);
    if (!result && line->problem)
        result = refuse(in, line->problem);
    if (!result && in->golden->rows == 0)
        result = refuse(in, "no request stands in it");
    return result;
}

int cz_requests_read(const char *where, const char *name, const unsigned char *data, size_t size, cz_golden *golden,
                     cz_error *error) {
    cz_csv line;
    reading in = {.where = where, .name = name, .golden = golden, .error = error};
    if (!cz_csv_open(&line, (const char *)data, size))
        return line.problem ? refuse(&in, line.problem) : no_memory(&in);
    int result = read_lines(&in, &line);
    cz_csv_close(&line);
    for (int i = 0; i < 4; i++) {
        golden->names[i] = in.texts[i].names;
        golden->n_names[i] = in.texts[i].count;
        free(in.texts[i].table);
    }
    return result;
}
