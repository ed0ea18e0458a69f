#include "sequence.h"

#include <math.h>
#include <stdlib.h>

#include "index.h"
#include "sequence_state.h"

#define SECTOR 512
#define MOST_END ((int64_t)1 << 62)     /* bytes, as in src/cachezoo/traces/table.py */
#define MOST_REQUEST ((int64_t)1 << 30) /* bytes, likewise */
#define LONG_HALF_LIVES 8.0

bool cz_request_fits(const cz_request *request) {
    return request->time_us >= 0 && request->offset >= 0 && request->size >= 1 && request->size <= MOST_REQUEST &&
           request->offset <= MOST_END - request->size && request->volume >= 0 &&
           (request->op == CZ_READ || request->op == CZ_WRITE);
}

void cz_plain_step(cz_plain *plain, const cz_request *request, float raw[CZ_N_RAW]) {
    int64_t gap = plain->begun ? request->time_us - plain->time_us : 0;
    int64_t delta = plain->begun ? request->offset - plain->end : 0;
    plain->run = plain->begun && delta == 0 ? plain->run + 1 : 0;
    double steps = log2(1.0 + (double)(delta < 0 ? -delta : delta) / SECTOR);
    raw[CZ_GAP] = (float)log1p((double)gap);
    raw[CZ_DELTA] = (float)(delta >= 0 ? steps : -steps);
    raw[CZ_ADDRESS] = (float)(request->offset / CZ_PAGE_BYTES);
    raw[CZ_SIZE] = (float)log2((double)request->size);
    raw[CZ_OP] = (float)request->op;
    raw[CZ_RUN] = (float)log2(1.0 + (double)plain->run);
    plain->time_us = request->time_us;
    plain->end = request->offset + request->size;
    plain->begun = true;
}

int cz_sequence_new(const cz_horizons *horizons, int64_t max_pages, cz_sequence **sequence, cz_error *error) {
    int64_t wanted = horizons->memory > horizons->window ? horizons->memory : horizons->window;
    int64_t pages = wanted < max_pages ? wanted : max_pages;
    if (pages < 1 || pages > CZ_MOST_PAGES)
        return cz_fail(error, CZ_BAD_CALL, "max_keys: %lld pages to remember; give 1 to %lld", (long long)max_pages,
                       (long long)CZ_MOST_PAGES);
    cz_sequence *made = calloc(1, sizeof *made);
    if (!made)
        return cz_fail(error, CZ_NO_MEMORY, "no memory for a history");
    made->horizons = *horizons;
    made->max_pages = (int32_t)pages;
    made->pages = calloc((size_t)pages, sizeof *made->pages);
    made->regions = calloc((size_t)1 << horizons->region_bits, sizeof *made->regions);
    if (!made->pages || !made->regions || cz_index_new(&made->index, pages) || cz_rings_new(&made->order, pages, 1)) {
        cz_sequence_free(made);
        return cz_fail(error, CZ_NO_MEMORY, "no memory for a history of %lld pages", (long long)pages);
    }
    cz_sequence_clear(made);
    *sequence = made;
    return CZ_OK;
}

/* Nothing is remembered. Pages are taken from the table's beginning on, so the rest of it is never read. */
void cz_sequence_clear(cz_sequence *s) {
    for (int32_t page = 0; page < s->used; page++)
        cz_index_remove(&s->index, page);
    for (int64_t slot = 0; slot < (int64_t)1 << s->horizons.region_bits; slot++)
        s->regions[slot] = (cz_region){-1, 0.0};
    s->order.before[s->max_pages] = s->order.after[s->max_pages] = s->max_pages;
    s->plain = (cz_plain){0};
    s->used = s->live = 0;
    s->oldest_live = CZ_NO_NODE;
    s->accesses = 0;
    s->forgotten = 0;
}

void cz_sequence_free(cz_sequence *sequence) {
    if (!sequence)
        return;
    free(sequence->pages);
    free(sequence->regions);
    cz_index_free(&sequence->index);
    cz_rings_free(&sequence->order);
    free(sequence);
}

static double decayed(double heat, int64_t age, double half_life) {
    return heat * exp(-0.6931471805599453 * (double)age / half_life);
}

/* Write the heat of a request's region and return the logarithm of its age. */
static double use_region(cz_sequence *s, const cz_request *request, int64_t pages, float raw[CZ_N_RAW]) {
    uint64_t key = (uint64_t)(request->offset / s->horizons.region_bytes + 1) * UINT64_C(0x9E3779B97F4A7C15);
    cz_region *region = &s->regions[key >> (64 - s->horizons.region_bits)];
    int64_t age = s->accesses - region->last;
    bool known = region->last >= 0 && age <= s->horizons.memory;
    double heat = known ? decayed(region->heat, age, (double)s->horizons.capacity) : 0.0;
    raw[CZ_REGION_HEAT] = (float)log2(1.0 + heat);
    region->heat = heat + (double)pages;
    region->last = s->accesses;
    return known ? log2((double)age) : log2(1.0 + (double)s->horizons.memory);
}

