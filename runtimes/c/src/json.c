/* JSON: one pass into blocks that are freed together.
 *
 * What Python's json reads is read, but for texts that hold a zero or half a surrogate pair, and documents of more
 * than MOST_DEPTH levels or MOST_VALUES values, which no bundle has. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define MOST_DEPTH 256
#define MOST_VALUES ((size_t)1 << 21)
#define BLOCK ((size_t)1 << 16)

typedef struct block {
    struct block *next;
    size_t used, size;
    max_align_t data[];
} block;

struct cz_json_document {
    block *blocks;
    cz_json root;
};

typedef struct reader {
    const char *at, *end;
    cz_json_document *document;
    const char *problem;
    bool no_memory;
    int depth;
    size_t values;
    cz_json *items; /* of the lists and objects that are not closed yet, one after the other */
    const char **keys;
    size_t held, room;
} reader;

static bool value_of(reader *in, cz_json *found);

static bool refuse(reader *in, const char *problem) {
    if (!in->problem)
        in->problem = problem;
    return false;
}

static bool out_of_memory(reader *in) {
    in->no_memory = true;
    return refuse(in, "no memory");
}

static void *take(reader *in, size_t size) {
    block *first = in->document->blocks;
    size = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    if (!first || first->size - first->used < size) {
        size_t room = size > BLOCK ? size : BLOCK;
        block *added = malloc(sizeof *added + room);
        if (!added) {
            out_of_memory(in);
            return NULL;
        }
        *added = (block){.next = first, .size = room};
        in->document->blocks = first = added;
    }
    void *found = (char *)first->data + first->used;
    first->used += size;
    return found;
}

static void blanks(reader *in) {
    while (in->at < in->end && (*in->at == ' ' || *in->at == '\t' || *in->at == '\n' || *in->at == '\r'))
        in->at++;
}

static bool hexadecimal(reader *in, uint32_t *found) {
    *found = 0;
    if (in->end - in->at < 4)
        return refuse(in, "a text ends within an escape");
    for (int i = 0; i < 4; i++) {
        char c = *in->at++;
        uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                                : 16;
        if (digit == 16)
            return refuse(in, "an escape \\u without four hexadecimal digits");
        *found = *found * 16 + digit;
    }
    return true;
}

static char *utf8(char *out, uint32_t code) {
    if (code < 0x80) {
        *out++ = (char)code;
    } else if (code < 0x800) {
        *out++ = (char)(0xc0 | code >> 6);
        *out++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *out++ = (char)(0xe0 | code >> 12);
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
        *out++ = (char)(0x80 | (code & 0x3f));
    } else {
        *out++ = (char)(0xf0 | code >> 18);
        *out++ = (char)(0x80 | (code >> 12 & 0x3f));
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
        *out++ = (char)(0x80 | (code & 0x3f));
    }
    return out;
}

static bool unicode_escape(reader *in, char **out) {
    uint32_t code, low;
    if (!hexadecimal(in, &code))
        return false;
    if (code >= 0xd800 && code < 0xdc00) {
        if (in->end - in->at < 6 || in->at[0] != '\\' || in->at[1] != 'u')
            return refuse(in, "half a surrogate pair");
        in->at += 2;
        if (!hexadecimal(in, &low))
            return false;
        if (low < 0xdc00 || low > 0xdfff)
            return refuse(in, "half a surrogate pair");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code < 0xe000) {
        return refuse(in, "half a surrogate pair");
    }
    if (code == 0)
        return refuse(in, "a text holds a zero");
    *out = utf8(*out, code);
    return true;
}

static bool escape(reader *in, char **out) {
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    if (in->at == in->end)
        return refuse(in, "a text without an end");
    char name = *in->at++;
    if (name == 'u')
        return unicode_escape(in, out);
    const char *place = name ? strchr(names, name) : NULL;
    if (!place)
        return refuse(in, "an unknown escape in a text");
    *(*out)++ = values[place - names];
    return true;
}

