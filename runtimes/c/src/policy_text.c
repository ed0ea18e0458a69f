/* The text that names a cache, as src/cachezoo/policies/spec.py reads and writes it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "policy.h"

enum { MOST_TEXT = 2000, MOST_DIGITS = 400 };

typedef struct parameter {
    const char *name;
    double usual, low, high;
    bool whole;
    const char *meaning;
} parameter;
typedef struct component {
    const char *name;
    parameter values[CZ_MOST_VALUES]; /* up to one without a name */
} component;

static const component admissions[] = {
    [CZ_ACCEPT_ALL] = {"acceptall", {{0}}},
    [CZ_COIN_FLIP] = {"coinflip",
                      {{"p", 0.5, 0, 1, false, "the probability that a miss enters"},
                       {"seed", 0, 0, 2147483646, true, "of the draws, a whole number"}}},
    [CZ_REJECT_X] = {"rejectx",
                     {{"window_capacities", 4, 0, 1e6, false, "accesses that a miss is remembered for, in capacities"},
                      {"x", 1, 1, 64, true, "misses that stay out, a whole number"}}},
};
static const component evictions[] = {
    [CZ_EVICT_ARC] = {"arc", {{0}}},
    [CZ_EVICT_CLOCK] = {"clock",
                        {{"bits", 1, 1, 7, true, "of a page's reference counter"},
                         {"initial", 0, 0, 127, true, "counter of a page that enters, below 2^bits"}}},
    [CZ_EVICT_FIFO] = {"fifo", {{0}}},
    [CZ_EVICT_INLFU] = {"inlfu", {{0}}},
    [CZ_EVICT_LARC] = {"larc", {{0}}},
    [CZ_EVICT_LFU] = {"lfu", {{0}}},
    [CZ_EVICT_LIRS] = {"lirs",
                       {{"hir", 0.01, 0, 1, false,
                         "share of the capacity for pages that come back late, at least one page"},
                        {"stack", 2, 1, 100, false, "longest stack, in multiples of the capacity"}}},
    [CZ_EVICT_LRU] = {"lru", {{0}}},
    [CZ_EVICT_S3FIFO] = {"s3fifo",
                         {{"small", 0.1, 0, 1, false, "the small queue's share of the capacity"},
                          {"ghost", 0.9, 0, 10, false, "ghosts, as a multiple of the capacity"},
                          {"promote", 2, 1, 3, true, "hits in the small queue that take a page to the main one"}}},
    [CZ_EVICT_SIEVE] = {"sieve", {{0}}},
    [CZ_EVICT_TWOQ] = {"twoq",
                       {{"kin", 0.25, 0, 1, false, "share of the capacity for pages seen once"},
                        {"kout", 0.5, 0, 10, false, "ghosts, as a multiple of the capacity"}}},
    [CZ_EVICT_WTINYLFU] =
        {"wtinylfu",
         {{"window", 0.01, 0, 0.99, false, "share of the capacity that is the LRU window, at least a page"},
          {"protected", 0.8, 0, 1, false, "share of the main part that is protected"},
          {"sample", 10, 1, 1000, false, "capacities of accesses after which the counts are halved"},
          {"libcachesim", 0, 0, 1, true, "1 counts and admits as libCacheSim 0.3.5 does, for comparison"}}},
};
static const component prefetches[] = {
    [CZ_PREFETCH_NONE] = {"none", {{0}}},
    [CZ_PREFETCH_NEXT] = {"next", {{"n", 8, 0, 65536, true, "pages after a read's last, a whole number"}}},
};
static const struct {
    const char *kind;
    const component *components;
    int32_t count, usual;
} parts[CZ_PARTS] = {
    {"admission", admissions, sizeof admissions / sizeof *admissions, CZ_ACCEPT_ALL},
    {"eviction", evictions, sizeof evictions / sizeof *evictions, CZ_EVICT_LRU},
    {"prefetch", prefetches, sizeof prefetches / sizeof *prefetches, CZ_PREFETCH_NONE},
};
/* What only the simulator runs. */
static const char *const simulated[] = {
    "azor", "belady", "belady_bypass",  "benefit",          "bloom",       "cacheus", "hystor", "lrb", "lrfu",
    "marc", "reca",   "relaxed_belady", "static_hindsight", "threelcache", "follow",  "vrm"};

