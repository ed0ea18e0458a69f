/* One cache for several tenants; see cachezoo.h. */
#include "tenants.h"

#include <stdlib.h>

#include "saved.h"

#define MAGIC "CZTENA1"
#define LAYOUT                                                                                                         \
    2 /* of a part's memory, which is saved as it lies: another one where a struct of reuse_parts.h changes */
enum { USUAL_FRAGMENT = 256, USUAL_WINDOW = 20000, USUAL_REMEMBERED = 4, MOST_PAGES = 1 << 26, MOST_GIVEN = 1 << 20 };
#define MOST_WINDOW (INT64_C(1) << 30)

/* What tenants leave: exchanged whole by cz_tenants_restore. */
typedef struct own {
    cz_part **parts; /* shared: one; fixed: each tenant's */
    cz_ucp ucp;
    int64_t *resident, since;
} own;

struct cz_tenants {
    int32_t how, count, parts, fragment;
    int64_t pages, window, *sizes, *remembered; /* window: of all together; of each part */
    enum cz_classic_name *policies;
    cz_tenant_page *victims;
    own *own;
};

static void own_free(const cz_tenants *tenants, own *made) {
    if (!made)
        return;
    for (int32_t k = 0; made->parts && k < tenants->parts; k++)
        cz_part_free(made->parts[k]);
    cz_ucp_free(&made->ucp);
    free(made->parts);
    free(made->resident);
    free(made);
}

/* Empty; NULL without memory. */
static own *own_new(const cz_tenants *tenants) {
    own *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->parts = calloc((size_t)tenants->parts + 1, sizeof *made->parts);
    made->resident = calloc((size_t)tenants->count, sizeof *made->resident);
    bool done = made->parts && made->resident;
    for (int32_t k = 0; done && k < tenants->parts; k++) {
        made->parts[k] = cz_part_new(tenants->policies[k], tenants->sizes[k], tenants->remembered[k]);
        done = made->parts[k] != NULL;
    }
    if (done && tenants->how == CZ_TENANTS_UCP)
        done = cz_ucp_new(&made->ucp, tenants->count, tenants->fragment, tenants->pages / tenants->fragment,
                          made->resident);
    if (done)
        return made;
    own_free(tenants, made);
    return NULL;
}

/* ---- options ---- */

static int check_pages(const char *who, int64_t pages, cz_error *error) {
    if (pages < 1 || pages > MOST_PAGES)
        return cz_fail(error, CZ_BAD_CALL, "%s of %lld pages; give 1 to 2^26", who, (long long)pages);
    return CZ_OK;
}

static int set_part(cz_tenants *tenants, int32_t k, const char *policy, int64_t pages, int64_t remembered,
                    cz_error *error) {
    tenants->policies[k] = policy ? cz_classic_named(policy) : CZ_CLASSICS;
    tenants->sizes[k] = pages;
    if (tenants->policies[k] == CZ_CLASSICS)
        return cz_fail(error, CZ_BAD_CALL, "part %d: policy %.40s; there are azor, lfu, lirs, lru, s3fifo and wtinylfu",
                       k, policy ? policy : "(none)");
    int result = check_pages("a part", pages, error);
    if (result)
        return result;
    int64_t least = cz_classic_most(tenants->policies[k], pages) + 1;
    if (!remembered)
        remembered = USUAL_REMEMBERED * pages > least ? USUAL_REMEMBERED * pages : least;
    if (remembered < least || remembered > INT32_MAX / 2)
        return cz_fail(error, CZ_BAD_CALL, "part %d: %lld pages remembered; one of %lld pages remembers %lld to 2^30",
                       k, (long long)remembered, (long long)pages, (long long)least);
    tenants->remembered[k] = remembered;
    return CZ_OK;
}

