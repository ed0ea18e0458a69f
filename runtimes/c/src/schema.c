/* Checks documents of a bundle against the published JSON Schemas, which are compiled in.
 *
 * The words are those that src/cachezoo/bundles/schema.py knows; a schema with another one is refused. */
#include <pthread.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store.h"

/* Patterns that were compiled, by the place of their text in the schema. */
#define MOST_PATTERNS 64
typedef struct patterns {
    const char *texts[MOST_PATTERNS];
    regex_t compiled[MOST_PATTERNS];
    size_t count;
} patterns;

typedef struct check {
    const cz_json *schema;
    patterns *patterns;
    const char *problem; /* what a place breaks; its text is in `text` */
    char place[160], text[160];
} check;

static bool obeys(check *on, const cz_json *value, const cz_json *rules, size_t place);

static bool breaks(check *on, const char *format, const char *what) {
    snprintf(on->text, sizeof on->text, format, what);
    on->problem = on->text;
    return false;
}

static bool is_of(const cz_json *value, const char *name) {
    static const struct {
        const char *name;
        enum cz_json_type type;
    } plain[] = {{"object", CZ_JSON_OBJECT}, {"array", CZ_JSON_LIST}, {"string", CZ_JSON_TEXT},
                 {"boolean", CZ_JSON_BOOL},  {"null", CZ_JSON_NULL},  {"number", CZ_JSON_NUMBER}};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(plain[i].name, name) == 0)
            return value->type == plain[i].type;
    return strcmp(name, "integer") == 0 && value->type == CZ_JSON_NUMBER && value->integral;
}

static bool type_holds(check *on, const cz_json *value, const cz_json *type) {
    char names[100] = "";
    bool one = type->type == CZ_JSON_TEXT;
    for (size_t i = 0; i < (one ? 1 : type->length); i++) {
        const char *name = one ? type->text : type->items[i].text;
        if (is_of(value, name))
            return true;
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", i ? " or " : "", name);
    }
    return breaks(on, "is not of type %s", names);
}

static bool pattern_holds(patterns *known, const char *pattern, const char *text) {
    size_t at = 0;
    while (at < known->count && known->texts[at] != pattern)
        at++;
    if (at == known->count) {
        if (at == MOST_PATTERNS || regcomp(&known->compiled[at], pattern, REG_EXTENDED | REG_NOSUB) != 0)
            return false;
        known->texts[known->count++] = pattern;
    }
    return regexec(&known->compiled[at], text, 0, NULL, 0) == 0;
}

/* Of texts, numbers, truths and nulls, which the schemas name. */
static bool same_value(const cz_json *value, const cz_json *wanted) {
    if (value->type != wanted->type)
        return false;
    if (wanted->type == CZ_JSON_TEXT)
        return strcmp(value->text, wanted->text) == 0;
    return value->number == wanted->number && value->truth == wanted->truth;
}

static bool among(const cz_json *value, const cz_json *list) {
    for (size_t i = 0; i < list->length; i++)
        if (same_value(value, &list->items[i]))
            return true;
    return false;
}

/* Whether a limit is kept; words that limit nothing keep all. Lengths are asked before patterns. */
static bool limit_holds(patterns *known, const char *word, const cz_json *value, const cz_json *limit) {
    if (strcmp(word, "const") == 0)
        return same_value(value, limit);
    if (strcmp(word, "enum") == 0)
        return among(value, limit);
    if (strcmp(word, "maxLength") == 0)
        return value->type != CZ_JSON_TEXT || cz_characters(value->text) <= (size_t)limit->integer;
    if (strcmp(word, "pattern") == 0)
        return value->type != CZ_JSON_TEXT || pattern_holds(known, limit->text, value->text);
    if (strcmp(word, "minItems") == 0)
        return value->type != CZ_JSON_LIST || value->length >= (size_t)limit->integer;
    if (strcmp(word, "maxItems") == 0)
        return value->type != CZ_JSON_LIST || value->length <= (size_t)limit->integer;
    if (strcmp(word, "minProperties") == 0)
        return value->type != CZ_JSON_OBJECT || value->length >= (size_t)limit->integer;
    if (strcmp(word, "maxProperties") == 0)
        return value->type != CZ_JSON_OBJECT || value->length <= (size_t)limit->integer;
    if (strcmp(word, "minimum") == 0)
        return value->type != CZ_JSON_NUMBER || value->number >= limit->number;
    if (strcmp(word, "maximum") == 0)
        return value->type != CZ_JSON_NUMBER || value->number <= limit->number;
    return value->type != CZ_JSON_NUMBER || value->number > limit->number; /* exclusiveMinimum */
}

static const char *const LIMITS[] = {"const",    "enum",     "maxLength",       "pattern",
                                     "minItems", "maxItems", "minProperties",   "maxProperties",
                                     "minimum",  "maximum",  "exclusiveMinimum"};
static const char *const OTHERS[] = {"type",  "$ref",  "required", "properties", "additionalProperties",
                                     "items", "allOf", "if",       "then",       "$schema",
                                     "$id",   "$defs", "title",    "description"};

static bool in_list(const char *word, const char *const *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(word, list[i]) == 0)
            return true;
    return false;
}

static bool words_known(check *on, const cz_json *rules) {
    for (size_t i = 0; i < rules->length; i++)
        if (!in_list(rules->keys[i], LIMITS, sizeof LIMITS / sizeof *LIMITS) &&
            !in_list(rules->keys[i], OTHERS, sizeof OTHERS / sizeof *OTHERS))
            return breaks(on, "cannot be checked: this library does not know the schema word %.60s", rules->keys[i]);
    return true;
}