/* ---- texts between two places ---- */

typedef struct piece {
    const char *at;
    size_t length;
} piece;

static bool blank(char letter) {
    return letter == ' ' || (letter >= '\t' && letter <= '\r');
}

static piece trimmed(piece text) {
    while (text.length && blank(*text.at))
        text.at++, text.length--;
    while (text.length && blank(text.at[text.length - 1]))
        text.length--;
    return text;
}

static bool is(piece text, const char *word) {
    return strlen(word) == text.length && memcmp(text.at, word, text.length) == 0;
}

/* What is before the first `sign` that no bracket holds; `rest` is what is behind it, at NULL where there is none. */
static piece cut(piece text, char sign, piece *rest) {
    int depth = 0;
    for (size_t k = 0; k < text.length; k++) {
        depth += text.at[k] == '(';
        depth -= text.at[k] == ')' && depth > 0;
        if (text.at[k] == sign && depth == 0) {
            *rest = (piece){text.at + k + 1, text.length - k - 1};
            return (piece){text.at, k};
        }
    }
    *rest = (piece){NULL, 0};
    return text;
}

/* A text for an error's line: at most 40 bytes of it. */
#define SHOWN(text) (int)((text).length < 40 ? (text).length : 40), (text).at

/* ---- values ---- */

static bool number(piece text, double *found) {
    char copy[MOST_DIGITS + 1];
    const char *end;
    if (text.length == 0 || text.length > MOST_DIGITS)
        return false;
    memcpy(copy, text.at, text.length);
    copy[text.length] = 0;
    return cz_decimal(copy, &end, found) && end == copy + text.length && isfinite(*found);
}

static int takes(const component *one, char *buffer, size_t room) {
    int length = snprintf(buffer, room, "it takes ");
    for (const parameter *value = one->values; value < one->values + CZ_MOST_VALUES && value->name; value++)
        length +=
            snprintf(buffer + length, room - (size_t)length, "%s%s", value == one->values ? "" : ", ", value->name);
    return one->values[0].name ? length : snprintf(buffer, room, "it takes no values");
}

static int read_value(const component *one, piece text, double *values, unsigned *given, cz_error *error) {
    char known[120];
    piece value, name = trimmed(cut(text, '=', &value));
    int k = 0;
    takes(one, known, sizeof known);
    if (!value.at)
        return cz_fail(error, CZ_BAD_CALL, "%s: %.*s stands where name=value should; %s", one->name,
                       SHOWN(name.length ? name : ((piece){"nothing", 7})), known);
    while (k < CZ_MOST_VALUES && one->values[k].name && !is(name, one->values[k].name))
        k++;
    if (k == CZ_MOST_VALUES || !one->values[k].name)
        return cz_fail(error, CZ_BAD_CALL, "%s takes no %.*s; %s", one->name,
                       SHOWN(name.length ? name : ((piece){"value without a name", 20})), known);
    const parameter *of = &one->values[k];
    value = trimmed(value);
    if (*given >> k & 1)
        return cz_fail(error, CZ_BAD_CALL, "%s: %s is given twice", one->name, of->name);
    if (!number(value, &values[k]))
        return cz_fail(error, CZ_BAD_CALL, "%s: %s = %.*s is no number", one->name, of->name,
                       SHOWN(value.length ? value : ((piece){"nothing", 7})));
    *given |= 1u << k;
    if (!(of->low <= values[k] && values[k] <= of->high))
        return cz_fail(error, CZ_BAD_CALL, "%s: %s = %g is outside [%g, %g]; %s", one->name, of->name, values[k],
                       of->low, of->high, of->meaning);
    if (of->whole && values[k] != floor(values[k]))
        return cz_fail(error, CZ_BAD_CALL, "%s: %s = %g is no whole number; %s", one->name, of->name, values[k],
                       of->meaning);
    values[k] += 0.0; /* -0 is 0 */
    return CZ_OK;
}

static void set_usual(const component *one, double *values) {
    for (int k = 0; k < CZ_MOST_VALUES; k++)
        values[k] = one->values[k].name ? one->values[k].usual : 0.0;
}