static bool text_of(reader *in, const char **found) {
    const char *end = ++in->at;
    while (end < in->end && *end != '"')
        end += 1 + (*end == '\\' && end + 1 < in->end);
    if (end >= in->end)
        return refuse(in, "a text without an end");
    /* An escape is never shorter than its character. */
    char *text = take(in, (size_t)(end - in->at) + 1), *out = text;
    if (!text)
        return false;
    while (in->at < end) {
        char c = *in->at++;
        if ((unsigned char)c < 0x20)
            return refuse(in, "a control character in a text");
        if (c != '\\')
            *out++ = c;
        else if (!escape(in, &out))
            return false;
    }
    *out = 0;
    in->at = end + 1;
    *found = text;
    return true;
}

/* JSON's numbers, which have fewer forms than cz_decimal's. */
static const char *number_end(const char *at, bool *integral) {
    at += *at == '-';
    if (*at < '0' || *at > '9')
        return NULL;
    bool zero = *at == '0';
    const char *first = at;
    while (*at >= '0' && *at <= '9')
        at++;
    if (zero && at > first + 1)
        return NULL;
    *integral = *at != '.' && *at != 'e' && *at != 'E';
    if (*at == '.') {
        first = ++at;
        while (*at >= '0' && *at <= '9')
            at++;
        if (at == first)
            return NULL;
    }
    if (*at == 'e' || *at == 'E') {
        at += 1 + (at[1] == '+' || at[1] == '-');
        first = at;
        while (*at >= '0' && *at <= '9')
            at++;
        if (at == first)
            return NULL;
    }
    return at;
}

static bool number_of(reader *in, cz_json *found) {
    const char *end = number_end(in->at, &found->integral), *stopped;
    if (!end)
        return refuse(in, "neither a value nor a number");
    found->type = CZ_JSON_NUMBER;
    if (*end == 'x' || *end == 'X') /* hexadecimal, which strtod reads and JSON does not */
        return refuse(in, "neither a value nor a number");
    if (!cz_decimal(in->at, &stopped, &found->number))
        return out_of_memory(in);
    if (!isfinite(found->number))
        return refuse(in, "a number that is not finite");
    found->whole = found->integral && cz_whole(in->at, (size_t)(end - in->at), &found->integer);
    in->at = end;
    return true;
}

static bool hold(reader *in, const char *key, const cz_json *item) {
    if (in->held == in->room) {
        size_t room = in->room ? 2 * in->room : 256;
        cz_json *items = realloc(in->items, room * sizeof *items);
        if (items)
            in->items = items;
        const char **keys = realloc(in->keys, room * sizeof *keys);
        if (keys)
            in->keys = keys;
        if (!items || !keys)
            return out_of_memory(in);
        in->room = room;
    }
    in->items[in->held] = *item;
    in->keys[in->held++] = key;
    return true;
}

