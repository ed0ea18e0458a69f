/* The files of a bundle by path: what was found of it, before and after it is checked. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store.h"

#define MOST_FILES 4096

static int no_memory(const char *where, cz_error *error) {
    return cz_fail(error, CZ_NO_MEMORY, "%s: no memory to read it", where);
}

int cz_store_new(const char *where, cz_store *store, cz_error *error) {
    *store = (cz_store){.where = strdup(where), .folder = -1};
    return store->where ? CZ_OK : no_memory(where, error);
}

void cz_store_free(cz_store *store) {
    for (size_t i = 0; i < store->count; i++) {
        free(store->entries[i].path);
        free(store->entries[i].data);
    }
    free(store->entries);
    free(store->where);
    if (store->folder >= 0)
        close(store->folder);
    *store = (cz_store){.folder = -1};
}

int cz_store_add(cz_store *store, const char *path, size_t length, unsigned char *data, uint64_t size,
                 cz_error *error) {
    if (store->count == MOST_FILES) {
        free(data);
        return cz_refuse(store->where, error, CZ_AGAIN, "holds more than %d files", MOST_FILES);
    }
    if (size > CZ_MOST_FILE - store->bytes) {
        free(data);
        return cz_refuse(store->where, error, CZ_AGAIN, "its files have more than 1 GiB, more than any bundle");
    }
    if (store->count == store->room) {
        size_t room = store->room ? 2 * store->room : 16;
        cz_entry *entries = realloc(store->entries, room * sizeof *entries);
        if (entries) {
            store->entries = entries;
            store->room = room;
        }
    }
    char *name = strndup(path, length);
    if (store->count == store->room || !name) {
        free(name);
        free(data);
        return no_memory(store->where, error);
    }
    store->entries[store->count++] = (cz_entry){name, data, size};
    store->bytes += size;
    return CZ_OK;
}

static int by_path(const void *left, const void *right) {
    return strcmp(((const cz_entry *)left)->path, ((const cz_entry *)right)->path);
}

void cz_store_sort(cz_store *store) {
    if (store->count)
        qsort(store->entries, store->count, sizeof *store->entries, by_path);
}

cz_entry *cz_store_find(const cz_store *store, const char *path) {
    cz_entry wanted = {.path = (char *)(uintptr_t)path};
    return store->count ? bsearch(&wanted, store->entries, store->count, sizeof wanted, by_path) : NULL;
}
