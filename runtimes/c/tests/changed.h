/* Stored bundles with one text of their model.json replaced. */
#ifndef CZ_CHANGED_H
#define CZ_CHANGED_H

#include "../fuzz/sealed.h"
#include "test.h"

/* As cz_open; a NULL `text` changes nothing. */
static inline int open_changed(const char *path, const char *text, const char *with, cz_bundle **bundle,
                               cz_error *error) {
    cz_store base;
    sealed_load(path, &base);
    const cz_entry *entry = cz_store_find(&base, CZ_ACTS);
    size_t size = (size_t)entry->size, length = text ? strlen(text) : 0, added = with ? strlen(with) : 0;
    char *made = malloc(size + added + 1);
    const char *at = text ? memmem(entry->data, size, text, length) : (const char *)entry->data;
    REQUIRE(made && at);
    size_t head = (size_t)(at - (const char *)entry->data);
    memcpy(made, entry->data, head);
    if (added)
        memcpy(made + head, with, added);
    memcpy(made + head + added, at + length, size - head - length);
    int result = sealed_open(&base, CZ_ACTS, (unsigned char *)made, size - length + added, CZ_FP32, bundle, error);
    free(made);
    cz_store_free(&base);
    return result;
}

#endif