static int read_values(const component *one, piece text, double *values, cz_error *error) {
    unsigned given = 0;
    piece rest = text;
    set_usual(one, values);
    if (trimmed(text).length == 0)
        return CZ_OK;
    while (rest.at) {
        int result = read_value(one, cut(rest, ',', &rest), values, &given, error);
        if (result)
            return result;
    }
    return CZ_OK;
}

/* ---- components ---- */

static int unknown(piece name, cz_error *error) {
    for (size_t k = 0; k < sizeof simulated / sizeof *simulated; k++)
        if (is(name, simulated[k]))
            return cz_fail(error, CZ_BAD_CALL,
                           "%s runs in the simulator alone; a cache of this library is [admission+]eviction[+prefetch]",
                           simulated[k]);
    char known[260];
    int length = 0;
    for (int part = 0; part < CZ_PARTS; part++) {
        length += snprintf(known + length, sizeof known - (size_t)length, "%s%s: ", part ? "; " : "", parts[part].kind);
        for (int32_t k = 0; k < parts[part].count; k++)
            length += snprintf(known + length, sizeof known - (size_t)length, "%s%s", k ? ", " : "",
                               parts[part].components[k].name);
    }
    if (!name.length)
        return cz_fail(error, CZ_BAD_CALL, "a component is missing; a policy is [admission+]eviction[+prefetch], %s",
                       known);
    return cz_fail(error, CZ_BAD_CALL, "%.*s is unknown; a policy is [admission+]eviction[+prefetch], %s", SHOWN(name),
                   known);
}

/* An id, or an id with values in brackets. */
static bool shaped(piece text, piece *name, piece *values) {
    size_t k = 0;
    while (k < text.length && !strchr("()=,", text.at[k]) && !blank(text.at[k]))
        k++;
    *name = (piece){text.at, k};
    *values = (piece){text.at, 0};
    piece rest = trimmed((piece){text.at + k, text.length - k});
    if (rest.length == 0)
        return true;
    if (rest.length < 2 || rest.at[0] != '(' || rest.at[rest.length - 1] != ')')
        return false;
    *values = (piece){rest.at + 1, rest.length - 2};
    return !memchr(values->at, '(', values->length) && !memchr(values->at, ')', values->length);
}

static int read_component(piece text, cz_policy_plan *plan, int *last, cz_error *error) {
    piece name, values;
    text = trimmed(text);
    bool read = shaped(text, &name, &values);
    if (is(name, "follow") || is(name, "vrm"))
        return unknown(name, error);
    if (!read)
        return cz_fail(error, CZ_BAD_CALL, "%.*s is no component; write an id, or an id with values as in next(n=4)",
                       SHOWN(text));
    for (int part = 0; part < CZ_PARTS; part++)
        for (int32_t k = 0; k < parts[part].count; k++) {
            const component *one = &parts[part].components[k];
            if (!is(name, one->name))
                continue;
            int result = read_values(one, values, plan->values[part], error);
            if (result)
                return result;
            if (part < *last)
                return cz_fail(error, CZ_BAD_CALL,
                               "components stand as [admission+]eviction[+prefetch]; write %s before %s", one->name,
                               cz_policy_name(plan, *last));
            if (part == *last)
                return cz_fail(error, CZ_BAD_CALL, "a cache has one %s, not %s and %s; name one", parts[part].kind,
                               cz_policy_name(plan, part), one->name);
            plan->component[part] = k;
            *last = part;
            return CZ_OK;
        }
    return unknown(name, error);
}

static int check_together(const cz_policy_plan *plan, cz_error *error) {
    const double *values = plan->values[CZ_PART_EVICTION];
    if (plan->component[CZ_PART_EVICTION] == CZ_EVICT_CLOCK && values[1] >= ldexp(1, (int)values[0]))
        return cz_fail(error, CZ_BAD_CALL, "clock: initial = %g does not fit into bits = %g; take at most %g",
                       values[1], values[0], ldexp(1, (int)values[0]) - 1);
    if (plan->component[CZ_PART_EVICTION] == CZ_EVICT_WTINYLFU && values[3] != 0)
        return cz_fail(error, CZ_BAD_CALL,
                       "wtinylfu: libcachesim = 1 is for comparison, in the simulator alone; leave it out");
    return CZ_OK;
}