/* Write the place of a part behind that of the whole, which ends at `place`; what is too long is cut. */
static size_t go_to(check *on, size_t place, const char *name, size_t number) {
    size_t room = sizeof on->place - place;
    int written =
        name ? snprintf(on->place + place, room, ".%.60s", name) : snprintf(on->place + place, room, "[%zu]", number);
    size_t end = place + (written > 0 ? (size_t)written : 0);
    return end < sizeof on->place ? end : sizeof on->place - 1;
}

static bool object_holds(check *on, const cz_json *value, const cz_json *rules, size_t place) {
    const cz_json *required = cz_json_get(rules, "required"), *properties = cz_json_get(rules, "properties"),
                  *others = cz_json_get(rules, "additionalProperties");
    for (size_t i = 0; required && i < required->length; i++) {
        const char *name = required->items[i].text;
        if (!cz_json_member(value, name, strlen(name))) {
            go_to(on, place, name, 0);
            return breaks(on, "%s", "is missing");
        }
    }
    for (size_t i = 0; i < value->length; i++) {
        const cz_json *inner = cz_json_member(properties, value->keys[i], strlen(value->keys[i]));
        inner = inner ? inner : others;
        if (!inner || (inner->type == CZ_JSON_BOOL && inner->truth))
            continue;
        size_t end = go_to(on, place, value->keys[i], 0);
        if (inner->type == CZ_JSON_BOOL)
            return breaks(on, "%s", "is unknown");
        if (!obeys(on, &value->items[i], inner, end))
            return false;
        on->place[place] = 0;
    }
    return true;
}

/* What allOf and if ask for besides. */
static bool further_holds(check *on, const cz_json *value, const cz_json *rules, size_t place) {
    const cz_json *all = cz_json_get(rules, "allOf"), *when = cz_json_get(rules, "if"),
                  *then = cz_json_get(rules, "then");
    for (size_t i = 0; all && i < all->length; i++)
        if (!obeys(on, value, &all->items[i], place))
            return false;
    if (!when || !then)
        return true;
    check tried = *on;
    return !obeys(&tried, value, when, place) || obeys(on, value, then, place);
}

static bool obeys(check *on, const cz_json *value, const cz_json *rules, size_t place) {
    if (!words_known(on, rules))
        return false;
    const cz_json *reference = cz_json_get(rules, "$ref"), *type = cz_json_get(rules, "type"),
                  *items = cz_json_get(rules, "items");
    if (reference) {
        const char *name = strrchr(reference->text, '/') + 1;
        return obeys(on, value, cz_json_member(cz_json_get(on->schema, "$defs"), name, strlen(name)), place);
    }
    if (type && !type_holds(on, value, type))
        return false;
    for (size_t i = 0; i < sizeof LIMITS / sizeof *LIMITS; i++) {
        const cz_json *limit = cz_json_get(rules, LIMITS[i]);
        if (limit && !limit_holds(on->patterns, LIMITS[i], value, limit))
            return breaks(on, "breaks %s", LIMITS[i]);
    }
    if (value->type == CZ_JSON_OBJECT && !object_holds(on, value, rules, place))
        return false;
    for (size_t i = 0; items && value->type == CZ_JSON_LIST && i < value->length; i++) {
        size_t end = go_to(on, place, NULL, i);
        if (!obeys(on, &value->items[i], items, end))
            return false;
        on->place[place] = 0;
    }
    return further_holds(on, value, rules, place);
}

/* Schemas that were read, with their patterns: read once, since a document is held to them for each golden set. */
#define MOST_SCHEMAS 8
typedef struct known_schema {
    cz_json_document *document;
    patterns patterns;
} known_schema;
static known_schema *known_schemas[MOST_SCHEMAS];
static pthread_mutex_t checking = PTHREAD_MUTEX_INITIALIZER;

static int known_of(size_t at, const char *where, known_schema **known, cz_error *error) {
    const cz_embedded *embedded = &cz_schemas[at];
    *known = known_schemas[at];
    if (*known)
        return CZ_OK;
    *known = calloc(1, sizeof **known);
    if (!*known)
        return cz_fail(error, CZ_NO_MEMORY, "%s: no memory to check it", where);
    int result = cz_json_read((const char *)embedded->data, embedded->size, embedded->id, &(*known)->document, error);
    if (result)
        free(*known);
    else
        known_schemas[at] = *known;
    return result;
}

static int check_against(size_t at, const cz_json *value, const char *where, cz_error *error) {
    known_schema *known;
    pthread_mutex_lock(&checking);
    int result = known_of(at, where, &known, error);
    if (!result) {
        check on = {.schema = cz_json_root(known->document), .patterns = &known->patterns, .place = "$"};
        if (!obeys(&on, value, on.schema, 1))
            result = cz_fail(error, CZ_BAD_BUNDLE,
                             "%s: %s %s; it breaks its schema, export the bundle or sign the release again", where,
                             on.place, on.problem);
    }
    pthread_mutex_unlock(&checking);
    return result;
}

int cz_schema_check(const cz_json *value, const char *schema, const char *where, cz_error *error) {
    for (size_t i = 0; i < cz_n_schemas && i < MOST_SCHEMAS; i++)
        if (strcmp(cz_schemas[i].id, schema) == 0)
            return check_against(i, value, where, error);
    return cz_fail(error, CZ_BAD_BUNDLE, "%s: this library was built without %s; use one that knows it", where, schema);
}
