/* A history as bytes, for cz_save: pages from the oldest to the newest, regions that were ever used. */
#include "sequence_state.h"

#include <math.h>
#include <string.h>

#include "bytes.h"

static void put_double(cz_writer *out, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    cz_put(out, bits, 8);
}

static double take_double(cz_bytes *in) {
    uint64_t bits = cz_take(in, 8);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void put_regions(cz_writer *out, const cz_sequence *s) {
    uint64_t known = 0;
    int64_t slots = (int64_t)1 << s->horizons.region_bits;
    for (int64_t slot = 0; slot < slots; slot++)
        known += s->regions[slot].last >= 0;
    cz_put(out, known, 8);
    for (int64_t slot = 0; slot < slots; slot++) {
        if (s->regions[slot].last < 0)
            continue;
        cz_put(out, (uint64_t)slot, 4);
        cz_put(out, (uint64_t)s->regions[slot].last, 8);
        put_double(out, s->regions[slot].heat);
    }
}

size_t cz_sequence_save(const cz_sequence *s, unsigned char *buffer) {
    cz_writer out = {buffer, 0};
    const int64_t numbers[] = {s->horizons.memory,
                               s->horizons.window,
                               s->horizons.region_bytes,
                               s->horizons.region_bits,
                               s->horizons.capacity,
                               s->max_pages,
                               s->plain.time_us,
                               s->plain.end,
                               s->plain.run,
                               s->plain.begun,
                               s->accesses,
                               (int64_t)s->forgotten,
                               s->used};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        cz_put(&out, (uint64_t)numbers[i], 8);
    for (int32_t page = s->order.before[s->max_pages]; page != s->max_pages; page = s->order.before[page]) {
        const cz_page *of = &s->pages[page];
        cz_put(&out, (uint64_t)s->index.keys[page].number, 8);
        cz_put(&out, (uint64_t)s->index.keys[page].volume, 4);
        cz_put(&out, (uint64_t)of->last, 8);
        cz_put(&out, (uint64_t)of->uses, 8);
        cz_put(&out, (uint64_t)of->gap, 8);
        put_double(&out, of->heat);
        put_double(&out, of->long_heat);
        cz_put(&out, (uint64_t)of->wrote, 1);
    }
    put_regions(&out, s);
    return out.size;
}

static bool warm(double heat) {
    return isfinite(heat) && heat >= 0.0;
}

/* A page, newer than those taken before; the clock is checked with it. */
static bool take_page(cz_sequence *s, cz_bytes *in, int64_t *last) {
    int64_t number = (int64_t)cz_take(in, 8);
    int32_t volume = (int32_t)cz_take(in, 4);
    cz_page page = {0};
    page.last = (int64_t)cz_take(in, 8);
    page.uses = (int64_t)cz_take(in, 8);
    page.gap = (int64_t)cz_take(in, 8);
    page.heat = take_double(in);
    page.long_heat = take_double(in);
    page.wrote = (int32_t)cz_take(in, 1);
    if (in->failed || number < 0 || volume < 0 || page.last <= *last || page.last >= s->accesses || page.uses < 1 ||
        page.uses > s->accesses || page.gap < 0 || page.gap > s->accesses || !warm(page.heat) ||
        !warm(page.long_heat) || page.wrote > 1 || cz_index_find(&s->index, volume, number) != CZ_NO_NODE)
        return false;
    int32_t place = s->used++;
    s->pages[place] = page;
    cz_index_add(&s->index, place, volume, number);
    cz_link(&s->order, s->max_pages, place);
    if (page.last >= s->accesses - s->horizons.window) {
        s->live++;
        if (s->oldest_live == CZ_NO_NODE)
            s->oldest_live = place;
    }
    *last = page.last;
    return true;
}

static bool take_regions(cz_sequence *s, cz_bytes *in) {
    uint64_t known = cz_take(in, 8), slots = (uint64_t)1 << s->horizons.region_bits;
    if (in->failed || known > slots)
        return false;
    for (uint64_t i = 0; i < known; i++) {
        uint64_t slot = cz_take(in, 4);
        cz_region region = {(int64_t)cz_take(in, 8), 0.0};
        region.heat = take_double(in);
        if (in->failed || slot >= slots || s->regions[slot].last >= 0 || region.last < 0 ||
            region.last >= s->accesses || !warm(region.heat))
            return false;
        s->regions[slot] = region;
    }
    return in->left == 0;
}

static bool take_all(cz_sequence *s, cz_bytes *in) {
    const int64_t own[] = {s->horizons.memory,      s->horizons.window,   s->horizons.region_bytes,
                           s->horizons.region_bits, s->horizons.capacity, s->max_pages};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if ((int64_t)cz_take(in, 8) != own[i])
            return false;
    int64_t time_us = (int64_t)cz_take(in, 8), end = (int64_t)cz_take(in, 8), run = (int64_t)cz_take(in, 8);
    uint64_t begun = cz_take(in, 8);
    s->accesses = (int64_t)cz_take(in, 8);
    s->forgotten = cz_take(in, 8);
    uint64_t used = cz_take(in, 8);
    if (in->failed || time_us < 0 || end < 0 || run < 0 || begun > 1 || s->accesses < run ||
        s->accesses > INT64_MAX / 2 || used > (uint64_t)s->max_pages)
        return false;
    s->plain = (cz_plain){time_us, end, run, begun == 1};
    int64_t last = -1;
    for (uint64_t i = 0; i < used; i++)
        if (!take_page(s, in, &last))
            return false;
    return take_regions(s, in);
}

bool cz_sequence_restore(cz_sequence *s, const unsigned char *buffer, size_t size) {
    cz_bytes in = {buffer, size, false};
    cz_sequence_clear(s);
    if (take_all(s, &in))
        return true;
    cz_sequence_clear(s);
    return false;
}
