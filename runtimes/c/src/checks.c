/* Every check of a bundle's files, before anything uses them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bundle.h"

static const char *const REQUIRED[] = {
    CZ_ACTS, "card.md", "golden/requests.csv", "golden/features.npy", "golden/outputs.npy", "golden/decisions.npy"};

/* [A-Za-z0-9_][A-Za-z0-9_.-]* between slashes. */
static bool portable(const char *path) {
    bool first = true;
    for (; *path; path++) {
        bool letter = (*path >= 'A' && *path <= 'Z') || (*path >= 'a' && *path <= 'z') ||
                      (*path >= '0' && *path <= '9') || *path == '_';
        if (*path == '/' ? first : !letter && (first || (*path != '.' && *path != '-')))
            return false;
        first = *path == '/';
    }
    return !first;
}

static int refused_reason(const cz_store *store, cz_error *error) {
    cz_entry *entry = cz_store_find(store, CZ_REFUSED);
    cz_json_document *document = NULL;
    const cz_json *reason = NULL;
    int result = cz_store_read(store, entry, error);
    if (result)
        return result;
    if (!cz_json_read((const char *)entry->data, (size_t)entry->size, store->where, &document, NULL))
        reason = cz_json_get(cz_json_root(document), "reason");
    cz_refuse(store->where, error, "it has no bundle", "export refused this model: %.300s",
              reason && reason->type == CZ_JSON_TEXT ? reason->text : "no reason given");
    cz_json_free(document);
    return CZ_BAD_BUNDLE;
}

static int read_heads(const cz_store *store, cz_error *error) {
    static const char *const names[] = {CZ_MANIFEST, CZ_SEAL};
    if (cz_store_find(store, CZ_REFUSED) && !cz_store_find(store, CZ_MANIFEST))
        return refused_reason(store, error);
    for (size_t i = 0; i < 2; i++) {
        cz_entry *entry = cz_store_find(store, names[i]);
        if (!entry)
            return cz_refuse(store->where, error, "give a bundle's folder or .zip", "holds no %s", names[i]);
        if (entry->size > CZ_MOST_MANIFEST)
            return cz_refuse(store->where, error, CZ_AGAIN, "%s has %llu bytes, more than any manifest", names[i],
                             (unsigned long long)entry->size);
        int result = cz_store_read(store, entry, error);
        if (result)
            return result;
    }
    return CZ_OK;
}

static int read_manifest(cz_bundle *bundle, cz_error *error) {
    char place[400], seal[128];
    const cz_store *store = &bundle->store;
    const cz_entry *raw = cz_store_find(store, CZ_MANIFEST), *sealed = cz_store_find(store, CZ_SEAL);
    snprintf(place, sizeof place, "%.380s/" CZ_MANIFEST, store->where);
    int result = cz_json_read((const char *)raw->data, (size_t)raw->size, place, &bundle->manifest, error);
    if (result)
        return result;
    const cz_json *protocol = cz_json_get(cz_json_root(bundle->manifest), "PROTOCOL");
    if (!protocol || !protocol->whole || protocol->integer != CZ_PROTOCOL)
        return cz_refuse(store->where, error, "use a release that knows it",
                         CZ_MANIFEST " has another PROTOCOL; this release reads %d", CZ_PROTOCOL);
    cz_sha256_of(raw->data, (size_t)raw->size, bundle->digest);
    snprintf(seal, sizeof seal, "%s  " CZ_MANIFEST "\n", bundle->digest);
    if (sealed->size != strlen(seal) || memcmp(sealed->data, seal, strlen(seal)) != 0)
        return cz_refuse(store->where, error, CZ_AGAIN, CZ_MANIFEST " does not have the sha256 that %s states",
                         CZ_SEAL);
    return cz_schema_check(cz_json_root(bundle->manifest), "bundle-manifest-2.json", place, error);
}

static const cz_json *listing(const cz_bundle *bundle) {
    return cz_json_get(cz_json_root(bundle->manifest), "files");
}

static const cz_json *entry_of(const cz_bundle *bundle, const char *path) {
    const cz_json *files = listing(bundle);
    for (size_t i = 0; i < files->length; i++)
        if (strcmp(cz_json_get(&files->items[i], "path")->text, path) == 0)
            return &files->items[i];
    return NULL;
}

