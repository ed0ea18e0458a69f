/* Inputs of the next-use forest, learned online: kernels/reuse/past.py, one request at a time. */
#include "reuse_parts.h"

#define NEVER 10.0
#define UNKNOWN (-1.0)
#define LATEST 0.3
#define PRIOR_RATE 0.3
enum { STEPS = 8, SEEN_STEPS = 8, REGION_PAGES = 64, STRETCH_PAGES = 512 };
enum {
    INTERVAL,
    BEFORE,
    CHANGE,
    QUARTER,
    ONE,
    FOUR,
    WRITE,
    WROTE,
    SHARE,
    PAGES,
    PLACE,
    RUN,
    REGION,
    REGION_ONE,
    REGION_FOUR,
    STRETCH,
    COMPANIONS,
    METADATA,
    READAHEAD,
    SYNC,
    RATES
};
/* An access of the ring: process, context, seen, and whether it was used again within C and 4 C. */
enum { CONTEXT_AT = 16, SEEN_AT = 24 };
#define SOON (UINT32_C(1) << 28)
#define AGAIN (UINT32_C(1) << 29)
static const double half_lives[CZ_HALF_LIVES] = {0.25, 1.0, 4.0};
static const double memory_of[3] = {2000.0, 1000.0, 4000.0};

void cz_past_new(cz_past *past, cz_memory *memory, int64_t capacity, int64_t most_keys, int32_t processes,
                 int64_t most_pages) {
    past->capacity = (double)capacity;
    past->processes = processes;
    past->ring = CZ_HORIZON * capacity + most_pages + 2;
    cz_table_new(&past->regions, memory, most_keys);
    cz_table_new(&past->stretches, memory, most_keys);
    past->region = cz_memory_room(memory, (size_t)past->regions.most, sizeof *past->region, &past->regions.n.used);
    past->stretch =
        cz_memory_room(memory, (size_t)past->stretches.most, sizeof *past->stretch, &past->stretches.n.used);
    past->recent = cz_memory_room(memory, (size_t)past->ring, sizeof *past->recent, NULL);
    size_t rates = CZ_CONTEXTS + CZ_SEEN + (size_t)processes;
    for (int which = 0; which < 2; which++) {
        past->rates[which] = cz_memory_room(memory, rates, sizeof *past->rates[which], NULL);
        for (size_t k = 0; !memory->failed && k < rates; k++)
            past->rates[which][k].part = PRIOR_RATE;
    }
    cz_memory_keep(memory, &past->run, sizeof past->run);
    cz_memory_keep(memory, &past->settled, sizeof past->settled);
}

/* Rows of `rates` that an access counts for, in the order in which the kernel counts them. */
static inline void keys_of(uint32_t access, uint32_t keys[3]) {
    keys[0] = CZ_CONTEXTS + CZ_SEEN + (access & 0xFFFF);
    keys[1] = access >> CONTEXT_AT & 0xFF;
    keys[2] = CZ_CONTEXTS + (access >> SEEN_AT & 0xF);
}

/* Count the accesses that are `horizon` accesses old by access number `before`. */
static void settle(cz_past *past, int64_t before, int which) {
    int64_t horizon = (which == 0 ? 1 : CZ_HORIZON) * (int64_t)past->capacity, j = past->settled[which];
    uint32_t bit = which == 0 ? SOON : AGAIN, keys[3];
    int64_t at = j % past->ring;
    for (; j + horizon < before; j++) {
        uint32_t access = past->recent[at];
        double used = access & bit ? 1.0 : 0.0;
        keys_of(access, keys);
        for (int k = 0; k < 3; k++) {
            cz_rate *rate = &past->rates[which][keys[k]];
            rate->counted += 1;
            rate->part += (used - rate->part) / (rate->counted < memory_of[k] ? rate->counted : memory_of[k]);
        }
        at = at + 1 < past->ring ? at + 1 : 0;
    }
    past->settled[which] = j;
}

static inline double faded(double sum, int64_t last, int64_t i, double half_life) {
    return last >= 0 ? sum * exp2((double)(last - i) / half_life) : 0.0;
}

static int32_t tract_of(cz_table *table, cz_tract *tracts, const cz_page_range *range, int64_t number) {
    bool found;
    int32_t slot = cz_table_find(table, range->volume, number, range->number, &found);
    if (!found)
        tracts[slot] = (cz_tract){.last = -1};
    return slot;
}

/* Regions and stretches of the request's pages. */
static void place(cz_past *past, const cz_page_range *range, cz_seen_access *accesses) {
    for (int64_t k = 0; k < range->pages; k++) {
        int64_t page = range->page + k;
        accesses[k].region = k > 0 && page % REGION_PAGES != 0
                                 ? accesses[k - 1].region
                                 : tract_of(&past->regions, past->region, range, page / REGION_PAGES);
        accesses[k].stretch = k > 0 && page % STRETCH_PAGES != 0
                                  ? accesses[k - 1].stretch
                                  : tract_of(&past->stretches, past->stretch, range, page / STRETCH_PAGES);
    }
}

