/* A virtual I/O cache alone: one queue, one cache, a quantum of its own references. */
#include <stdlib.h>
#include <string.h>

#include "virtual.h"

struct cz_virtual {
    cz_view view;
    cz_work work;
    int64_t capacity, since; /* references of this quantum */
};

int cz_virtual_new(const cz_virtual_settings *settings, int64_t capacity, cz_virtual **cache, cz_error *error) {
    if (!cache)
        return cz_fail(error, CZ_BAD_CALL, "cz_virtual_new: no place for the cache; pass one");
    *cache = NULL;
    if (!settings)
        return cz_fail(error, CZ_BAD_CALL, "cz_virtual_new: no settings; pass them");
    int result = cz_view_check(settings, capacity, "", error);
    if (result)
        return result;
    cz_virtual *made = calloc(1, sizeof *made);
    if (made)
        made->capacity = capacity;
    if (!made || !cz_view_new(&made->view, settings) || !cz_work_new(&made->work, made->view.fragments)) {
        cz_virtual_free(made);
        return cz_fail(error, CZ_NO_MEMORY, "no memory for a queue of %lld pages", (long long)settings->pages);
    }
    cz_view_map(&made->view, capacity, &made->work);
    *cache = made;
    return CZ_OK;
}

void cz_virtual_free(cz_virtual *cache) {
    if (!cache)
        return;
    cz_view_free(&cache->view);
    cz_work_free(&cache->work);
    free(cache);
}

int32_t cz_virtual_page(cz_virtual *cache, uint64_t key, cz_place *place) {
    cz_move move = cz_view_reference(&cache->view, key, place);
    if (++cache->since == cache->view.settings.quantum) {
        cache->since = 0;
        cz_view_tally(&cache->view);
        place->moved += (int32_t)cz_view_map(&cache->view, cache->capacity, &cache->work);
        cz_view_decay(&cache->view);
    }
    return move.filled;
}

int cz_virtual_reference(cz_virtual *cache, uint64_t key, cz_place *place) {
    if (!cache || !place)
        return CZ_BAD_CALL;
    cz_virtual_page(cache, key, place);
    return CZ_OK;
}

int cz_virtual_runs(const cz_virtual *cache, cz_run runs[CZ_MOST_RUNS]) {
    if (!cache || !runs)
        return 0;
    memcpy(runs, cache->view.runs, (size_t)cache->view.n_runs * sizeof *runs);
    return cache->view.n_runs;
}

int cz_virtual_save(const cz_virtual *cache, const char *path, cz_error *error) {
    if (!cache || !path)
        return cz_fail(error, CZ_BAD_CALL, "cz_virtual_save: no cache or no path; pass both");
    const int64_t numbers[] = {cache->capacity, cache->since};
    return cz_views_save(&cache->view, 1, numbers, 2, path, error);
}

int cz_virtual_restore(cz_virtual *cache, const char *path, cz_error *error) {
    cz_virtual *fresh;
    int64_t numbers[2];
    if (!cache || !path)
        return cz_fail(error, CZ_BAD_CALL, "cz_virtual_restore: no cache or no path; pass both");
    int result = cz_virtual_new(&cache->view.settings, cache->capacity, &fresh, error);
    if (result)
        return result;
    result = cz_views_restore(&fresh->view, 1, numbers, 2, path, error);
    if (!result && (numbers[0] != cache->capacity || numbers[1] < 0 || numbers[1] >= cache->view.settings.quantum))
        result =
            cz_fail(error, CZ_BAD_STATE, "%s: it is of a cache of another capacity; begin with an empty one", path);
    if (!result && cz_view_mapped(&fresh->view) > cache->capacity)
        result =
            cz_fail(error, CZ_BAD_STATE, "%s: it maps more pages than the cache has; begin with an empty one", path);
    if (!result) {
        cz_virtual kept = *cache;
        *cache = *fresh;
        *fresh = kept;
        cache->since = numbers[1];
    }
    cz_virtual_free(fresh);
    return result;
}

size_t cz_virtual_bytes(const cz_virtual *cache) {
    return sizeof *cache + cz_view_bytes(&cache->view) + cz_work_bytes(&cache->work);
}

int32_t cz_virtual_length(const cz_virtual *cache) {
    return cache->view.queue.length;
}
