/* The kinds of model that this library knows. */
#include <string.h>

#include "bundle.h"

static const cz_kind_ops *const KINDS[] = {
#ifdef CZ_HAVE_ADMISSION
    &cz_kind_admission,
#endif
#ifdef CZ_HAVE_CACHING
    &cz_kind_caching,
#endif
#ifdef CZ_HAVE_WORKLOAD
    &cz_kind_workload,
#endif
#ifdef CZ_HAVE_REUSE
    &cz_kind_reuse,
#endif
#ifdef CZ_HAVE_STREAMS
    &cz_kind_streams,
#endif
#ifdef CZ_HAVE_VIRTUAL
    &cz_kind_virtual,
#endif
#ifdef CZ_HAVE_POLICY
    &cz_kind_policy,
#endif
    NULL,
};

static const char *const FOREST[] = {"model.lgb.txt", NULL};
static const char *const NETWORK[] = {"weights.safetensors", NULL};
static const char *const TABLE[] = {"sid.bin", NULL};
static const char *const PROFILE[] = {"profile.bin", NULL};
static const char *const NOTHING[] = {NULL};

const cz_kind_ops *cz_kind_named(const char *kind) {
    for (size_t i = 0; KINDS[i]; i++)
        if (strcmp(KINDS[i]->name, kind) == 0)
            return KINDS[i];
    return NULL;
}

const char *const *cz_kind_files(const char *kind, const char *type) {
    static const struct {
        const char *kind;
        const char *const *files;
    } known[] = {{"admission", FOREST}, {"reuse", FOREST},    {"caching", NETWORK}, {"workload", NETWORK},
                 {"streams", TABLE},    {"virtual", PROFILE}, {"policy", NOTHING}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].kind, kind) == 0)
            return known[i].files == TABLE && cz_places_by_lifetime(type) ? FOREST : known[i].files;
    return NULL;
}

/* Places, with [] after them where there is a list of such numbers. */
static const struct {
    const char *kind, *place;
    int64_t least, most;
} SIZES[] = {
    {"admission", "geometry.block_bytes", 512, (int64_t)1 << 40},
    {"admission", "geometry.segment_bytes", 512, (int64_t)1 << 40},
    {"admission", "policy.history.bucket_requests", 1, (int64_t)1 << 40},
    {"admission", "policy.history.windows[]", 1, 1 << 12},
    {"caching", "arch.layers", 1, 64},
    {"caching", "arch.units", 1, 1 << 12},
    {"caching", "golden.context.capacity_pages", 1, 1 << 22},
    {"caching", "policy.demote_capacities", 1, 1 << 20},
    {"caching", "policy.protected_percent", 0, 100},
    {"caching", "policy.sequence", 1, (int64_t)1 << 31},
    {"caching", "policy.memory.memory_accesses", 1, (int64_t)1 << 40},
    {"caching", "policy.memory.window_accesses", 1, (int64_t)1 << 40},
    {"caching", "policy.memory.region_bytes", 4096, (int64_t)1 << 62},
    {"caching", "policy.memory.region_bits", 1, 24},
    {"workload", "arch.layers", 1, 64},
    {"workload", "arch.units", 1, 1 << 12},
    {"workload", "policy.window", 1, 1 << 12},
    {"workload", "policy.vote_windows", 1, 1 << 20},
    {"workload", "policy.switch_votes", 1, (int64_t)1 << 31},
    {"reuse", "golden.context.capacity_pages", 1, 1 << 19},
    {"reuse", "policy.candidates", 1, 4096},
    {"reuse", "policy.seed", 0, (int64_t)1 << 31},
    {"reuse", "policy.own_trees", 0, 1000},
    {"reuse", "policy.own_rows", 1, 1000000},
    {"streams", "arch.streams", 1, 256},
    {"streams", "geometry.chunk_bytes", 32768, 32768},
    {"virtual", "golden.context.capacity_pages", 1, 1 << 22},
    {"virtual", "arch.pages", 1, 1 << 26},
    {"virtual", "arch.fragment", 1, 1 << 16},
    {"virtual", "arch.runs", 1, 16},
    {"virtual", "arch.quantum", 1, (int64_t)1 << 40},
    {"policy", "golden.context.capacity_pages", 1, 1 << 22},
};

static int check_list(const cz_values *values, const char *place, int64_t least, int64_t most, cz_error *error) {
    char name[80];
    size_t length = strlen(place) - 2;
    memcpy(name, place, length);
    name[length] = 0;
    const cz_json *list = cz_values_get(values, name);
    if (!list || list->type != CZ_JSON_LIST || list->length < 1 || list->length > 64)
        return cz_fail(error, CZ_BAD_BUNDLE,
                       "%s: the manifest does not describe a %s model (%s is no list of 1 to 64 numbers); "
                       "export it again",
                       values->where, values->kind, name);
    for (size_t i = 0; i < list->length; i++)
        if (!list->items[i].whole || list->items[i].integer < least || list->items[i].integer > most)
            return cz_fail(error, CZ_BAD_BUNDLE,
                           "%s: the manifest does not describe a %s model (%s[%zu] is not a whole number from %lld "
                           "to %lld); export it again",
                           values->where, values->kind, name, i, (long long)least, (long long)most);
    return CZ_OK;
}

int cz_check_ranges(const cz_values *values, cz_error *error) {
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
        const char *place = SIZES[i].place;
        int64_t found;
        if (strcmp(SIZES[i].kind, values->kind) != 0)
            continue;
        int result = place[strlen(place) - 1] == ']'
                         ? check_list(values, place, SIZES[i].least, SIZES[i].most, error)
                         : cz_values_whole(values, place, SIZES[i].least, SIZES[i].most, &found, error);
        if (result)
            return result;
    }
    return CZ_OK;
}
