/* One queue and the positions of it that are in the cache: what they are worth, and which are mapped next. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "virtual.h"

#define LONGEST_MEMORY 100.0 /* quanta that a value remembers at most, where a profile stands for it */

static int bad(const char *who, cz_error *error, const char *what, double given) {
    return cz_fail(error, CZ_BAD_CALL, "%s%s (%.12g)", who, what, given);
}

static int check_profile(const cz_virtual_settings *settings, const char *who, cz_error *error) {
    for (int32_t b = 0; settings->profile && b < cz_view_fragments(settings); b++)
        if (!(settings->profile[b] >= 0 && settings->profile[b] <= 1))
            return bad(who, error, "profile: a fragment has 0 to 1 hits a reference", settings->profile[b]);
    return CZ_OK;
}

int cz_view_check(const cz_virtual_settings *settings, int64_t least, const char *who, cz_error *error) {
    const cz_virtual_settings *own = settings;
    if (own->queue < CZ_QUEUE_LRU || own->queue > CZ_QUEUE_ARC)
        return bad(who, error, "queue: is none of lru, lfu and arc", own->queue);
    if (own->fragment < 1 || own->fragment > CZ_MOST_FRAGMENT)
        return bad(who, error, "fragment: must have 1 to 65536 pages", own->fragment);
    if (own->runs < 1 || own->runs > CZ_MOST_RUNS)
        return bad(who, error, "runs: must be 1 to 16", own->runs);
    if (own->quantum < 1 || own->quantum > CZ_MOST_QUANTUM)
        return bad(who, error, "quantum: must have 1 to 2^40 references", (double)own->quantum);
    if (!(own->decay >= 0 && own->decay <= 1))
        return bad(who, error, "decay: must be 0 to 1", own->decay);
    if (!(own->cost >= 0 && own->cost <= CZ_MOST_COST))
        return bad(who, error, "cost: must be 0 to 1e6 hits", own->cost);
    if (own->pages < 1 || own->pages > CZ_MOST_QUEUE)
        return bad(who, error, "pages: a queue has 1 to 2^26 pages", (double)own->pages);
    if (least < (int64_t)own->runs * own->fragment)
        return cz_fail(error, CZ_BAD_CALL,
                       "%s%lld pages are a cache smaller than its %d runs of a fragment of %d pages", who,
                       (long long)least, own->runs, own->fragment);
    if (own->pages < least)
        return cz_fail(error, CZ_BAD_CALL, "%sa queue of %lld pages is below its cache of %lld; give a longer queue",
                       who, (long long)own->pages, (long long)least);
    return check_profile(own, who, error);
}

int32_t cz_view_fragments(const cz_virtual_settings *settings) {
    return (int32_t)((settings->pages + settings->fragment - 1) / settings->fragment);
}

/* References that a value remembers: what hits a reference are multiplied by to be a value. */
static double memory_of(const cz_virtual_settings *settings) {
    double quanta = LONGEST_MEMORY;
    if (settings->decay < 1 && 1 / (1 - settings->decay) < quanta)
        quanta = 1 / (1 - settings->decay);
    return (double)settings->quantum * quanta;
}

bool cz_view_new(cz_view *view, const cz_virtual_settings *settings) {
    *view = (cz_view){.settings = *settings, .fragments = cz_view_fragments(settings)};
    size_t fragments = (size_t)view->fragments;
    double memory = memory_of(settings);
    view->settings.profile = NULL; /* the caller's */
    view->value = calloc(fragments, sizeof *view->value);
    view->crossings = calloc(fragments, sizeof *view->crossings);
    view->change = calloc(fragments + 1, sizeof *view->change);
    if (!view->value || !view->crossings || !view->change)
        return false;
    for (size_t b = 0; settings->profile && b < fragments; b++)
        view->value[b] = settings->profile[b] * memory;
    return cz_queue_new(&view->queue, (enum cz_queue_name)settings->queue, settings->pages);
}

