/* A golden set: requests, and the features, outputs and decisions that they must give. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"
#include "monitor.h"
#include "policy_bundle.h"

static const cz_file *file_of(const cz_bundle *bundle, const char *folder, const char *name, char *path, size_t room,
                              cz_error *error) {
    snprintf(path, room, "%s%s", folder, name);
    const cz_file *file = cz_bundle_file(bundle, path);
    if (!file)
        cz_refuse(bundle->store.where, error, CZ_AGAIN, "lists no %.200s, which its golden sets name", path);
    return file;
}

static int read_array(const cz_bundle *bundle, const char *folder, const char *name, const char *type, int64_t columns,
                      int64_t *rows, void **array, cz_error *error) {
    char path[300];
    const cz_file *file = file_of(bundle, folder, name, path, sizeof path, error);
    if (!file)
        return CZ_BAD_BUNDLE;
    return cz_npy_read(bundle->store.where, path, file->data, file->size, type, columns, rows, array, error);
}

static int64_t pages_of(const cz_golden *golden, int64_t bytes, bool reads) {
    int64_t pages = 0;
    for (int64_t i = 0; i < golden->rows; i++) {
        const cz_request *request = &golden->requests[i];
        if (reads || request->op == CZ_WRITE)
            pages += (request->offset + request->size - 1) / bytes - request->offset / bytes + 1;
    }
    return pages;
}

static int64_t reads_of(const cz_golden *golden) {
    int64_t reads = 0;
    for (int64_t i = 0; i < golden->rows; i++)
        reads += golden->requests[i].op == CZ_READ;
    return reads;
}

static int rows_are(const cz_bundle *bundle, const char *folder, const char *name, int64_t rows, int64_t wanted,
                    cz_error *error) {
    if (rows == wanted)
        return CZ_OK;
    return cz_refuse(bundle->store.where, error, "export it again",
                     "the runtime gives %lld rows where %.160s%s has %lld", (long long)wanted, folder, name,
                     (long long)rows);
}

/* A kind answers each request once, but for reuse and virtual, which answer pages, policy, which answers those that are
 * fetched ahead too, streams by lifetime, which answer written pages of flash, and workload, whose answers are of
 * windows that it looks at. */
static int check_rows(const cz_bundle *bundle, const cz_values *values, const char *folder, const cz_golden *golden,
                      cz_error *error) {
    int64_t inputs = golden->rows, answers = golden->rows, window, windows, every = 0;
    if (bundle->ops->kind == CZ_REUSE)
        inputs = answers = pages_of(golden, 4096, true);
    if (bundle->ops->kind == CZ_VIRTUAL)
        answers = pages_of(golden, 4096, true);
    if (bundle->ops->kind == CZ_POLICY)
        answers = pages_of(golden, 4096, true) + cz_policy_rows_ahead(values) * reads_of(golden);
    if (bundle->ops->kind == CZ_STREAMS && cz_places_by_lifetime(cz_values_get(values, "policy.type")->text))
        inputs = answers = pages_of(golden, CZ_FLASH_PAGE, false);
    if (bundle->ops->kind == CZ_WORKLOAD) {
        int result = cz_values_whole(values, "policy.window", 1, CZ_MOST_WINDOW, &window, error);
        if (!result)
            result = cz_values_whole(values, "policy.vote_windows", 1, CZ_MOST_VOTES, &windows, error);
        if (!result && cz_values_get(values, "policy.vote_every_s"))
            result = cz_values_whole(values, "policy.vote_every_s", 0, CZ_MOST_EVERY, &every, error);
        if (result)
            return result;
        inputs = cz_looked_at(golden->requests, golden->rows, window * windows, every * CZ_SECOND_US);
        answers = inputs / window;
    }
    int result = rows_are(bundle, folder, "features.npy", golden->feature_rows, inputs, error);
    if (!result)
        result = rows_are(bundle, folder, "outputs.npy", golden->output_rows, answers, error);
    if (!result)
        result = rows_are(bundle, folder, "decisions.npy", golden->decision_rows, answers, error);
    return result;
}

static int read_arrays(const cz_bundle *bundle, const char *folder, cz_golden *golden, cz_error *error) {
    void *features = NULL, *outputs = NULL, *decisions = NULL;
    int result =
        read_array(bundle, folder, "features.npy", "<f4", golden->n_features, &golden->feature_rows, &features, error);
    if (!result)
        result =
            read_array(bundle, folder, "outputs.npy", "<f4", golden->n_outputs, &golden->output_rows, &outputs, error);
    if (!result)
        result = read_array(bundle, folder, "decisions.npy", "<i4", golden->n_decisions, &golden->decision_rows,
                            &decisions, error);
    golden->features = features;
    golden->outputs = outputs;
    golden->decisions = decisions;
    return result;
}

static int read_requests(const cz_bundle *bundle, const cz_json *entry, const char *folder, cz_golden *golden,
                         cz_error *error) {
    char path[300];
    const cz_json *rows = cz_json_get(entry, "rows");
    const cz_file *file = file_of(bundle, folder, "requests.csv", path, sizeof path, error);
    if (!file)
        return CZ_BAD_BUNDLE;
    int result = cz_requests_read(bundle->store.where, path, file->data, file->size, golden, error);
    if (!result && !(rows->whole && rows->integer == golden->rows))
        return cz_refuse(bundle->store.where, error, CZ_AGAIN, "%.200s has %lld rows, the manifest says %.0f", path,
                         (long long)golden->rows, rows->number);
    return result;
}

int cz_golden_read(const cz_bundle *bundle, const cz_values *values, const cz_json *entry, const char *folder,
                   const char *name, cz_golden *golden, cz_error *error) {
    const cz_json *given = cz_json_get(entry, "context.outputs");
    *golden = (cz_golden){
        .name = name,
        .n_features = (int64_t)cz_json_get(&bundle->root, "features")->length,
        .n_outputs = (int64_t)cz_json_get(entry, "outputs")->length,
        .n_decisions = (int64_t)cz_json_get(entry, "decisions")->length,
        .context = cz_json_get(entry, "context"),
        .outputs_given = given && given->type == CZ_JSON_TEXT && strcmp(given->text, "given") == 0,
    };
    int result = read_requests(bundle, entry, folder, golden, error);
    if (!result)
        result = read_arrays(bundle, folder, golden, error);
    if (!result)
        result = check_rows(bundle, values, folder, golden, error);
    if (result)
        cz_golden_free(golden);
    return result;
}

void cz_golden_free(cz_golden *golden) {
    for (int column = 0; column < 4; column++) {
        for (int32_t i = 0; i < golden->n_names[column]; i++)
            free(golden->names[column][i]);
        free(golden->names[column]);
    }
    free(golden->requests);
    free((void *)(uintptr_t)golden->features);
    free((void *)(uintptr_t)golden->outputs);
    free((void *)(uintptr_t)golden->decisions);
    *golden = (cz_golden){.name = ""};
}
