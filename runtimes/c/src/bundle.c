/* What a bundle that was opened holds, and says of itself. */
#include <math.h>
#include <string.h>

#include "bundle.h"

int cz_name_bundle(const char *where, int result, cz_error *error) {
    if (!result || !error || strstr(error->text, where))
        return result;
    cz_error inner = *error;
    return cz_fail(error, result, "%.255s: %.255s", where, inner.text);
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
    *info =
        (cz_info){.id = "", .version = "", .category = "", .profile = "", .threshold = (double)NAN, .prefetch = "none"};
    if (!bundle)
        return;
    const cz_json *root = &bundle->root, *threshold = cz_json_get(root, "calibration.threshold");
    bool number = threshold && threshold->type == CZ_JSON_NUMBER;
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
        .prefetch = text_at(bundle, "calibration.with_prefetch.mode", "none"),
    };
    memcpy(info->digest, bundle->digest, sizeof info->digest);
    memcpy(info->model_digest, bundle->model_digest, sizeof info->model_digest);
}

const char *cz_category(const cz_bundle *bundle, int32_t place) {
    const cz_json *classes =
        bundle && bundle->ops->kind == CZ_WORKLOAD ? cz_json_get(&bundle->root, "policy.classes") : NULL;
    if (!classes || classes->type != CZ_JSON_LIST || place < 0 || (size_t)place >= classes->length)
        return NULL;
    return classes->items[place].text;
}
