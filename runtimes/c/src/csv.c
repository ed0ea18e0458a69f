/* Comma-separated values, as Python's csv.reader reads them when it is strict. */
#include <stdlib.h>
#include <string.h>

#include "golden.h"

#define MOST_FIELD 131072 /* csv.field_size_limit() */

bool cz_csv_open(cz_csv *in, const char *data, size_t size) {
    *in = (cz_csv){.at = data, .end = data + size};
    if (!cz_is_utf8(data, size) || memchr(data, 0, size)) {
        in->problem = "it is no UTF-8 text";
        return false;
    }
    /* A record's fields, with a zero after each, are never longer than the file and one zero, or than all may be. */
    size_t most = CZ_CSV_FIELDS * (MOST_FIELD + 2);
    in->buffer = malloc(size + 2 < most ? size + 2 : most);
    return in->buffer != NULL;
}

void cz_csv_close(cz_csv *in) {
    free(in->buffer);
    in->buffer = NULL;
}

static bool refuse(cz_csv *in, const char *problem) {
    in->problem = problem;
    return false;
}

static bool ends_field(const cz_csv *in) {
    return in->at == in->end || *in->at == ',' || *in->at == '\n' || *in->at == '\r';
}

static bool quoted(cz_csv *in, char **out) {
    const char *first = *out;
    for (in->at++;; in->at++) {
        if (in->at == in->end)
            return refuse(in, "a quote is not closed");
        if (*in->at == '"' && (in->at + 1 == in->end || in->at[1] != '"'))
            break;
        in->at += *in->at == '"';
        if (*out - first == MOST_FIELD)
            return refuse(in, "a field is too long");
        *(*out)++ = *in->at;
    }
    in->at++;
    return ends_field(in) || refuse(in, "something stands after a closed quote");
}

static bool field(cz_csv *in, char **out) {
    char *first = *out;
    if (in->count == CZ_CSV_FIELDS)
        return refuse(in, "too many fields");
    if (in->at < in->end && *in->at == '"') {
        if (!quoted(in, out))
            return false;
    } else {
        const char *end = in->at;
        while (end < in->end && *end != ',' && *end != '\n' && *end != '\r')
            end++;
        if (end - in->at > MOST_FIELD)
            return refuse(in, "a field is too long");
        memcpy(*out, in->at, (size_t)(end - in->at));
        *out += end - in->at;
        in->at = end;
    }
    in->fields[in->count] = first;
    in->lengths[in->count++] = (size_t)(*out - first);
    *(*out)++ = 0;
    return true;
}

bool cz_csv_next(cz_csv *in) {
    char *out = in->buffer;
    in->count = 0;
    if (in->at == in->end)
        return false;
    for (;;) {
        if (!field(in, &out))
            return false;
        if (in->at == in->end)
            return true;
        char stop = *in->at++;
        if (stop == ',')
            continue;
        if (stop == '\r' && in->at < in->end && *in->at == '\n')
            in->at++;
        return true;
    }
}