/* The next newer page in use, or none. */
static int32_t newer(const cz_sequence *s, int32_t page) {
    int32_t next = s->order.before[page];
    return next == s->max_pages ? CZ_NO_NODE : next;
}

/* The page whose last access leaves the window now is no part of the recent working set any more. */
static void age_window(cz_sequence *s) {
    int32_t page = s->oldest_live;
    if (page == CZ_NO_NODE || s->pages[page].last > s->accesses - s->horizons.window)
        return;
    s->oldest_live = newer(s, page);
    s->live--;
}

/* Forget the page used longest ago, and return its place. */
static int32_t forget(cz_sequence *s) {
    int32_t page = cz_tail(&s->order, s->max_pages);
    if (s->oldest_live == page) {
        s->oldest_live = newer(s, page);
        s->live--;
    }
    s->forgotten += s->accesses + 1 - s->pages[page].last <= s->horizons.memory;
    cz_index_remove(&s->index, page);
    cz_unlink(&s->order, page);
    return page;
}

/* The page's place; new where it is not remembered. It becomes the newest, and its window is counted. */
static int32_t place_of(cz_sequence *s, int32_t volume, int64_t number) {
    int32_t page = cz_index_find(&s->index, volume, number);
    bool live = page != CZ_NO_NODE && s->pages[page].last > s->accesses - s->horizons.window;
    if (page == CZ_NO_NODE) {
        page = s->used < s->max_pages ? s->used++ : forget(s);
        cz_index_add(&s->index, page, volume, number);
        s->pages[page] = (cz_page){0};
    } else {
        if (s->oldest_live == page)
            s->oldest_live = newer(s, page);
        cz_unlink(&s->order, page);
    }
    cz_link(&s->order, s->max_pages, page);
    s->live += !live;
    if (s->oldest_live == CZ_NO_NODE)
        s->oldest_live = page;
    return page;
}

/* Sums over a request's pages, in the order of the columns from CZ_AGE on. */
typedef struct sums {
    double age, fresh, count, past_gap, written, heat, long_heat;
} sums;

static void add_history(const cz_sequence *s, cz_page *page, double never, sums *of) {
    int64_t age = s->accesses - page->last;
    if (page->uses == 0 || age > s->horizons.memory) {
        *page = (cz_page){0};
        of->age += never;
        of->fresh += 1.0;
        of->past_gap += never;
        return;
    }
    of->age += log2((double)age);
    of->count += log2(1.0 + (double)page->uses);
    of->past_gap += page->gap > 0 ? log2((double)page->gap) : never;
    of->written += (double)page->wrote;
    page->heat = decayed(page->heat, age, (double)s->horizons.capacity);
    page->long_heat = decayed(page->long_heat, age, LONG_HALF_LIVES * (double)s->horizons.capacity);
    of->heat += log2(1.0 + page->heat);
    of->long_heat += log2(1.0 + page->long_heat);
    page->gap = age;
}

static void use_page(cz_sequence *s, const cz_request *request, int64_t number, double never, sums *of) {
    age_window(s);
    cz_page *page = &s->pages[place_of(s, request->volume, number)];
    add_history(s, page, never, of);
    page->heat += 1.0;
    page->long_heat += 1.0;
    page->last = s->accesses++;
    page->uses++;
    page->wrote = request->op;
}

void cz_sequence_step(cz_sequence *s, const cz_request *request, float raw[CZ_N_RAW]) {
    int64_t first = request->offset / CZ_PAGE_BYTES;
    int64_t count = (request->offset + request->size - 1) / CZ_PAGE_BYTES - first + 1;
    double never = log2(1.0 + (double)s->horizons.memory), pages = (double)count;
    sums of = {0};
    cz_plain_step(&s->plain, request, raw);
    raw[CZ_RATIO] = (float)log2((double)s->horizons.capacity / (double)(s->live > 1 ? s->live : 1));
    raw[CZ_REGION_AGE] = (float)use_region(s, request, count, raw);
    for (int64_t number = first; number < first + count; number++)
        use_page(s, request, number, never, &of);
    raw[CZ_AGE] = (float)(of.age / pages);
    raw[CZ_FRESH] = (float)(of.fresh / pages);
    raw[CZ_COUNT] = (float)(of.count / pages);
    raw[CZ_PAST_GAP] = (float)(of.past_gap / pages);
    raw[CZ_WRITTEN] = (float)(of.written / pages);
    raw[CZ_HEAT] = (float)(of.heat / pages);
    raw[CZ_LONG_HEAT] = (float)(of.long_heat / pages);
}

void cz_sequence_stats(const cz_sequence *s, cz_counters *counters) {
    counters->keys += (uint64_t)s->used;
    counters->forgotten += s->forgotten;
    counters->bytes += sizeof *s + (size_t)s->max_pages * sizeof *s->pages + cz_index_bytes(&s->index, s->max_pages) +
                       2 * ((size_t)s->max_pages + 1) * sizeof *s->order.before +
                       ((size_t)1 << s->horizons.region_bits) * sizeof *s->regions;
}