static int set_fixed(cz_tenants *tenants, const cz_tenants_options *options, cz_error *error) {
    int64_t total = 0;
    if (!options->each || options->policy)
        return cz_fail(error, CZ_BAD_CALL, "a fixed split has a policy and pages of each tenant; give each, no policy");
    for (int32_t a = 0; a < tenants->count; a++) {
        int result = check_pages("a part", options->each[a].pages, error);
        if (result)
            return result;
        total += options->each[a].pages;
    }
    if (options->pages && options->pages != total)
        return cz_fail(error, CZ_BAD_CALL, "parts of %lld pages in all in a cache of %lld", (long long)total,
                       (long long)options->pages);
    int result = check_pages("a cache", total, error);
    if (!result && options->remembered < 0)
        result = cz_fail(error, CZ_BAD_CALL, "a cache that remembers %lld pages", (long long)options->remembered);
    tenants->pages = total;
    for (int32_t a = 0; a < tenants->count && !result; a++) {
        const cz_tenant *each = &options->each[a];
        int64_t own = (int64_t)((double)each->pages / (double)total * (double)options->remembered);
        result = set_part(tenants, a, each->policy, each->pages, options->remembered && own < 1 ? 1 : own, error);
    }
    return result;
}

static int set_ucp(cz_tenants *tenants, const cz_tenants_options *options, cz_error *error) {
    int64_t window = options->window ? options->window : USUAL_WINDOW;
    tenants->fragment = options->fragment ? options->fragment : USUAL_FRAGMENT;
    if (options->policy || options->each || options->remembered)
        return cz_fail(error, CZ_BAD_CALL,
                       "UCP has LRU in each part, and remembers the cache's pages for each tenant; "
                       "give no policy, each or remembered");
    if (tenants->fragment < 1 || window < 1 || window > MOST_WINDOW)
        return cz_fail(error, CZ_BAD_CALL,
                       "UCP with a fragment of %d pages and a window of %lld references; give 1 at "
                       "least, and a window of 2^30 at most",
                       tenants->fragment, (long long)window);
    int64_t fragments = tenants->pages / tenants->fragment;
    if (fragments < tenants->count || fragments > MOST_GIVEN)
        return cz_fail(error, CZ_BAD_CALL,
                       "a cache of %lld fragments of %d pages for %d tenants; give one for each, and "
                       "2^20 at most",
                       (long long)fragments, tenants->fragment, tenants->count);
    tenants->window = window * tenants->count;
    return CZ_OK;
}

static int set(cz_tenants *tenants, const cz_tenants_options *options, cz_error *error) {
    if (options->how == CZ_TENANTS_FIXED)
        return set_fixed(tenants, options, error);
    int result = check_pages("a cache", options->pages, error);
    if (result)
        return result;
    if (options->how == CZ_TENANTS_UCP)
        return set_ucp(tenants, options, error);
    if (options->each)
        return cz_fail(error, CZ_BAD_CALL, "one cache for all has no parts; give no `each`");
    return set_part(tenants, 0, options->policy, options->pages, options->remembered, error);
}

int cz_tenants_new(const cz_tenants_options *options, int32_t count, cz_tenants **tenants, cz_error *error) {
    if (!tenants)
        return cz_fail(error, CZ_BAD_CALL, "cz_tenants_new: no place for the cache; pass one");
    *tenants = NULL;
    if (!options || options->how < CZ_TENANTS_SHARED || options->how > CZ_TENANTS_UCP)
        return cz_fail(error, CZ_BAD_CALL, "cz_tenants_new: no options, or none of the three ways");
    if (count < 2 || count > CZ_MOST_APPLICATIONS)
        return cz_fail(error, CZ_BAD_CALL, "a cache is for 2 to %d tenants, not for %d", CZ_MOST_APPLICATIONS, count);
    cz_tenants *made = calloc(1, sizeof *made);
    if (!made)
        return cz_fail(error, CZ_NO_MEMORY, "no memory for %d tenants", count);
    made->how = options->how;
    made->count = count;
    made->pages = options->pages;
    made->parts = made->how == CZ_TENANTS_SHARED ? 1 : made->how == CZ_TENANTS_FIXED ? count : 0;
    made->sizes = calloc((size_t)made->parts + 1, sizeof *made->sizes);
    made->remembered = calloc((size_t)made->parts + 1, sizeof *made->remembered);
    made->policies = calloc((size_t)made->parts + 1, sizeof *made->policies);
    int result = made->sizes && made->remembered && made->policies ? set(made, options, error)
                                                                   : cz_fail(error, CZ_NO_MEMORY, "no memory");
    if (!result) {
        made->victims = calloc(made->how == CZ_TENANTS_UCP ? (size_t)made->pages + 1 : 1, sizeof *made->victims);
        made->own = made->victims ? own_new(made) : NULL;
        result = made->own
                     ? CZ_OK
                     : cz_fail(error, CZ_NO_MEMORY, "no memory for a cache of %lld pages", (long long)made->pages);
    }
    if (result) {
        cz_tenants_free(made);
        return result;
    }
    *tenants = made;
    return CZ_OK;
}

