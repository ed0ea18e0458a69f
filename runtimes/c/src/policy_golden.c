/* Golden sets of kind policy: requests in order through a fresh cache. */
#include "policy_cache.h"

#define MOST_GOLDEN (1 << 24) /* pages that a golden set's cache and its ghosts hold */
#define COLUMNS 3             /* of golden decisions: outcome, victim_page, victim_dirty */

typedef struct remaking {
    const char *where;
    cz_stream *stream;
    cz_memory memory;
    cz_table named; /* pages, in the order in which accesses first name them */
    int64_t at, resident;
} remaking;

static int32_t number_of(remaking *on, int32_t volume, int64_t page) {
    bool found;
    return cz_table_find(&on->named, volume, page, 0, &found) - CZ_FIRST_SLOT;
}

static void put(remaking *on, const cz_policy_page *page, cz_remade *remade) {
    int32_t *row = remade->decisions + COLUMNS * on->at;
    bool left = page->victim_volume >= 0;
    number_of(on, page->volume, page->number);
    on->resident += (page->outcome == 1 || page->outcome == 3) - left;
    row[0] = page->outcome;
    row[1] = left ? number_of(on, page->victim_volume, page->victim_number) : -1;
    row[2] = left && page->victim_dirty;
    remade->outputs[on->at++] = (float)on->resident;
}

static int remake_rows(remaking *on, const cz_golden *golden, cz_remade *remade, cz_error *error) {
    const cz_policy_page *pages;
    int64_t n = 0;
    for (int64_t row = 0; row < golden->rows; row++) {
        const cz_request *request = &golden->requests[row];
        if (cz_policy_access(on->stream, request, &pages, &n) != CZ_OK || n > golden->decision_rows - on->at)
            return cz_fail(error, CZ_BAD_BUNDLE,
                           "%s: golden request %lld has other pages than the golden rows, or more than a cache serves; "
                           "export the bundle again",
                           on->where, (long long)row + 1);
        remade->features[row] = (float)(request->offset / CZ_POLICY_PAGE_BYTES);
        for (int64_t k = 0; k < n; k++)
            put(on, &pages[k], remade);
    }
    return CZ_OK;
}

int cz_policy_remake(const cz_bundle *bundle, const void *model, const cz_golden *golden, cz_remade *remade,
                     cz_error *error) {
    int64_t capacity = cz_json_get(golden->context, "capacity_pages")->integer,
            least = cz_policy_least(model, capacity), every = golden->decision_rows + 2;
    remaking on = {.where = cz_bundle_where(bundle)};
    cz_stream_options options = {.capacity = capacity, .max_keys = every > least ? every : least};
    cz_error why = {0};
    if (least > MOST_GOLDEN)
        return cz_fail(
            error, CZ_BAD_BUNDLE,
            "%s: a golden set's cache of %lld pages remembers more than %d; export the bundle with a smaller "
            "one",
            on.where, (long long)capacity, MOST_GOLDEN);
    int result = cz_stream_golden(bundle, cz_bundle_kind(bundle), model, golden, options, &on.stream, &why);
    if (result)
        return cz_fail(error, CZ_BAD_BUNDLE, "%s: golden.context: %.300s", on.where, why.text);
    cz_table_new(&on.named, &on.memory, golden->decision_rows + CZ_FIRST_SLOT + 1);
    if (on.memory.failed)
        result = cz_fail(error, CZ_NO_MEMORY, "%s: no memory for golden rows", on.where);
    else
        result = remake_rows(&on, golden, remade, error);
    cz_memory_free(&on.memory);
    cz_stream_free(on.stream);
    return result;
}
