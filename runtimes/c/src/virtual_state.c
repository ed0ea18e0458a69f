/* Virtual caches in files.
 *
 *     8 bytes   "CZVIRT1", a zero
 *     4         views
 *     8 each    the caller's numbers
 *     ...       views: settings, queue, value, crossings, change, runs
 *     64        sha256 of all before
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "virtual.h"

#define MAGIC "CZVIRT1"
#define MOST_CHANGE ((int64_t)1 << 41) /* references of a quantum, and one more */

static void put_doubles(cz_writer *out, const double *values, int32_t count) {
    cz_put_bytes(out, values, (size_t)count * sizeof *values);
}

static void put_settings(const cz_virtual_settings *own, cz_writer *out) {
    const int64_t whole[] = {own->queue, own->fragment, own->runs, own->pages, own->quantum};
    const double real[] = {own->decay, own->cost};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        cz_put(out, (uint64_t)whole[i], 8);
    put_doubles(out, real, 2);
}

void cz_view_put(const cz_view *view, cz_writer *out) {
    put_settings(&view->settings, out);
    cz_queue_put(&view->queue, out);
    put_doubles(out, view->value, view->fragments);
    put_doubles(out, view->crossings, view->fragments);
    for (int32_t b = 0; b <= view->fragments; b++)
        cz_put(out, (uint64_t)view->change[b], 8);
    cz_put(out, (uint64_t)view->n_runs, 4);
    for (int r = 0; r < view->n_runs; r++) {
        cz_put(out, (uint64_t)view->runs[r].low, 8);
        cz_put(out, (uint64_t)view->runs[r].high, 8);
    }
}

/* Numbers of hits and crossings: at least 0, and far from where doubles end. */
static bool take_doubles(cz_bytes *in, double *values, int32_t count) {
    const unsigned char *found = cz_take_bytes(in, (size_t)count * sizeof *values);
    if (!found)
        return false;
    memcpy(values, found, (size_t)count * sizeof *values);
    for (int32_t i = 0; i < count; i++)
        if (!(values[i] >= 0 && values[i] <= 0x1p100))
            return false;
    return true;
}

static bool take_runs(cz_view *view, cz_bytes *in) {
    uint64_t count = cz_take(in, 4);
    int64_t least = 0;
    if (in->failed || count < 1 || count > (uint64_t)view->settings.runs)
        return false;
    view->n_runs = (int32_t)count;
    for (int32_t r = 0; r < view->n_runs; r++) {
        cz_run *run = &view->runs[r];
        run->low = (int64_t)cz_take(in, 8);
        run->high = (int64_t)cz_take(in, 8);
        if (in->failed || run->low < least || run->high <= run->low || run->high > view->settings.pages)
            return false;
        least = run->high;
    }
    return true;
}

/* Up to any fragment they add up to references that crossed its beginning, and to none behind the last. */
static bool take_change(cz_view *view, cz_bytes *in) {
    int64_t crossed = 0;
    for (int32_t b = 0; b <= view->fragments; b++) {
        int64_t change = (int64_t)cz_take(in, 8);
        if (in->failed || change > MOST_CHANGE || change < -MOST_CHANGE)
            return false;
        crossed += change;
        if (crossed < 0 || crossed > MOST_CHANGE)
            return false;
        view->change[b] = change;
    }
    return crossed == 0;
}

bool cz_view_take(cz_view *view, cz_bytes *in) {
    unsigned char own[7 * 8];
    cz_writer out = {own, 0};
    put_settings(&view->settings, &out);
    const unsigned char *found = cz_take_bytes(in, sizeof own);
    return found && memcmp(found, own, sizeof own) == 0 && cz_queue_take(&view->queue, in) &&
           take_doubles(in, view->value, view->fragments) && take_doubles(in, view->crossings, view->fragments) &&
           take_change(view, in) && take_runs(view, in);
}

static void put_all(const cz_view *views, int32_t count, const int64_t *numbers, int32_t n_numbers, cz_writer *out) {
    cz_put_bytes(out, MAGIC, 8);
    cz_put(out, (uint64_t)count, 4);
    for (int32_t i = 0; i < n_numbers; i++)
        cz_put(out, (uint64_t)numbers[i], 8);
    for (int32_t a = 0; a < count; a++)
        cz_view_put(&views[a], out);
}

int cz_views_save(const cz_view *views, int32_t count, const int64_t *numbers, int32_t n_numbers, const char *path,
                  cz_error *error) {
    cz_writer out = {NULL, 0};
    put_all(views, count, numbers, n_numbers, &out);
    unsigned char *data = malloc(out.size + CZ_CHECKSUM + 1);
    if (!data)
        return cz_fail(error, CZ_NO_MEMORY, "%s: no memory for what is to be written", path);
    out = (cz_writer){data, 0};
    put_all(views, count, numbers, n_numbers, &out);
    int result = cz_write_state(path, data, out.size, error);
    free(data);
    return result;
}

static bool take_all(cz_view *views, int32_t count, int64_t *numbers, int32_t n_numbers, cz_bytes *in) {
    if (cz_take(in, 4) != (uint64_t)count)
        return false;
    for (int32_t i = 0; i < n_numbers; i++)
        numbers[i] = (int64_t)cz_take(in, 8);
    for (int32_t a = 0; a < count; a++)
        if (!cz_view_take(&views[a], in))
            return false;
    return !in->failed && in->left == 0;
}

int cz_views_restore(cz_view *views, int32_t count, int64_t *numbers, int32_t n_numbers, const char *path,
                     cz_error *error) {
    unsigned char *data;
    size_t size = 0;
    int result = cz_read_file(path, &data, &size, error);
    if (result) {
        free(data);
        return result;
    }
    bool whole = cz_is_state(data, size, MAGIC);
    cz_bytes in = {data + 8, whole ? size - 8 - CZ_CHECKSUM : 0, false};
    if (!whole || !take_all(views, count, numbers, n_numbers, &in))
        result = cz_fail(error, CZ_BAD_STATE, "%s: it is damaged, or of other settings; begin with an empty one", path);
    free(data);
    return result;
}
