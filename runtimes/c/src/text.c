/* UTF-8, and values of JSON by their place. */
#include <string.h>

#include "internal.h"

/* Bytes of the character that begins at `at`, 0 where none of UTF-8 does. */
static size_t character(const unsigned char *at, size_t left) {
    unsigned char first = at[0];
    size_t size = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
    if (size == 0 || size > left)
        return 0;
    for (size_t i = 1; i < size; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (first == 0xe0 && at[1] < 0xa0) || (first == 0xf0 && at[1] < 0x90);
    bool none = (first == 0xed && at[1] >= 0xa0) || (first == 0xf4 && at[1] >= 0x90);
    return overlong || none ? 0 : size;
}

bool cz_is_utf8(const void *data, size_t size) {
    const unsigned char *at = data, *end = at + size;
    while (at < end) {
        size_t step = character(at, (size_t)(end - at));
        if (step == 0)
            return false;
        at += step;
    }
    return true;
}

size_t cz_characters(const char *text) {
    size_t count = 0;
    for (; *text; text++)
        count += (*text & 0xc0) != 0x80;
    return count;
}

const cz_json *cz_json_member(const cz_json *object, const char *key, size_t length) {
    if (!object || object->type != CZ_JSON_OBJECT)
        return NULL;
    for (size_t i = 0; i < object->length; i++)
        if (strncmp(object->keys[i], key, length) == 0 && object->keys[i][length] == 0)
            return &object->items[i];
    return NULL;
}

const cz_json *cz_json_get(const cz_json *value, const char *path) {
    while (value) {
        const char *point = strchr(path, '.');
        value = cz_json_member(value, path, point ? (size_t)(point - path) : strlen(path));
        if (!point)
            return value;
        path = point + 1;
    }
    return NULL;
}
