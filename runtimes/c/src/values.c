/* Values of a bundle by their place, and with the changes of a golden set. */
#include <stdlib.h>
#include <string.h>

#include "bundle.h"

typedef struct copy {
    struct copy *next;
    cz_json items[];
} copy;

static int no_model(const cz_values *values, const char *place, const char *problem, cz_error *error) {
    return cz_fail(error, CZ_BAD_BUNDLE, "%s: the manifest does not describe a %s model (%s %s); export it again",
                   values->where, values->kind, place, problem);
}

const cz_json *cz_values_get(const cz_values *values, const char *place) {
    return cz_json_get(values->root, place);
}

int cz_values_whole(const cz_values *values, const char *place, int64_t least, int64_t most, int64_t *found,
                    cz_error *error) {
    const cz_json *value = cz_values_get(values, place);
    if (!value)
        return no_model(values, place, "is missing", error);
    if (value->whole && value->integer >= least && value->integer <= most) {
        *found = value->integer;
        return CZ_OK;
    }
    return cz_fail(error, CZ_BAD_BUNDLE,
                   "%s: the manifest does not describe a %s model (%s is not a whole number from %lld to %lld); "
                   "export it again",
                   values->where, values->kind, place, (long long)least, (long long)most);
}

int cz_values_number(const cz_values *values, const char *place, double *found, cz_error *error) {
    const cz_json *value = cz_values_get(values, place);
    if (!value || value->type != CZ_JSON_NUMBER)
        return no_model(values, place, value ? "is no number" : "is missing", error);
    *found = value->number;
    return CZ_OK;
}

int cz_values_text(const cz_values *values, const char *place, const char **found, cz_error *error) {
    const cz_json *value = cz_values_get(values, place);
    if (!value || value->type != CZ_JSON_TEXT)
        return no_model(values, place, value ? "is no text" : "is missing", error);
    *found = value->text;
    return CZ_OK;
}

/* Give an object items of its own, so that one of them may be replaced; its keys stay those of the document. */
static bool own_items(cz_changed *changed, cz_json *object) {
    copy *made = malloc(sizeof *made + object->length * sizeof *made->items);
    if (!made)
        return false;
    memcpy(made->items, object->items, object->length * sizeof *made->items);
    made->next = changed->blocks;
    changed->blocks = made;
    object->items = made->items;
    return true;
}

static int replace(cz_changed *changed, const char *place, const cz_json *value, const char *where, cz_error *error) {
    cz_json *at = &changed->root;
    for (const char *name = place;;) {
        const char *point = strchr(name, '.');
        size_t length = point ? (size_t)(point - name) : strlen(name);
        if (!cz_json_member(at, name, length))
            return cz_fail(error, CZ_BAD_BUNDLE, "%s: a golden set changes %.80s, which is not there; export it again",
                           where, place);
        if (!own_items(changed, at))
            return cz_fail(error, CZ_NO_MEMORY, "%s: no memory for a golden set", where);
        at = &at->items[cz_json_member(at, name, length) - at->items];
        if (!point)
            break;
        name = point + 1;
    }
    *at = *value;
    return CZ_OK;
}

int cz_changed_new(const cz_json *root, const cz_json *changes, const char *where, cz_changed *changed,
                   cz_error *error) {
    *changed = (cz_changed){.root = *root};
    if (!changes || changes->type != CZ_JSON_OBJECT)
        return cz_fail(error, CZ_BAD_BUNDLE, "%s: a golden set's changes are no object; export it again", where);
    int result = CZ_OK;
    for (size_t i = 0; i < changes->length && !result; i++)
        result = replace(changed, changes->keys[i], &changes->items[i], where, error);
    if (result)
        cz_changed_free(changed);
    return result;
}

void cz_changed_free(cz_changed *changed) {
    for (copy *one = changed->blocks, *next; one; one = next) {
        next = one->next;
        free(one);
    }
    changed->blocks = NULL;
}