void cz_view_free(cz_view *view) {
    cz_queue_free(&view->queue);
    free(view->value);
    free(view->crossings);
    free(view->change);
}

size_t cz_view_bytes(const cz_view *view) {
    return cz_queue_bytes(&view->queue) +
           (size_t)view->fragments * (sizeof *view->value + sizeof *view->crossings + sizeof *view->change);
}

int64_t cz_view_mapped(const cz_view *view) {
    int64_t positions = 0;
    for (int r = 0; r < view->n_runs; r++)
        positions += view->runs[r].high - view->runs[r].low;
    return positions;
}

cz_move cz_view_reference(cz_view *view, uint64_t key, cz_place *place) {
    cz_move move = cz_queue_reference(&view->queue, key);
    uint32_t fragment = (uint32_t)view->settings.fragment;
    *place = (cz_place){.position = move.position};
    for (int r = 0; r < view->n_runs; r++) {
        const cz_run *run = &view->runs[r];
        place->hit |= run->low <= move.position && move.position < run->high;
        place->moved += move.filled < run->low && run->low <= move.vacated; /* the page before a run enters it */
    }
    if (move.position >= 0)
        view->value[(uint32_t)move.position / fragment] += 1;
    view->change[(uint32_t)move.filled / fragment + 1]++;
    view->change[(uint32_t)move.vacated / fragment + 1]--;
    return move;
}

void cz_view_tally(cz_view *view) {
    int64_t crossed = 0;
    for (int32_t b = 0; b < view->fragments; b++) {
        crossed += view->change[b];
        view->crossings[b] += (double)crossed;
    }
    memset(view->change, 0, ((size_t)view->fragments + 1) * sizeof *view->change);
}

void cz_view_decay(cz_view *view) {
    for (int32_t b = 0; b < view->fragments; b++) {
        view->value[b] *= view->settings.decay;
        view->crossings[b] *= view->settings.decay;
    }
}

static cz_worth_of worth_of(const cz_view *view) {
    return (cz_worth_of){view->value, view->crossings, view->fragments, view->settings.runs, view->settings.cost};
}

static int64_t least_of(int64_t a, int64_t b) {
    return a < b ? a : b;
}
static int64_t most_of(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* Positions of the mapping that hold a page and were in none of the runs before. */
static int64_t newly(const cz_view *view, const cz_run *before, int n_before) {
    int64_t found = 0;
    for (int r = 0; r < view->n_runs; r++) {
        int64_t low = view->runs[r].low, high = least_of(view->runs[r].high, view->queue.length);
        found += most_of(0, high - low);
        for (int i = 0; i < n_before; i++)
            found -= most_of(0, least_of(high, before[i].high) - most_of(low, before[i].low));
    }
    return found;
}

int64_t cz_view_map(cz_view *view, int64_t capacity, cz_work *work) {
    cz_run before[CZ_MOST_RUNS], *runs = view->runs;
    int64_t fragment = view->settings.fragment, n = view->settings.pages, k = capacity / fragment;
    int n_before = view->n_runs;
    double worth;
    cz_worth_of of = worth_of(view);
    memcpy(before, runs, sizeof before);
    view->n_runs = cz_allocate(&of, (int32_t)k, work, runs, &worth);
    for (int r = 0; r < view->n_runs; r++)
        runs[r] = (cz_run){runs[r].low * fragment, least_of(runs[r].high * fragment, n)};
    if (runs[0].high == n)
        runs[0].low = most_of(runs[0].low - capacity % fragment, 0);
    else
        runs[0].high = least_of(runs[0].high + capacity % fragment, n);
    return newly(view, before, n_before);
}

double cz_view_worth(const cz_view *view, int32_t k, cz_work *work) {
    cz_run spare[CZ_MOST_RUNS];
    double worth;
    cz_worth_of of = worth_of(view);
    cz_allocate(&of, k, work, spare, &worth);
    return worth;
}
