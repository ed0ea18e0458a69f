#include "places.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NONE (-1)

static int32_t head(const places *places, enum place_state state) {
    return (int32_t)(places->n + (int64_t)state);
}

static void unlink_place(places *places, int32_t slot) {
    place *self = &places->at[slot];
    places->at[self->before].after = self->after;
    places->at[self->after].before = self->before;
}

/* Before another one of its state's ring; before the ring's head, it is the last. */
static void link_place(places *places, int32_t slot, enum place_state state, int32_t next) {
    place *self = &places->at[slot];
    self->state = (uint8_t)state;
    self->before = places->at[next].before;
    self->after = next;
    places->at[self->before].after = slot;
    places->at[next].before = slot;
    places->count[state]++;
}

static void move_before(places *places, int32_t slot, enum place_state state, int32_t next) {
    places->count[places->at[slot].state]--;
    unlink_place(places, slot);
    link_place(places, slot, state, next);
}

static void move(places *places, int32_t slot, enum place_state state) {
    move_before(places, slot, state, head(places, state));
}

int places_open(places *places, tier *tier, int64_t n) {
    uint64_t buckets = 64;
    while (buckets < (uint64_t)n)
        buckets *= 2;
    *places = (struct places){.tier = tier, .n = n, .mask = buckets - 1};
    places->at = calloc((size_t)n + PLACE_STATES, sizeof *places->at);
    places->buckets = malloc(buckets * sizeof *places->buckets);
    if (!places->at || !places->buckets)
        return -1;
    memset(places->buckets, 0xff, buckets * sizeof *places->buckets); /* -1 each */
    for (int state = 0; state < PLACE_STATES; state++) {
        int32_t ring = head(places, (enum place_state)state);
        places->at[ring].before = places->at[ring].after = ring;
    }
    for (int32_t slot = 0; slot < n; slot++) {
        places->at[slot].older = places->at[slot].newer = NONE;
        link_place(places, slot, FREE, head(places, FREE));
    }
    return 0;
}

void places_close(places *places) {
    free(places->at);
    free(places->buckets);
    places->at = NULL;
    places->buckets = NULL;
}

static int32_t *bucket(const places *places, int64_t number) {
    return &places->buckets[((uint64_t)number * UINT64_C(0x9E3779B97F4A7C15) >> 20) & places->mask];
}

static int32_t newest(const places *places, int64_t number) {
    int32_t slot = *bucket(places, number);
    while (slot != NONE && places->at[slot].number != number)
        slot = places->at[slot].next;
    return slot;
}

static void index_add(places *places, int32_t slot) {
    int32_t *first = bucket(places, places->at[slot].number);
    places->at[slot].next = *first;
    *first = slot;
}

static void index_remove(places *places, int32_t slot) {
    int32_t *link = bucket(places, places->at[slot].number);
    while (*link != slot)
        link = &places->at[*link].next;
    *link = places->at[slot].next;
}

int32_t places_find(const places *places, int64_t number) {
    int32_t slot = newest(places, number);
    return slot != NONE && places_counts(&places->at[slot]) ? slot : NONE;
}

bool places_has(const places *places, int64_t number) {
    return newest(places, number) != NONE;
}

int32_t places_first(const places *places, enum place_state state) {
    int32_t first = places->at[head(places, state)].after;
    return first < places->n ? first : NONE;
}

int32_t places_after(const places *places, int32_t slot) {
    int32_t after = places->at[slot].after;
    return after < places->n ? after : NONE;
}

int32_t places_take(places *places) {
    int32_t slot = places_first(places, FREE);
    if (slot != NONE)
        move(places, slot, BUSY);
    return slot;
}

void places_return(places *places, int32_t slot) {
    move(places, slot, FREE);
}

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

/* What the version before waits for: that the new one is durable, unless it was on its way out already. */
static void replace(places *places, int32_t old, int32_t slot) {
    place *before = &places->at[old];
    index_remove(places, old);
    before->newer = slot;
    places->at[slot].older = old;
    if (!places_counts(before))
        return;
    before->kept = false;
    before->seq = places->written;
    move(places, old, GONE);
}

