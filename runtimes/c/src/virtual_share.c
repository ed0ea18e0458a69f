/* G-VPA: one cache for several applications, each with a queue of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "virtual.h"

enum { MOST_REACH = 4096, MOST_STEP = 1 << 26, MOST_PAGES = 1 << 30 };

struct cz_share {
    int32_t count, step, reach;
    double fill;
    int64_t quantum, since; /* references of all */
    cz_view *views;
    int64_t *split;    /* fragments of each */
    double *worth;     /* of each application's best mapping: with `reach` steps less, up to as many more */
    bool *can, *moved; /* whether it may have so many; whether it gave or took at this quantum's end */
    cz_work work;
};

static int64_t least_share(const cz_share_options *options, const cz_virtual_settings *own, int32_t count) {
    return options->pages / own->fragment / count * own->fragment;
}

static int check(const cz_share_options *options, const cz_virtual_settings *own, int32_t count, cz_error *error) {
    char who[40];
    if (count < 2 || count > CZ_MOST_APPLICATIONS)
        return cz_fail(error, CZ_BAD_CALL, "a share is of 2 to %d applications, not of %d", CZ_MOST_APPLICATIONS,
                       count);
    if (options->step < 0 || options->step > MOST_STEP || options->reach < 0 || options->reach > MOST_REACH)
        return cz_fail(error, CZ_BAD_CALL, "share: a step has 1 to 2^26 fragments (%d), and reach is 1 to %d (%d)",
                       options->step, MOST_REACH, options->reach);
    if (!(options->fill >= 0 && options->fill <= CZ_MOST_COST))
        return cz_fail(error, CZ_BAD_CALL, "share: fill must be 0 to 1e6 hits a page (%.12g)", options->fill);
    if (options->pages < 1 || options->pages > MOST_PAGES)
        return cz_fail(error, CZ_BAD_CALL, "share: a cache of %lld pages; give 1 to 2^30", (long long)options->pages);
    for (int32_t a = 0; a < count; a++) {
        if (own[a].fragment != own[0].fragment)
            return cz_fail(error, CZ_BAD_CALL,
                           "application %d: fragments of %d pages, those of the first have %d; give all "
                           "the same",
                           a, own[a].fragment, own[0].fragment);
        snprintf(who, sizeof who, "application %d: ", a);
        int64_t least = own[a].fragment > 0 ? least_share(options, &own[a], count) : 0;
        int result = cz_view_check(&own[a], least, who, error);
        if (result)
            return result;
    }
    return CZ_OK;
}

static bool make(cz_share *share, const cz_share_options *options, const cz_virtual_settings *applications) {
    size_t count = (size_t)share->count, width = 2 * (size_t)share->reach + 1;
    int64_t total = options->pages / applications[0].fragment;
    int32_t most = 0;
    share->views = calloc(count, sizeof *share->views);
    share->split = calloc(count, sizeof *share->split);
    share->worth = calloc(count * width, sizeof *share->worth);
    share->can = calloc(count * width, sizeof *share->can);
    share->moved = calloc(count, sizeof *share->moved);
    if (!share->views || !share->split || !share->worth || !share->can || !share->moved)
        return false;
    for (int32_t a = 0; a < share->count; a++) {
        share->split[a] = total / share->count + (a < total % share->count);
        share->quantum += applications[a].quantum;
        if (!cz_view_new(&share->views[a], &applications[a]))
            return false;
        if (share->views[a].fragments > most)
            most = share->views[a].fragments;
    }
    return cz_work_new(&share->work, most);
}

static int64_t map_all(cz_share *share) {
    int64_t read = 0;
    for (int32_t a = 0; a < share->count; a++)
        read += cz_view_map(&share->views[a], share->split[a] * share->views[a].settings.fragment, &share->work);
    return read;
}

