/* The cache of the forest: of some residents drawn at random the one worth least leaves (kernels/evict/worth.py). */
#include "reuse_parts.h"

enum { CHUNK = 64, LANES = 8 }; /* residents weighed at once; numbers compared at once */

void cz_worth_new(cz_worth *worth, cz_memory *memory, const cz_table *pages, int64_t capacity) {
    worth->capacity = capacity;
    worth->residents = cz_memory_room(memory, (size_t)capacity, sizeof *worth->residents, NULL);
    worth->place = cz_memory_room(memory, (size_t)pages->most, sizeof *worth->place, &pages->n.used);
    cz_memory_keep(memory, &worth->n, sizeof worth->n);
}

static inline double worth_of(const cz_worth *worth, int64_t last, int class, int64_t i) {
    return worth->hazards.worth[class * CZ_AGES + cz_age_bin(&worth->hazards, i - last)];
}

/* What some residents are worth, drawn or, where there are few, all; their places. */
static void weigh(cz_worth *worth, int64_t i, bool every, int64_t first, int n, double *found, int32_t *places) {
    if (every) {
        for (int k = 0; k < n; k++)
            places[k] = (int32_t)(first + k);
    } else {
        uint32_t seed = cz_mix(worth->seed ^ CZ_APART), number = (uint32_t)(worth->n.drawn + first), drawn[CHUNK];
        for (uint32_t k = 0; k < CHUNK; k++) /* all of them, so that compilers take several at a time */
            drawn[k] = cz_mix(cz_mix((number + k) & 0x7FFFFFFF) ^ seed);
        for (int k = 0; k < n; k++)
            places[k] = (int32_t)((uint64_t)drawn[k] * (uint64_t)worth->capacity >> 32);
    }
    for (int k = 0; k < n; k++) {
        const cz_resident *other = &worth->residents[places[k]];
        found[k] = worth_of(worth, other->last, other->class, i);
    }
}

/* The least of the first n of CHUNK numbers; the others are written over. Each comparison waits for the one before, so
 * there are LANES chains of them. */
static double lowest(double *found, int n) {
    double low[LANES];
    for (int k = n; k < CHUNK; k++)
        found[k] = found[0];
    memcpy(low, found, sizeof low);
    for (int k = LANES; k < CHUNK; k += LANES)
        for (int lane = 0; lane < LANES; lane++)
            low[lane] = found[k + lane] < low[lane] ? found[k + lane] : low[lane];
    for (int lane = 1; lane < LANES; lane++)
        low[0] = low[lane] < low[0] ? low[lane] : low[0];
    return low[0];
}

/* The resident to leave for a page of a class: its place from 0, -1 if the page itself is worth least. Among equals the
 * one used longest ago leaves, so never the page. */
static int64_t least_of(cz_worth *worth, int64_t i, int class) {
    bool every = worth->candidates >= worth->capacity;
    int64_t n = every ? worth->capacity : worth->candidates, at = -1, oldest = i;
    double least = worth->hazards.worth[class * CZ_AGES], found[CHUNK]; /* its age is 0 */
    int32_t places[CHUNK];
    for (int64_t first = 0; first < n; first += CHUNK) {
        int part = n - first < CHUNK ? (int)(n - first) : CHUNK;
        weigh(worth, i, every, first, part, found, places);
        double low = lowest(found, part);
        if (low > least)
            continue;
        for (int k = 0; k < part; k++) {
            if (found[k] != low)
                continue;
            int64_t last = worth->residents[places[k]].last;
            if (low < least || last < oldest) {
                least = low;
                at = places[k];
                oldest = last;
            }
        }
    }
    worth->n.drawn += n;
    return at;
}

int cz_worth_serve(cz_worth *worth, int32_t slot, const cz_page *page, int64_t i, int class, int32_t *victim) {
    cz_resident entry = {.last = i, .slot = slot, .class = class};
    *victim = CZ_NONE;
    cz_hazards_saw(&worth->hazards, i, class, page->last, page->class);
    if (worth->place[slot] != 0) {
        worth->residents[worth->place[slot] - 1] = entry;
        return CZ_HIT;
    }
    int64_t at = worth->n.used;
    if (at < worth->capacity) {
        worth->n.used++;
    } else {
        at = least_of(worth, i, class);
        if (at < 0)
            return CZ_BYPASSED;
        *victim = worth->residents[at].slot;
        worth->place[*victim] = 0;
    }
    worth->residents[at] = entry;
    worth->place[slot] = (int32_t)(at + 1);
    return CZ_ADMITTED;
}