static int must_list(const cz_bundle *bundle, const char *path, const char *kind, cz_error *error) {
    if (entry_of(bundle, path))
        return CZ_OK;
    return cz_refuse(bundle->store.where, error, CZ_AGAIN, CZ_MANIFEST " lists no %s, which every %s bundle has", path,
                     kind);
}

static int check_listing(const cz_bundle *bundle, cz_error *error) {
    const char *where = bundle->store.where;
    const cz_json *files = listing(bundle);
    for (size_t i = 0; i < files->length; i++) {
        const char *path = cz_json_get(&files->items[i], "path")->text;
        if (!portable(path))
            return cz_refuse(where, error, CZ_AGAIN,
                             CZ_MANIFEST " lists the path '%.80s', which leaves the bundle or is not portable", path);
        if (entry_of(bundle, path) != &files->items[i] || strcmp(path, CZ_MANIFEST) == 0 || strcmp(path, CZ_SEAL) == 0)
            return cz_refuse(where, error, CZ_AGAIN, CZ_MANIFEST " lists %.80s twice or lists itself", path);
    }
    for (size_t i = 0; i < sizeof REQUIRED / sizeof *REQUIRED; i++) {
        int result = must_list(bundle, REQUIRED[i], "", error);
        if (result)
            return result;
    }
    return CZ_OK;
}

static int compare_names(const cz_bundle *bundle, cz_error *error) {
    const cz_store *store = &bundle->store;
    const cz_json *files = listing(bundle);
    for (size_t i = 0; i < files->length; i++) {
        const char *path = cz_json_get(&files->items[i], "path")->text;
        if (!cz_store_find(store, path))
            return cz_refuse(store->where, error, CZ_AGAIN, "%.200s is missing", path);
    }
    for (size_t i = 0; i < store->count; i++) {
        const char *path = store->entries[i].path;
        if (!entry_of(bundle, path) && strcmp(path, CZ_MANIFEST) != 0 && strcmp(path, CZ_SEAL) != 0)
            return cz_refuse(store->where, error, "remove it or export the bundle again",
                             "'%.200s' is not listed in " CZ_MANIFEST, path);
    }
    return CZ_OK;
}

static int check_content(cz_bundle *bundle, const cz_json *item, cz_error *error) {
    const cz_store *store = &bundle->store;
    const char *path = cz_json_get(item, "path")->text;
    const cz_json *size = cz_json_get(item, "size");
    cz_entry *entry = cz_store_find(store, path);
    char digest[65];
    if (!size->whole || (uint64_t)size->integer != entry->size)
        return cz_refuse(store->where, error, CZ_AGAIN, "%.200s has %llu bytes, the manifest says %.0f", path,
                         (unsigned long long)entry->size, size->number);
    int result = cz_store_read(store, entry, error);
    if (result)
        return result;
    cz_sha256_of(entry->data, (size_t)entry->size, digest);
    if (strcmp(digest, cz_json_get(item, "sha256")->text) != 0)
        return cz_refuse(store->where, error, CZ_AGAIN, "%.200s does not have the sha256 that the manifest states",
                         path);
    bundle->files[bundle->count++] = (cz_file){entry->path, entry->data, (size_t)entry->size};
    return CZ_OK;
}

static int by_path(const void *left, const void *right) {
    return strcmp(((const cz_file *)left)->path, ((const cz_file *)right)->path);
}

static int check_contents(cz_bundle *bundle, cz_error *error) {
    const cz_json *files = listing(bundle);
    int result = CZ_OK;
    bundle->files = calloc(files->length, sizeof *bundle->files);
    if (!bundle->files)
        return cz_fail(error, CZ_NO_MEMORY, "%s: no memory to read it", bundle->store.where);
    for (size_t i = 0; i < files->length && !result; i++)
        result = check_content(bundle, &files->items[i], error);
    qsort(bundle->files, bundle->count, sizeof *bundle->files, by_path);
    return result;
}