/* The remainder of an equal split goes to the first applications, whose queues may be a fragment too short for it. */
static int check_split(const cz_share *share, cz_error *error) {
    for (int32_t a = 0; a < share->count; a++)
        if (share->split[a] > share->views[a].fragments)
            return cz_fail(error, CZ_BAD_CALL,
                           "application %d: a queue of %lld pages is below its cache of %lld; give a "
                           "longer queue",
                           a, (long long)share->views[a].settings.pages,
                           (long long)(share->split[a] * share->views[a].settings.fragment));
    return CZ_OK;
}

int cz_share_new(const cz_share_options *options, const cz_virtual_settings *applications, int32_t count,
                 cz_share **share, cz_error *error) {
    if (!share)
        return cz_fail(error, CZ_BAD_CALL, "cz_share_new: no place for the share; pass one");
    *share = NULL;
    if (!options || !applications)
        return cz_fail(error, CZ_BAD_CALL, "cz_share_new: no options or applications; pass both");
    int result = check(options, applications, count, error);
    if (result)
        return result;
    cz_share *made = calloc(1, sizeof *made);
    if (!made)
        return cz_fail(error, CZ_NO_MEMORY, "no memory for a share");
    made->count = count;
    made->fill = options->fill;
    made->step = options->step ? options->step : 1;
    made->reach = options->reach ? options->reach : 1;
    result = make(made, options, applications) ? check_split(made, error)
                                               : cz_fail(error, CZ_NO_MEMORY, "no memory for %d queues", count);
    if (result) {
        cz_share_free(made);
        return result;
    }
    map_all(made);
    *share = made;
    return CZ_OK;
}

void cz_share_free(cz_share *share) {
    if (!share)
        return;
    for (int32_t a = 0; share->views && a < share->count; a++)
        cz_view_free(&share->views[a]);
    cz_work_free(&share->work);
    free(share->views);
    free(share->split);
    free(share->worth);
    free(share->can);
    free(share->moved);
    free(share);
}

/* ---- the end of a quantum ---- */

static void value_shares(cz_share *share) {
    int32_t width = 2 * share->reach + 1;
    for (int32_t a = 0; a < share->count; a++) {
        const cz_view *view = &share->views[a];
        for (int32_t j = 0; j < width; j++) {
            int64_t size = share->split[a] + (int64_t)(j - share->reach) * share->step;
            bool can = view->settings.runs <= size && size <= view->fragments;
            share->can[a * width + j] = can;
            if (can)
                share->worth[a * width + j] = cz_view_worth(view, (int32_t)size, &share->work);
        }
    }
}

typedef struct transfer {
    double gain;
    int32_t steps, receiver, giver;
} transfer;

/* The best giver for a receiver of so many steps, where it is better than what was found. */
static void try_receiver(const cz_share *share, int32_t d, int32_t r, transfer *best) {
    int32_t width = 2 * share->reach + 1, middle = share->reach;
    const double *own = share->worth + r * width;
    if (share->moved[r] || !share->can[r * width + middle + d])
        return;
    double gain = own[middle + d] - own[middle];
    double dues = share->fill * (double)((int64_t)d * share->step * share->views[r].settings.fragment);
    for (int32_t g = 0; g < share->count; g++) {
        const double *other = share->worth + g * width;
        if (g == r || share->moved[g] || !share->can[g * width + middle - d])
            continue;
        double net = gain - (other[middle] - other[middle - d]) - dues;
        if (net > best->gain)
            *best = (transfer){net, d, r, g};
    }
}

static void give(cz_share *share) {
    memset(share->moved, 0, (size_t)share->count * sizeof *share->moved);
    for (;;) {
        transfer best = {0, 0, -1, -1};
        for (int32_t d = 1; d <= share->reach; d++)
            for (int32_t r = 0; r < share->count; r++)
                try_receiver(share, d, r, &best);
        if (best.receiver < 0)
            return;
        share->split[best.receiver] += (int64_t)best.steps * share->step;
        share->split[best.giver] -= (int64_t)best.steps * share->step;
        share->moved[best.receiver] = share->moved[best.giver] = true;
    }
}

