/* release.json and release.sig. Python has the same rules (src/cachezoo/bundles/released.py). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "release.h"

#define DOCUMENT "release.json"
#define SIGNATURE "release.sig"
#define SIGNATURE_BYTES 64
#define MOST_BYTES ((size_t)4 << 20)
#define AGAIN "take the release again from its maker"

static const char *text_of(const cz_json *object, const char *name) {
    return cz_json_get(object, name)->text;
}

static int break_rule(const char *where, cz_error *error, const char *problem, const char *what) {
    return cz_refuse(where, error, "it is no release that this reader knows, " AGAIN, problem, what);
}

static int check_rules(const cz_json *root, const char *where, cz_error *error) {
    const cz_json *bundles = cz_json_get(root, "bundles");
    if (cz_json_get(root, "floor")->integer > cz_json_get(root, "number")->integer)
        return break_rule(where, error, "%s is above its number", "its floor");
    for (size_t i = 0; i < bundles->length; i++) {
        const char *id = text_of(&bundles->items[i], "id"), *kind = text_of(&bundles->items[i], "kind");
        size_t length = strlen(kind);
        if (strncmp(id, kind, length) != 0 || id[length] != '.')
            return break_rule(where, error, "the id %s is not of its kind", id);
        for (size_t j = 0; j < i; j++)
            if (strcmp(text_of(&bundles->items[j], "id"), id) == 0)
                return break_rule(where, error, "it has %s twice", id);
    }
    return CZ_OK;
}

int cz_release_read(const unsigned char *data, size_t size, const char *where, cz_json_document **document,
                    cz_error *error) {
    int result = cz_json_read((const char *)data, size, where, document, error);
    if (!result)
        result = cz_schema_check(cz_json_root(*document), "release-1.json", where, error);
    if (!result)
        result = check_rules(cz_json_root(*document), where, error);
    if (result) {
        cz_json_free(*document);
        *document = NULL;
    }
    return result;
}

/* A path without the slashes, and slashes with a point, at its end; and where its last name begins. */
static char *name_of(char *path) {
    size_t size = strlen(path);
    while (size > 1 && (path[size - 1] == '/' || (path[size - 1] == '.' && path[size - 2] == '/')))
        path[--size] = 0;
    char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int read_beside(const char *path, const cz_key *key, unsigned char *data, size_t most, size_t *size,
                       cz_error *error) {
    if (!cz_read_some(path, data, most + 1, size))
        return cz_fail(error, CZ_BAD_BUNDLE,
                       "%.160s: cannot be read (%s), and %.160s asks for a signed release; copy it beside", path,
                       strerror(errno), key->path);
    return *size <= most ? CZ_OK : cz_refuse(path, error, AGAIN, "has more than %zu bytes", most);
}

/* The release beside the bundle's name, once it is known to be the key's. */
static int open_release(const char *document, const char *signature, const cz_key *key, unsigned char *data,
                        cz_json_document **release, cz_error *error) {
    unsigned char given[SIGNATURE_BYTES + 1];
    size_t size, length;
    int result = read_beside(document, key, data, MOST_BYTES, &size, error);
    if (!result)
        result = read_beside(signature, key, given, SIGNATURE_BYTES, &length, error);
    if (result)
        return result;
    result = length == SIGNATURE_BYTES ? cz_signed_by(given, data, size, key, error) : CZ_BAD_BUNDLE;
    if (result == CZ_BAD_BUNDLE)
        return cz_fail(error, result,
                       "%.160s: " SIGNATURE " is not its signature by the key of %.160s; use nothing of it", document,
                       key->path);
    if (!result)
        result = cz_release_read(data, size, document, release, error);
    if (result)
        return result;
    int64_t number = cz_json_get(cz_json_root(*release), "number")->integer;
    if (number < key->floor)
        result =
            cz_fail(error, CZ_BAD_BUNDLE, "%.160s: is release %lld, and %.160s accepts %lld or later; take a newer one",
                    document, (long long)number, key->path, (long long)key->floor);
    return result;
}

/* A folder may go without the version. */
static bool name_fits(const char *name, const char *id, const char *version, bool folder) {
    char whole[256];
    snprintf(whole, sizeof whole, "%s-%s%s", id, version, folder ? "" : ".zip");
    return strcmp(name, whole) == 0 || (folder && strcmp(name, id) == 0);
}

static int hold_to(cz_bundle *bundle, const cz_json *release, const char *name, cz_error *error) {
    const char *where = bundle->store.where, *id = text_of(&bundle->root, "id"),
               *version = text_of(&bundle->root, "version"), *kind = text_of(&bundle->root, "kind");
    const cz_json *bundles = cz_json_get(release, "bundles"), *found = NULL;
    long long number = (long long)cz_json_get(release, "number")->integer;
    bool folder = bundle->store.folder >= 0;
    for (size_t i = 0; i < bundles->length && !found; i++)
        if (strcmp(text_of(&bundles->items[i], "id"), id) == 0)
            found = &bundles->items[i];
    if (!found)
        return cz_refuse(where, error, AGAIN, "release %lld has no %s", number, id);
    if (strcmp(text_of(found, "version"), version) != 0)
        return cz_refuse(where, error, AGAIN, "is %s %s, and release %lld has %s", id, version, number,
                         text_of(found, "version"));
    if (strcmp(text_of(found, "manifest_sha256"), bundle->digest) != 0 || strcmp(text_of(found, "kind"), kind) != 0)
        return cz_refuse(where, error, AGAIN, "is not the %s %s of release %lld; it was changed", id, version, number);
    if (!name_fits(name, id, version, folder))
        return cz_refuse(where, error, AGAIN, "holds %s %s; its name has to be %s%s%s%s", id, version, id,
                         folder ? "" : "-", folder ? "" : version, folder ? "" : ".zip");
    bundle->release = number;
    return CZ_OK;
}

int cz_check_release(cz_bundle *bundle, const cz_key *key, cz_error *error) {
    const char *where = bundle->store.where;
    size_t room = strlen(where) + sizeof DOCUMENT;
    char *path = strdup(where), *document = malloc(room), *signature = malloc(room);
    unsigned char *data = malloc(MOST_BYTES + 1);
    cz_json_document *release = NULL;
    const char *name = path ? name_of(path) : "";
    int result;
    if (!path || !document || !signature || !data) {
        result = cz_fail(error, CZ_NO_MEMORY, "%.200s: no memory to check its release", where);
    } else if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
        result = cz_fail(error, CZ_BAD_BUNDLE,
                         "%.200s: give the bundle by its name, which the release beside it has to have", where);
    } else {
        snprintf(document, room, "%.*s" DOCUMENT, (int)(name - path), path);
        snprintf(signature, room, "%.*s" SIGNATURE, (int)(name - path), path);
        result = open_release(document, signature, key, data, &release, error);
    }
    if (!result)
        result = hold_to(bundle, cz_json_root(release), name, error);
    cz_json_free(release);
    free(signature);
    free(document);
    free(data);
    free(path);
    return result;
}
