/* Write-back: what the SSD holds at the start. */
#include <stdlib.h>
#include <string.h>

#include "back_parts.h"

void back_forget(back *self) {
    nbdkit_error("cachezoo: the disk was written to by others; what was cached of it is not used, and what it does not "
                 "hold yet is kept");
    for (int32_t slot = places_first(&self->places, CLEAN), after; slot >= 0; slot = after) {
        after = places_after(&self->places, slot);
        places_go(&self->places, slot);
    }
}

static int by_unit(const void *left, const void *right, void *of) {
    const tier_entry *a = tier_at(of, *(const int32_t *)left), *b = tier_at(of, *(const int32_t *)right);
    uint64_t new = a->fill & ~TIER_DIRTY, old = b->fill & ~TIER_DIRTY;
    return a->number != b->number ? (a->number < b->number ? -1 : 1) : new > old ? -1 : new < old;
}

static int by_use(const void *left, const void *right, void *of) {
    uint64_t a = tier_at(of, *(const int32_t *)left)->stamp, b = tier_at(of, *(const int32_t *)right)->stamp;
    return a < b ? -1 : a > b;
}

/* Whether an entry may be believed: a sync had covered it, or its data is right. */
static bool is_whole(back *self, int32_t slot, unsigned char *unit) {
    const tier_entry *entry = tier_at(self->served->tier, slot);
    return (entry->fill & ~TIER_DIRTY) <= tier_watermark(self->served->tier) ||
           back_read_slot(self, slot, entry->data_crc, unit);
}

/* Entries of one unit, the newest first: the first whole one counts. The others go, once that one is durable. */
static int32_t settle(back *self, const int32_t *slots, int64_t count, unsigned char *unit) {
    int32_t chosen = -1;
    bool changed = false;
    for (int64_t k = 0; k < count; k++) {
        int32_t slot = slots[k];
        bool dirty = tier_at(self->served->tier, slot)->fill & TIER_DIRTY;
        if (chosen >= 0) {
            places_found_older(&self->places, slot, chosen);
        } else if (is_whole(self, slot, unit)) {
            chosen = slot;
            places_found(&self->places, slot, dirty);
            if (tier_is_stale(self->served->tier, slot))
                places_go(&self->places, slot);
        } else {
            self->served->stats.corrupt++;
            tier_note_void(self->served->tier, slot);
            changed = true;
            if (tier_write_sector(self->served->tier, slot))
                back_fail(self, "an entry");
        }
    }
    if (changed)
        self->places.written++;
    return chosen;
}

int back_take_up(back *self, const view *view) {
    served *served = self->served;
    int32_t *order = malloc((size_t)self->places.n * sizeof *order);
    unsigned char *unit = malloc((size_t)back_unit(self));
    int64_t held = 0, put = 0;
    if (!order || !unit) {
        free(order);
        free(unit);
        nbdkit_error("cachezoo: no memory to take up what the SSD tier holds");
        return -1;
    }
    for (int32_t slot = 0; slot < self->places.n; slot++) {
        if (tier_at(served->tier, slot)->fill)
            order[held++] = slot;
    }
    qsort_r(order, (size_t)held, sizeof *order, by_unit, served->tier);
    int64_t chosen = 0;
    for (int64_t low = 0, high; low < held; low = high) {
        high = low + 1;
        while (high < held && tier_at(served->tier, order[high])->number == tier_at(served->tier, order[low])->number)
            high++;
        int32_t slot = settle(self, order + low, high - low, unit);
        if (slot >= 0)
            order[chosen++] = slot;
    }
    qsort_r(order, (size_t)chosen, sizeof *order, by_use, served->tier);
    for (int64_t k = 0; k < chosen; k++) {
        place *place = &self->places.at[order[k]];
        if (place->state != CLEAN && place->state != DIRTY)
            continue;
        served->stats.recovered++;
        place->kept =
            put < served->n_slots && cz_cache_put(served->cache, served->volume, place->number, (int32_t)put) == CZ_OK;
        put += place->kept;
        if (!place->kept && place->state == CLEAN)
            places_go(&self->places, order[k]);
    }
    free(order);
    free(unit);
    back_gauge(self);
    /* What was found may be in the kernel's memory alone. No request is under way yet: the lock is kept. */
    uint64_t covered = ++self->places.written;
    if (tier_sync(served->tier) || places_synced(&self->places, covered)) {
        back_fail(self, "taking up");
        return 0;
    }
    if (tier_samples_agree(served->tier, view))
        return 0;
    if (self->places.count[DIRTY] == 0) {
        back_forget(self);
        return 0;
    }
    nbdkit_error(
        "cachezoo: the disk holds something else than the tier, which has %lld bytes that are not on it yet: it "
        "was written to without the cache",
        (long long)(self->places.count[DIRTY] * back_unit(self)));
    return -1;
}