void places_enter(places *places, int32_t slot, int64_t number, uint32_t crc, bool dirty, bool kept) {
    int32_t old = newest(places, number);
    place *self = &places->at[slot];
    bool redone = dirty && old != NONE && places->at[old].state == DIRTY; /* it keeps its age */
    *self = (place){.number = number,
                    .seq = ++places->written,
                    .dirty_ns = redone ? places->at[old].dirty_ns : now(),
                    .older = NONE,
                    .newer = NONE,
                    .before = self->before,
                    .after = self->after,
                    .state = self->state,
                    .kept = kept};
    move_before(places, slot, dirty ? DIRTY : CLEAN, redone ? old : head(places, dirty ? DIRTY : CLEAN));
    if (old != NONE)
        replace(places, old, slot);
    index_add(places, slot);
    tier_note(places->tier, slot, number, crc, dirty);
}

void places_lose(places *places, int32_t slot) {
    move(places, slot, LOST);
}

void places_go(places *places, int32_t slot) {
    places->at[slot].kept = false;
    places->at[slot].seq = 0;
    move(places, slot, GONE);
}

void places_evict(places *places, int64_t number) {
    int32_t slot = places_find(places, number);
    if (slot == NONE)
        return;
    places->at[slot].kept = false;
    if (places->at[slot].state == CLEAN)
        places_go(places, slot);
}

void places_cleaned(places *places, int32_t slot) {
    place *self = &places->at[slot];
    tier_note_clean(places->tier, slot);
    places->written++;
    if (self->kept)
        move(places, slot, CLEAN);
    else
        places_go(places, slot);
}

int places_write(places *places, const int32_t *slots, int64_t count) {
    for (int64_t k = 0; k < count; k++) {
        bool again = k + 1 < count && tier_sector(slots[k + 1]) == tier_sector(slots[k]);
        if (!again && tier_write_sector(places->tier, slots[k]))
            return -1;
    }
    return 0;
}

static void forget(places *places, int32_t slot) {
    place *self = &places->at[slot];
    if (self->newer != NONE)
        places->at[self->newer].older = NONE;
    else
        index_remove(places, slot);
    self->newer = NONE;
    move(places, slot, FREE);
}

int places_synced(places *places, uint64_t covered) {
    int32_t last = NONE;
    int failed = 0;
    places->synced = covered > places->synced ? covered : places->synced;
    for (int32_t slot = places_first(places, VOIDED), after; slot != NONE; slot = after) {
        after = places_after(places, slot);
        if (places->at[slot].seq <= places->synced && places->at[slot].pins == 0)
            forget(places, slot);
    }
    for (int32_t slot = places_first(places, GONE), after; slot != NONE; slot = after) {
        after = places_after(places, slot);
        if (places->at[slot].older != NONE || places->at[slot].seq > places->synced)
            continue;
        tier_note_void(places->tier, slot);
        places->at[slot].seq = ++places->written;
        move(places, slot, VOIDED);
        if (last != NONE && tier_sector(last) != tier_sector(slot))
            failed |= tier_write_sector(places->tier, last);
        last = slot;
    }
    if (last != NONE)
        failed |= tier_write_sector(places->tier, last);
    return failed;
}

void places_found(places *places, int32_t slot, bool dirty) {
    place *self = &places->at[slot];
    self->number = tier_at(places->tier, slot)->number;
    self->seq = ++places->written;
    self->dirty_ns = now();
    index_add(places, slot);
    move(places, slot, dirty ? DIRTY : CLEAN);
}

void places_found_older(places *places, int32_t slot, int32_t newer) {
    place *self = &places->at[slot];
    while (places->at[newer].older != NONE)
        newer = places->at[newer].older;
    self->number = places->at[newer].number;
    self->newer = newer;
    self->seq = places->written;
    places->at[newer].older = slot;
    move(places, slot, GONE);
}