static int64_t end_quantum(cz_share *share) {
    share->since = 0;
    for (int32_t a = 0; a < share->count; a++)
        cz_view_tally(&share->views[a]);
    value_shares(share);
    give(share);
    int64_t read = map_all(share);
    for (int32_t a = 0; a < share->count; a++)
        cz_view_decay(&share->views[a]);
    return read;
}

int cz_share_reference(cz_share *share, int32_t application, uint64_t key, cz_place *place) {
    if (!share || !place || application < 0 || application >= share->count)
        return CZ_BAD_CALL;
    cz_view_reference(&share->views[application], key, place);
    if (++share->since == share->quantum)
        place->moved += (int32_t)end_quantum(share);
    return CZ_OK;
}

int64_t cz_share_pages(const cz_share *share, int32_t application) {
    if (!share || application < 0 || application >= share->count)
        return 0;
    const cz_virtual_settings *own = &share->views[application].settings;
    int64_t pages = share->split[application] * own->fragment;
    return pages < own->pages ? pages : own->pages;
}

int cz_share_runs(const cz_share *share, int32_t application, cz_run runs[CZ_MOST_RUNS]) {
    if (!share || !runs || application < 0 || application >= share->count)
        return 0;
    const cz_view *view = &share->views[application];
    memcpy(runs, view->runs, (size_t)view->n_runs * sizeof *runs);
    return view->n_runs;
}

/* ---- saved: how many references of this quantum, then each application's fragments ---- */

int cz_share_save(const cz_share *share, const char *path, cz_error *error) {
    int64_t numbers[CZ_MOST_APPLICATIONS + 1];
    if (!share || !path)
        return cz_fail(error, CZ_BAD_CALL, "cz_share_save: no share or no path; pass both");
    numbers[0] = share->since;
    memcpy(numbers + 1, share->split, (size_t)share->count * sizeof *numbers);
    return cz_views_save(share->views, share->count, numbers, share->count + 1, path, error);
}

static bool sound(const cz_share *share, const cz_view *views, const int64_t *numbers) {
    int64_t total = 0, wanted = 0;
    for (int32_t a = 0; a < share->count; a++) {
        int64_t own = numbers[a + 1];
        if (own < share->views[a].settings.runs || own > share->views[a].fragments)
            return false;
        if (cz_view_mapped(&views[a]) > own * views[a].settings.fragment)
            return false;
        total += own;
        wanted += share->split[a];
    }
    return total == wanted && numbers[0] >= 0 && numbers[0] < share->quantum;
}

/* Empty views with the settings of a share. */
static bool new_views(const cz_share *share, cz_view *views) {
    bool made = true;
    for (int32_t a = 0; a < share->count; a++)
        made = cz_view_new(&views[a], &share->views[a].settings) && made;
    return made;
}

int cz_share_restore(cz_share *share, const char *path, cz_error *error) {
    int64_t numbers[CZ_MOST_APPLICATIONS + 1];
    if (!share || !path)
        return cz_fail(error, CZ_BAD_CALL, "cz_share_restore: no share or no path; pass both");
    cz_view *views = calloc((size_t)share->count, sizeof *views);
    int result = CZ_OK;
    if (!views || !new_views(share, views))
        result = cz_fail(error, CZ_NO_MEMORY, "%s: no memory for it", path);
    if (!result)
        result = cz_views_restore(views, share->count, numbers, share->count + 1, path, error);
    if (!result && !sound(share, views, numbers))
        result = cz_fail(error, CZ_BAD_STATE, "%s: it is of a cache of other pages; begin with an empty one", path);
    if (!result) {
        cz_view *kept = share->views;
        share->views = views;
        views = kept;
        share->since = numbers[0];
        memcpy(share->split, numbers + 1, (size_t)share->count * sizeof *numbers);
    }
    for (int32_t a = 0; views && a < share->count; a++)
        cz_view_free(&views[a]);
    free(views);
    return result;
}