static int parse(const char *text, size_t length, cz_policy_plan *plan, cz_error *error) {
    piece rest = {text, length};
    int last = -1, result = CZ_OK;
    memset(plan, 0, sizeof *plan);
    for (int part = 0; part < CZ_PARTS; part++) {
        plan->component[part] = parts[part].usual;
        set_usual(&parts[part].components[parts[part].usual], plan->values[part]);
    }
    while (!result && rest.at)
        result = read_component(cut(rest, '+', &rest), plan, &last, error);
    return result ? result : check_together(plan, error);
}

int cz_policy_parse(const char *text, cz_policy_plan *plan, cz_error *error) {
    size_t length = strnlen(text, MOST_TEXT + 1);
    cz_error inner = {0};
    if (length > MOST_TEXT)
        return cz_fail(error, CZ_BAD_CALL, "policy: a text of more than %d bytes; name an eviction, such as s3fifo",
                       MOST_TEXT);
    for (const char *at = text; *at; at++)
        if ((unsigned char)*at > 126 || ((unsigned char)*at < ' ' && !blank(*at)))
            return cz_fail(error, CZ_BAD_CALL,
                           "policy: a text with letters that no name has; name an eviction, such as "
                           "s3fifo");
    int result = parse(text, length, plan, &inner);
    if (!result)
        return CZ_OK;
    char line[81]; /* blanks of a text that has lines are one line's */
    piece shown = trimmed((piece){text, length});
    snprintf(line, sizeof line, "%.*s", (int)(shown.length < 80 ? shown.length : 80), shown.at);
    for (char *at = line; *at; at++)
        *at = blank(*at) ? ' ' : *at;
    for (char *at = inner.text; *at; at++)
        *at = blank(*at) ? ' ' : *at;
    return cz_fail(error, CZ_BAD_CALL, "policy %s: %.400s", *line ? line : "(empty)", inner.text);
}

/* ---- and back ---- */

const char *cz_policy_name(const cz_policy_plan *plan, int part) {
    return parts[part].components[plan->component[part]].name;
}

bool cz_policy_value(const cz_policy_plan *plan, int part, int i, const char **name, double *value) {
    const component *one = &parts[part].components[plan->component[part]];
    if (i < 0 || i >= CZ_MOST_VALUES || !one->values[i].name)
        return false;
    *name = one->values[i].name;
    *value = plan->values[part][i];
    return true;
}

/* The shortest text that reads back, with a point under every locale. */
static void write_number(double value, char text[40]) {
    double back = NAN;
    const char *end;
    if (value == floor(value) && fabs(value) < 1e15) {
        snprintf(text, 40, "%lld", (long long)value);
        return;
    }
    for (int digits = 1; digits <= 17 && back != value; digits++) {
        snprintf(text, 40, "%.*g", digits, value);
        char *to = text;
        for (const char *from = text; *from; from++) {
            bool plain = (*from >= '0' && *from <= '9') || strchr("+-e.", *from);
            if (plain || to == text || to[-1] != '.')
                *to++ = plain ? *from : '.';
        }
        *to = 0;
        cz_decimal(text, &end, &back);
    }
}

typedef struct writer {
    char *buffer;
    size_t room, length;
} writer;

static void put(writer *out, const char *text) {
    for (; *text; text++, out->length++)
        if (out->length + 1 < out->room)
            out->buffer[out->length] = *text;
}

size_t cz_policy_text(const cz_policy_plan *plan, char *buffer, size_t room) {
    writer out = {buffer, room, 0};
    for (int part = 0; part < CZ_PARTS; part++) {
        const component *one = &parts[part].components[plan->component[part]];
        bool any = false;
        char value[40];
        if (part != CZ_PART_EVICTION && plan->component[part] == parts[part].usual)
            continue;
        put(&out, out.length ? "+" : "");
        put(&out, one->name);
        for (int k = 0; k < CZ_MOST_VALUES && one->values[k].name; k++) {
            if (plan->values[part][k] == one->values[k].usual)
                continue;
            write_number(plan->values[part][k], value);
            put(&out, any ? ", " : "(");
            put(&out, one->values[k].name);
            put(&out, "=");
            put(&out, value);
            any = true;
        }
        put(&out, any ? ")" : "");
    }
    if (room)
        buffer[out.length < room ? out.length : room - 1] = 0;
    return out.length;
}