void cz_tenants_free(cz_tenants *tenants) {
    if (!tenants)
        return;
    own_free(tenants, tenants->own);
    free(tenants->sizes);
    free(tenants->remembered);
    free(tenants->policies);
    free(tenants->victims);
    free(tenants);
}

/* ---- references ---- */

int cz_tenants_reference(cz_tenants *tenants, int32_t tenant, uint64_t key, cz_tenant_access *access) {
    if (!tenants || !access || tenant < 0 || tenant >= tenants->count)
        return CZ_BAD_CALL;
    own *own = tenants->own;
    cz_tenant_page *victims = tenants->victims;
    bool ucp = tenants->how == CZ_TENANTS_UCP;
    access->victims = victims;
    if (ucp) {
        access->outcome = cz_ucp_serve(&own->ucp, tenant, key, victims);
        access->n_victims = victims->tenant >= 0;
        if (++own->since == tenants->window) {
            own->since = 0;
            access->n_victims += cz_ucp_split(&own->ucp, victims + access->n_victims);
        }
        return CZ_OK;
    }
    access->outcome = cz_part_serve(own->parts[tenants->parts == 1 ? 0 : tenant], tenant, key, victims);
    access->n_victims = victims->tenant >= 0;
    own->resident[tenant] += access->outcome == CZ_ADMITTED;
    if (access->n_victims)
        own->resident[victims->tenant]--;
    return CZ_OK;
}

int64_t cz_tenants_pages(const cz_tenants *tenants, int32_t tenant) {
    if (!tenants || tenant < 0 || tenant >= tenants->count)
        return 0;
    if (tenants->how == CZ_TENANTS_UCP)
        return tenants->own->ucp.split[tenant] * tenants->fragment;
    return tenants->sizes[tenants->parts == 1 ? 0 : tenant];
}

int64_t cz_tenants_resident(const cz_tenants *tenants, int32_t tenant) {
    return tenants && tenant >= 0 && tenant < tenants->count ? tenants->own->resident[tenant] : 0;
}

/* ---- saved: the options, references of this window, then parts or UCP ---- */

static void put_options(const cz_tenants *tenants, cz_writer *out) {
    const int64_t numbers[] = {LAYOUT,         tenants->how,      tenants->count,
                               tenants->pages, tenants->fragment, tenants->window};
    cz_put_bytes(out, MAGIC, 8);
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
        cz_put(out, (uint64_t)numbers[k], 8);
    for (int32_t k = 0; k < tenants->parts; k++) {
        cz_put(out, (uint64_t)tenants->policies[k], 8);
        cz_put(out, (uint64_t)tenants->sizes[k], 8);
        cz_put(out, (uint64_t)tenants->remembered[k], 8);
    }
}

