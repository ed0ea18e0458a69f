/* A stored bundle with one file changed and every checksum made true again: damage that no checksum shows. */
#ifndef CZ_SEALED_H
#define CZ_SEALED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bundle.h"

#define SEALED_MANIFEST ((size_t)1 << 21)

/* All files of a stored bundle, in memory. */
static inline void sealed_load(const char *path, cz_store *store) {
    cz_error error;
    int result = cz_store_open(path, store, &error);
    for (size_t i = 0; i < store->count && !result; i++)
        result = cz_store_read(store, &store->entries[i], &error);
    if (result) {
        fprintf(stderr, "%s: %s\n", path, error.text);
        exit(1);
    }
}

static inline int sealed_is_head(const char *path) {
    return strcmp(path, CZ_MANIFEST) == 0 || strcmp(path, CZ_SEAL) == 0;
}

/* The list of files that the manifest should have. */
static inline size_t sealed_list(const cz_store *store, char *out, size_t room, char model_digest[65]) {
    char digest[65];
    size_t used = (size_t)snprintf(out, room, "[");
    cz_sha256 sum;
    cz_sha256_start(&sum);
    for (size_t i = 0; i < store->count; i++) {
        const cz_entry *entry = &store->entries[i];
        if (sealed_is_head(entry->path))
            continue;
        cz_sha256_of(entry->data, (size_t)entry->size, digest);
        used += (size_t)snprintf(out + used, room - used, "%s{\"path\": \"%s\", \"sha256\": \"%s\", \"size\": %llu}",
                                 used > 1 ? ", " : "", entry->path, digest, (unsigned long long)entry->size);
        if (strcmp(entry->path, "card.md") == 0)
            continue;
        cz_sha256_add(&sum, digest, 64);
        cz_sha256_add(&sum, "  ", 2);
        cz_sha256_add(&sum, entry->path, strlen(entry->path));
        cz_sha256_add(&sum, "\n", 1);
    }
    cz_sha256_end(&sum, model_digest);
    return used + (size_t)snprintf(out + used, room - used, "]");
}

/* The manifest with a list of files and a model_digest that are true, where it has such places. */
static inline char *sealed_manifest(const cz_store *store, const char *text, size_t size, size_t *length) {
    static const char key[] = "\"files\": [", digest_key[] = "\"model_digest\": \"";
    char model_digest[65], *out = malloc(2 * SEALED_MANIFEST);
    const char *list = memmem(text, size, key, sizeof key - 1);
    const char *end = list ? memchr(list, ']', size - (size_t)(list - text)) : NULL;
    size_t head = end ? (size_t)(list - text) + sizeof key - 2 : size;
    memcpy(out, text, head);
    *length = head;
    if (end) {
        *length += sealed_list(store, out + head, SEALED_MANIFEST, model_digest);
        size_t tail = size - (size_t)(end + 1 - text);
        memcpy(out + *length, end + 1, tail);
        *length += tail;
        char *place = memmem(out, *length, digest_key, sizeof digest_key - 1);
        if (place && *length - (size_t)(place - out) > sizeof digest_key + 64)
            memcpy(place + sizeof digest_key - 1, model_digest, 64);
    }
    return out;
}

static inline unsigned char *sealed_copy(const void *data, size_t size) {
    return memcpy(malloc(size + 1), data, size);
}

/* Open `base` with the content of one file replaced. */
static inline int sealed_open(const cz_store *base, const char *changed, const unsigned char *data, size_t size,
                              enum cz_precision precision, cz_bundle **bundle, cz_error *error) {
    char seal[100], digest[65];
    cz_store store;
    cz_store_new("sealed", &store, error);
    const unsigned char *manifest = NULL;
    size_t manifest_size = 0, length;
    for (size_t i = 0; i < base->count; i++) {
        const cz_entry *entry = &base->entries[i];
        int here = strcmp(entry->path, changed) == 0;
        const unsigned char *content = here ? data : entry->data;
        size_t bytes = here ? size : (size_t)entry->size;
        if (strcmp(entry->path, CZ_MANIFEST) == 0) {
            manifest = content;
            manifest_size = bytes;
        } else if (!sealed_is_head(entry->path)) {
            cz_store_add(&store, entry->path, strlen(entry->path), sealed_copy(content, bytes), bytes, error);
        }
    }
    *bundle = NULL;
    if (manifest_size > SEALED_MANIFEST) {
        cz_store_free(&store);
        return cz_fail(error, CZ_BAD_BUNDLE, "sealed: the manifest is too large for this harness");
    }
    char *text = sealed_manifest(&store, (const char *)manifest, manifest_size, &length);
    cz_sha256_of(text, length, digest);
    int written = snprintf(seal, sizeof seal, "%s  " CZ_MANIFEST "\n", digest);
    cz_store_add(&store, CZ_MANIFEST, strlen(CZ_MANIFEST), (unsigned char *)text, length, error);
    cz_store_add(&store, CZ_SEAL, strlen(CZ_SEAL), sealed_copy(seal, (size_t)written), (uint64_t)written, error);
    cz_store_sort(&store);
    return cz_open_store(&store, precision, bundle, error);
}

#endif