/* Of the model and its golden rows: of every file but the card, whatever was measured of them. */
static void sum_model(cz_bundle *bundle) {
    char digest[65];
    cz_sha256 sum;
    cz_sha256_start(&sum);
    for (size_t i = 0; i < bundle->count; i++) {
        const cz_file *file = &bundle->files[i];
        if (strcmp(file->path, "card.md") == 0)
            continue;
        cz_sha256_of(file->data, file->size, digest);
        cz_sha256_add(&sum, digest, 64);
        cz_sha256_add(&sum, "  ", 2);
        cz_sha256_add(&sum, file->path, strlen(file->path));
        cz_sha256_add(&sum, "\n", 1);
    }
    cz_sha256_end(&sum, bundle->model_digest);
}

/* Manifest and model in one object; a key of both is refused. */
static int merge(cz_bundle *bundle, cz_error *error) {
    const cz_json *parts[2] = {cz_json_root(bundle->manifest), cz_json_root(bundle->model_document)};
    size_t count = parts[0]->length + parts[1]->length, used = 0;
    cz_json *items = malloc(count * sizeof *items);
    const char **keys = malloc(count * sizeof *keys);
    bundle->root = (cz_json){.type = CZ_JSON_OBJECT, .length = count, .items = items, .keys = keys};
    if (!items || !keys)
        return cz_fail(error, CZ_NO_MEMORY, "%s: no memory to read it", bundle->store.where);
    for (size_t part = 0; part < 2; part++)
        for (size_t i = 0; i < parts[part]->length; i++) {
            if (part == 1 && cz_json_member(parts[0], parts[1]->keys[i], strlen(parts[1]->keys[i])))
                return cz_refuse(bundle->store.where, error, CZ_AGAIN,
                                 "'%.80s' stands in both " CZ_MANIFEST " and " CZ_ACTS, parts[1]->keys[i]);
            keys[used] = parts[part]->keys[i];
            items[used++] = parts[part]->items[i];
        }
    return CZ_OK;
}

static int read_model_document(cz_bundle *bundle, cz_error *error) {
    char place[400];
    const cz_file *file = cz_bundle_file(bundle, CZ_ACTS);
    snprintf(place, sizeof place, "%.380s/" CZ_ACTS, bundle->store.where);
    if (file->size > CZ_MOST_MANIFEST)
        return cz_refuse(bundle->store.where, error, CZ_AGAIN, "%s has more bytes than any manifest", CZ_ACTS);
    int result = cz_json_read((const char *)file->data, file->size, place, &bundle->model_document, error);
    const cz_json *kind = result ? NULL : cz_json_get(cz_json_root(bundle->model_document), "kind");
    if (kind && kind->type == CZ_JSON_TEXT && strcmp(kind->text, "prefetch") == 0)
        return cz_refuse(bundle->store.where, error,
                         "use the admission bundle alone, which reads ahead by its own mode",
                         "models of kind prefetch are no longer run");
    if (!result)
        result = cz_schema_check(cz_json_root(bundle->model_document), "bundle-model-2.json", place, error);
    if (!result)
        result = merge(bundle, error);
    if (result)
        return result;
    sum_model(bundle);
    if (strcmp(bundle->model_digest, cz_json_get(&bundle->root, "model_digest")->text) != 0)
        return cz_refuse(bundle->store.where, error, CZ_AGAIN,
                         "%s does not have the model_digest that " CZ_MANIFEST " states", "what acts");
    return CZ_OK;
}

int cz_check_store(cz_bundle *bundle, cz_error *error) {
    int result = read_heads(&bundle->store, error);
    if (!result)
        result = read_manifest(bundle, error);
    if (!result)
        result = check_listing(bundle, error);
    if (!result)
        result = compare_names(bundle, error);
    if (!result)
        result = check_contents(bundle, error);
    if (!result)
        result = read_model_document(bundle, error);
    if (result)
        return result;
    const char *kind = cz_json_get(&bundle->root, "kind")->text;
    const cz_json *type = cz_json_get(&bundle->root, "policy.type");
    const char *const *own = cz_kind_files(kind, type && type->type == CZ_JSON_TEXT ? type->text : "");
    for (; own && *own && !result; own++)
        result = must_list(bundle, *own, kind, error);
    return result;
}
