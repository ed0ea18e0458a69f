/* Opens a bundle: what was checked is what is used. */
#include <math.h>
#include <stdio.h>
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

int cz_name_bundle(const char *where, int result, cz_error *error) {
    if (!result || !error || strstr(error->text, where))
        return result;
    cz_error inner = *error;
    return cz_fail(error, result, "%.255s: %.255s", where, inner.text);
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
        result = cz_check_stated(&values, error);
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

int64_t cz_bundle_release(const cz_bundle *bundle) {
    return bundle ? bundle->release : 0;
}

const cz_file *cz_bundle_file(const cz_bundle *bundle, const char *path) {
    for (size_t i = 0; i < bundle->count; i++)
        if (strcmp(bundle->files[i].path, path) == 0)
            return &bundle->files[i];
    return NULL;
}

const cz_json *cz_bundle_json(const cz_bundle *bundle) {
    return &bundle->root;
}

const char *cz_bundle_where(const cz_bundle *bundle) {
    return bundle->store.where;
}

const void *cz_bundle_model(const cz_bundle *bundle) {
    return bundle->model;
}

const cz_kind_ops *cz_bundle_kind(const cz_bundle *bundle) {
    return bundle->ops;
}

static const char *text_at(const cz_bundle *bundle, const char *place, const char *otherwise) {
    const cz_json *value = cz_json_get(&bundle->root, place);
    return value && value->type == CZ_JSON_TEXT ? value->text : otherwise;
}

static int64_t bytes_at(const cz_bundle *bundle, const char *place) {
    const cz_json *value = cz_json_get(&bundle->root, place);
    return value && value->whole ? value->integer : 0;
}

void cz_bundle_info(const cz_bundle *bundle, cz_info *info) {
    if (!info)
        return;
    *info = (cz_info){
        .id = "", .version = "", .category = "", .profile = "", .threshold = (double)NAN, .prefetch = "none"};
    if (!bundle)
        return;
    const cz_json *root = &bundle->root, *threshold = cz_json_get(root, "calibration.threshold");
    bool number = threshold && threshold->type == CZ_JSON_NUMBER;
    const char *mode = bundle->ops->kind == CZ_PREFETCH ? "policy.mode" : "calibration.with_prefetch.mode";
    *info = (cz_info){
        .protocol = CZ_PROTOCOL,
        .kind = bundle->ops->kind,
        .id = text_at(bundle, "id", ""),
        .version = text_at(bundle, "version", ""),
        .category = text_at(bundle, "category", ""),
        .profile = text_at(bundle, "profile", ""),
        .features = (int32_t)cz_json_get(root, "features")->length,
        .outputs = (int32_t)cz_json_get(root, "golden.outputs")->length,
        .page_bytes = bytes_at(bundle, "geometry.page_bytes"),
        .segment_bytes = bytes_at(bundle, "geometry.segment_bytes"),
        .block_bytes = bytes_at(bundle, "geometry.block_bytes"),
        .threshold = number ? threshold->number : (double)NAN,
        .prefetch = text_at(bundle, mode, "none"),
    };
    memcpy(info->digest, bundle->digest, sizeof info->digest);
    memcpy(info->model_digest, bundle->model_digest, sizeof info->model_digest);
}