static int by_text(const void *left, const void *right) {
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static bool keys_differ(reader *in, const char **keys, size_t count) {
    const char **sorted = malloc(count * sizeof *sorted);
    if (!sorted)
        return out_of_memory(in);
    memcpy(sorted, keys, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_text);
    bool differ = true;
    for (size_t i = 1; i < count && differ; i++)
        differ = strcmp(sorted[i - 1], sorted[i]) != 0;
    free(sorted);
    return differ || refuse(in, "a key stands twice");
}

/* Move what is above `base` of the open items into the value that holds it. */
static bool close_value(reader *in, size_t base, cz_json *found) {
    size_t count = in->held - base;
    found->length = count;
    found->items = take(in, (count ? count : 1) * sizeof *found->items);
    if (!found->items)
        return false;
    if (count)
        memcpy(found->items, in->items + base, count * sizeof *found->items);
    if (found->type == CZ_JSON_OBJECT) {
        found->keys = take(in, (count ? count : 1) * sizeof *found->keys);
        if (!found->keys || (count && !keys_differ(in, in->keys + base, count)))
            return false;
        if (count)
            memcpy(found->keys, in->keys + base, count * sizeof *found->keys);
    }
    in->held = base;
    return true;
}

static bool member(reader *in, enum cz_json_type type) {
    const char *key = NULL;
    cz_json item;
    blanks(in);
    if (type == CZ_JSON_OBJECT) {
        if (in->at == in->end || *in->at != '"')
            return refuse(in, "an object's key is no text");
        if (!text_of(in, &key))
            return false;
        blanks(in);
        if (in->at == in->end || *in->at++ != ':')
            return refuse(in, "no colon after a key");
    }
    return value_of(in, &item) && hold(in, key, &item);
}

static bool members(reader *in, cz_json *found) {
    char close = *in->at++ == '[' ? ']' : '}';
    size_t base = in->held;
    found->type = close == ']' ? CZ_JSON_LIST : CZ_JSON_OBJECT;
    if (++in->depth > MOST_DEPTH)
        return refuse(in, "too deep");
    blanks(in);
    bool more = !(in->at < in->end && *in->at == close);
    in->at += !more;
    while (more) {
        if (!member(in, found->type))
            return false;
        blanks(in);
        if (in->at == in->end || (*in->at != ',' && *in->at != close))
            return refuse(in, "a list or an object without an end");
        more = *in->at++ == ',';
    }
    in->depth--;
    return close_value(in, base, found);
}

static bool word(reader *in, const char *text) {
    size_t length = strlen(text);
    if ((size_t)(in->end - in->at) < length || memcmp(in->at, text, length) != 0)
        return refuse(in, "neither a value nor a number");
    in->at += length;
    return true;
}

static bool value_of(reader *in, cz_json *found) {
    blanks(in);
    *found = (cz_json){.type = CZ_JSON_NULL};
    if (in->at == in->end)
        return refuse(in, "it ends where a value should stand");
    if (++in->values > MOST_VALUES)
        return refuse(in, "too many values");
    switch (*in->at) {
    case '{':
    case '[':
        return members(in, found);
    case '"':
        found->type = CZ_JSON_TEXT;
        return text_of(in, &found->text);
    case 'n':
        return word(in, "null");
    case 't':
    case 'f':
        found->type = CZ_JSON_BOOL;
        found->truth = *in->at == 't';
        return word(in, found->truth ? "true" : "false");
    default:
        return number_of(in, found);
    }
}

static bool whole_document(reader *in) {
    if (!value_of(in, &in->document->root))
        return false;
    blanks(in);
    return in->at == in->end || refuse(in, "something stands after its end");
}

int cz_json_read(const char *data, size_t size, const char *where, cz_json_document **document, cz_error *error) {
    *document = NULL;
    if (!cz_is_utf8(data, size) || memchr(data, 0, size))
        return cz_fail(error, CZ_BAD_BUNDLE, "%s: not readable as JSON (it is no UTF-8 text); export the bundle again",
                       where);
    /* Numbers are read up to a sign that is none of theirs: the copy has a zero at its end. */
    char *copy = malloc(size + 1);
    cz_json_document *made = calloc(1, sizeof *made);
    reader in = {.at = copy, .document = made};
    if (copy && made) {
        memcpy(copy, data, size);
        copy[size] = 0;
        in.end = copy + size;
        whole_document(&in);
    } else {
        out_of_memory(&in);
    }
    free(in.items);
    free(in.keys);
    free(copy);
    if (!in.problem) {
        *document = made;
        return CZ_OK;
    }
    cz_json_free(made);
    if (in.no_memory)
        return cz_fail(error, CZ_NO_MEMORY, "%s: no memory to read it", where);
    return cz_fail(error, CZ_BAD_BUNDLE, "%s: not readable as JSON (%s); copy or export the bundle again", where,
                   in.problem);
}

void cz_json_free(cz_json_document *document) {
    if (!document)
        return;
    for (block *one = document->blocks, *next; one; one = next) {
        next = one->next;
        free(one);
    }
    free(document);
}

const cz_json *cz_json_root(const cz_json_document *document) {
    return &document->root;
}