/* What the access's page shows. */
static void of_page(const cz_page *page, int write, const cz_seen_access *access, float *row) {
    row[INTERVAL] = (float)access->interval;
    row[BEFORE] = (float)page->interval;
    row[CHANGE] = page->seen > 1 ? row[INTERVAL] - row[BEFORE] : 0.0f;
    for (int k = 0; k < CZ_HALF_LIVES; k++)
        row[QUARTER + k] = (float)access->counts[k];
    row[WRITE] = (float)write;
    row[WROTE] = (float)page->wrote;
    row[SHARE] = (float)(page->last >= 0 ? (1 - LATEST) * page->share + LATEST * write : write);
}

/* What its region and its stretch show. */
static void of_tracts(const cz_past *past, const cz_seen_access *access, int64_t i, float *row) {
    const cz_tract *region = &past->region[access->region], *stretch = &past->stretch[access->stretch];
    double capacity = past->capacity;
    row[REGION] = (float)(region->last >= 0 ? log2((double)(i - region->last) / capacity) : NEVER);
    row[REGION_ONE] = (float)faded(region->sums[0], region->last, i, capacity);
    row[REGION_FOUR] = (float)faded(region->sums[1], region->last, i, 4 * capacity);
    row[STRETCH] = (float)faded(stretch->sums[0], stretch->last, i, 4 * capacity);
}

/* The rates of accesses like this one; the access joins the ring of those that they will count. */
static void of_rates(cz_past *past, uint32_t access, int64_t at, float *row) {
    uint32_t keys[3];
    keys_of(access, keys);
    for (int k = 0; k < 3; k++) {
        row[RATES + 2 * k] = (float)past->rates[0][keys[k]].part;
        row[RATES + 2 * k + 1] = (float)past->rates[1][keys[k]].part;
    }
    past->recent[at] = access;
}

void cz_past_describe(cz_past *past, const cz_page *pages, const cz_page_range *range, cz_seen_access *accesses,
                      float *rows) {
    settle(past, range->first, 0);
    settle(past, range->first, 1);
    past->run = range->follows ? past->run + (double)range->pages : (double)range->pages;
    place(past, range, accesses);
    double log_size = log2((double)range->pages), log_run = log2(past->run), together = 0.0;
    int size_step = log_size < STEPS - 1 ? (int)log_size : STEPS - 1;
    int run_step = log_run < STEPS - 1 ? (int)log_run : STEPS - 1;
    uint32_t context = (uint32_t)(((range->write * STEPS + size_step) * STEPS + run_step) * 2);
    int64_t at = range->first % past->ring;
    for (int64_t k = 0; k < range->pages; k++) {
        const cz_page *page = &pages[accesses[k].slot];
        int64_t i = range->first + k;
        for (int h = 0; h < CZ_HALF_LIVES; h++)
            accesses[k].counts[h] = faded(page->sums[h], page->last, i, half_lives[h] * past->capacity);
        accesses[k].interval = page->last >= 0 ? log2((double)(i - page->last) / past->capacity) : NEVER;
        together += accesses[k].counts[2];
    }
    for (int64_t k = 0; k < range->pages; k++) {
        const cz_page *page = &pages[accesses[k].slot];
        float *row = rows + k * CZ_INPUTS;
        of_page(page, range->write, &accesses[k], row);
        of_tracts(past, &accesses[k], range->first + k, row);
        row[PAGES] = (float)log_size;
        row[PLACE] = (float)((double)k / (double)range->pages);
        row[RUN] = (float)log_run;
        row[COMPANIONS] = (float)(range->pages > 1 ? (together - row[FOUR]) / (double)(range->pages - 1) : UNKNOWN);
        for (int bit = 0; bit < 3; bit++)
            row[METADATA + bit] = range->flags & CZ_FLAG_UNKNOWN ? -1.0f : (float)(range->flags >> bit & 1);
        uint32_t seen = (uint32_t)((page->seen < SEEN_STEPS - 1 ? page->seen : SEEN_STEPS - 1) * 2 + range->write);
        uint32_t access = (uint32_t)range->process | (context + (page->last >= 0)) << CONTEXT_AT | seen << SEEN_AT;
        of_rates(past, access, at, row);
        at = at + 1 < past->ring ? at + 1 : 0;
    }
}

static void add(cz_tract *tract, int kind, int64_t i, double half_life) {
    tract->sums[kind] = faded(tract->sums[kind], tract->last, i, half_life) + 1;
}

/* The page's latest access was used again by access i. */
static void used_again(cz_past *past, int64_t last, int64_t i) {
    int64_t distance = i - last, capacity = (int64_t)past->capacity;
    if (distance > CZ_HORIZON * capacity)
        return;
    past->recent[last % past->ring] |= distance <= capacity ? SOON | AGAIN : AGAIN;
}

void cz_past_remember(cz_past *past, cz_page *page, const cz_page_range *range, const cz_seen_access *access,
                      int64_t i) {
    cz_tract *region = &past->region[access->region], *stretch = &past->stretch[access->stretch];
    double capacity = past->capacity;
    if (page->last >= 0) {
        used_again(past, page->last, i);
        page->interval = access->interval;
        page->share = (1 - LATEST) * page->share + LATEST * range->write;
    } else {
        page->share = range->write;
    }
    for (int k = 0; k < CZ_HALF_LIVES; k++)
        page->sums[k] = access->counts[k] + 1;
    add(region, 0, i, capacity);
    add(region, 1, i, 4 * capacity);
    add(stretch, 0, i, 4 * capacity);
    page->last = region->last = stretch->last = i;
    page->wrote = (int8_t)range->write;
    page->seen += page->seen < 255;
}
