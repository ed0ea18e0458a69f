/* Opens a bundle: what was checked is what is used. */
#include <stdlib.h>
#include <string.h>

#include "bundle.h"
#include "release.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "libcachezoo reads weights and golden rows as little-endian machines hold them"
#endif

int cz_open(const char *path, enum cz_precision precision, cz_bundle **bundle, cz_error *error) {
    return cz_open_signed(path, NULL, precision, bundle, error);
}

int cz_open_signed(const char *path, const char *key_file, enum cz_precision precision, cz_bundle **bundle,
                   cz_error *error) {
    cz_store store;
    cz_key key;
    if (!bundle)
        return cz_fail(error, CZ_BAD_CALL, "cz_open: no place for the bundle; pass one");
    *bundle = NULL;
    if (!path || precision < CZ_FP32 || precision > CZ_INT8)
        return cz_fail(error, CZ_BAD_CALL, "cz_open: no path, or an unknown precision; see enum cz_precision");
    int result = cz_key_find(key_file, &key, error);
    if (result)
        return result;
    result = cz_store_open(path, &store, error);
    store.key = key.path ? &key : NULL;
    if (result)
        cz_store_free(&store);
    else
        result = cz_open_store(&store, precision, bundle, error);
    cz_key_free(&key);
    return result;
}

static int make_model(cz_bundle *bundle, enum cz_precision precision, cz_error *error) {
    const char *kind = cz_json_get(&bundle->root, "kind")->text, *id = cz_json_get(&bundle->root, "id")->text,
               *where = bundle->store.where;
    size_t length = strlen(kind);
    cz_values values = {where, kind, &bundle->root};
    int result = cz_check_ranges(&values, error);
    if (!result)
        result = cz_check_rules(&values, error);
    if (!result)
        result = cz_check_values(&values, error);
    if (result)
        return result;
    if (strncmp(id, kind, length) != 0 || id[length] != '.')
        return cz_refuse(where, error, "export the bundle again", "the id %.128s is not of kind %s", id, kind);
    bundle->ops = cz_kind_named(kind);
    if (!bundle->ops)
        return cz_refuse(where, error, "use a library that does", "this library does not run models of kind %s", kind);
    bundle->precision = precision;
    return cz_name_bundle(where, bundle->ops->model_new(bundle, &values, precision, &bundle->model, error), error);
}

int cz_open_store(cz_store *store, enum cz_precision precision, cz_bundle **bundle, cz_error *error) {
    cz_bundle *made = calloc(1, sizeof *made);
    if (!made) {
        cz_store_free(store);
        return cz_fail(error, CZ_NO_MEMORY, "no memory for a bundle");
    }
    made->store = *store;
    *store = (cz_store){.folder = -1};
    int result = cz_check_store(made, error);
    if (!result && made->store.key)
        result = cz_check_release(made, made->store.key, error);
    made->store.key = NULL;
    if (!result)
        result = make_model(made, precision, error);
    if (result)
        cz_close(made);
    else
        *bundle = made;
    return result;
}

void cz_close(cz_bundle *bundle) {
    if (!bundle)
        return;
    if (bundle->model)
        bundle->ops->model_free(bundle->model);
    if (bundle->model_document)
        free(bundle->root.items), free(bundle->root.keys);
    cz_json_free(bundle->manifest);
    cz_json_free(bundle->model_document);
    cz_store_free(&bundle->store);
    free(bundle->files);
    free(bundle);
}