static void put_all(const cz_tenants *tenants, cz_writer *out) {
    put_options(tenants, out);
    cz_put(out, (uint64_t)tenants->own->since, 8);
    for (int32_t k = 0; k < tenants->parts; k++) {
        const cz_memory *memory = &tenants->own->parts[k]->memory;
        size_t bytes = cz_memory_save(memory, NULL);
        cz_put(out, bytes, 8);
        cz_memory_save(memory, out->at ? out->at + out->size : NULL);
        out->size += bytes;
    }
    if (tenants->how == CZ_TENANTS_UCP)
        cz_ucp_put(&tenants->own->ucp, out);
}

int cz_tenants_save(const cz_tenants *tenants, const char *path, cz_error *error) {
    cz_writer out = {NULL, 0};
    if (!tenants || !path)
        return cz_fail(error, CZ_BAD_CALL, "cz_tenants_save: no cache or no path; pass both");
    put_all(tenants, &out);
    unsigned char *data = malloc(out.size + CZ_CHECKSUM + 1);
    if (!data)
        return cz_fail(error, CZ_NO_MEMORY, "%s: no memory for what is to be written", path);
    out = (cz_writer){data, 0};
    put_all(tenants, &out);
    int result = cz_write_state(path, data, out.size, error);
    free(data);
    return result;
}

static bool take_parts(const cz_tenants *tenants, own *fresh, cz_bytes *in) {
    for (int32_t k = 0; k < tenants->parts; k++) {
        uint64_t bytes = cz_take(in, 8);
        const unsigned char *found = bytes <= in->left ? cz_take_bytes(in, (size_t)bytes) : NULL;
        if (!found || !cz_memory_restore(&fresh->parts[k]->memory, found, (size_t)bytes) ||
            !cz_table_index(&fresh->parts[k]->table) ||
            !cz_part_sound(fresh->parts[k], tenants->count, fresh->resident))
            return false;
    }
    return true;
}

static bool take_all(const cz_tenants *tenants, own *fresh, cz_bytes *in) {
    fresh->since = (int64_t)cz_take(in, 8);
    if (in->failed || fresh->since < 0 || fresh->since > (tenants->window ? tenants->window - 1 : 0))
        return false;
    bool ucp = tenants->how == CZ_TENANTS_UCP;
    return (ucp ? cz_ucp_take(&fresh->ucp, fresh->since, in) : take_parts(tenants, fresh, in)) && !in->failed &&
           in->left == 0;
}

/* Whether the bytes begin with these options; `in` is then behind them. */
static bool same_options(const cz_tenants *tenants, const unsigned char *data, size_t size, cz_bytes *in) {
    cz_writer out = {NULL, 0};
    put_options(tenants, &out);
    unsigned char *head = out.size <= size ? malloc(out.size) : NULL;
    if (!head)
        return false;
    cz_writer again = {head, 0};
    put_options(tenants, &again);
    bool same = memcmp(head, data, out.size) == 0;
    free(head);
    *in = (cz_bytes){data + out.size, size - out.size, false};
    return same;
}

int cz_tenants_restore(cz_tenants *tenants, const char *path, cz_error *error) {
    unsigned char *data;
    size_t size = 0;
    cz_bytes in;
    if (!tenants || !path)
        return cz_fail(error, CZ_BAD_CALL, "cz_tenants_restore: no cache or no path; pass both");
    int result = cz_read_file(path, &data, &size, error);
    own *fresh = result ? NULL : own_new(tenants);
    if (!result && !fresh)
        result = cz_fail(error, CZ_NO_MEMORY, "%s: no memory for it", path);
    if (!result && (!cz_is_state(data, size, MAGIC) || !same_options(tenants, data, size - CZ_CHECKSUM, &in) ||
                    !take_all(tenants, fresh, &in)))
        result = cz_fail(error, CZ_BAD_STATE, "%s: it is damaged, or of other options; begin with an empty one", path);
    if (!result) {
        own *kept = tenants->own;
        tenants->own = fresh;
        fresh = kept;
    }
    own_free(tenants, fresh);
    free(data);
    return result;
}
