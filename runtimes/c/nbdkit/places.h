/* The device slots of a write-back tier: which holds which version of which unit, and when it may be used again.
 *
 * A new version of a unit never overwrites the one before: it enters a free slot, and its entry has a higher fill number.
 * Of several entries of a unit the newest counts. So an entry must not go before all older ones of its unit have gone for
 * good, and an older one not before the newer is durable. A slot goes through these states, and each step to the right
 * of GONE waits for a sync:
 *
 *   FREE -> BUSY (data is written) -> CLEAN or DIRTY (or LOST: dirty, and cannot be read) -> GONE (replaced or evicted; its entry is still there)
 *        -> VOIDED (the entry is cleared, not yet for good) -> FREE
 *
 * All calls are made under one lock. */
#ifndef CZ_PLACES_H
#define CZ_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#include "tier.h"

enum place_state { FREE, BUSY, CLEAN, DIRTY, LOST, GONE, VOIDED, PLACE_STATES };

typedef struct place {
    int64_t number;        /* of the unit */
    uint64_t seq;          /* of the change that must be durable before the next step */
    uint64_t dirty_ns;     /* when it became dirty */
    uint32_t pins;         /* who reads it; it is not used again meanwhile */
    int32_t older, newer;  /* versions of the unit, -1: none */
    int32_t next;          /* in its bucket */
    int32_t before, after; /* in the ring of its state, the oldest first */
    uint8_t state;
    bool kept;   /* the policy holds the unit */
    bool picked; /* is being destaged */
} place;

typedef struct places {
    tier *tier;
    place *at; /* n slots, then the head of each state's ring */
    int32_t *buckets;
    uint64_t mask;
    int64_t n, count[PLACE_STATES];
    uint64_t written, synced; /* changes of entries so far, and those that are durable */
} places;

/* It holds its unit's newest version. */
static inline bool places_counts(const place *place) {
    return place->state == CLEAN || place->state == DIRTY || place->state == LOST;
}

int places_open(places *places, tier *tier, int64_t n);
void places_close(places *places);

/* The slot of a unit's newest version, -1 where there is none. */
int32_t places_find(const places *places, int64_t number);
/* Whether any entry of the unit may be on the device. */
bool places_has(const places *places, int64_t number);
/* The oldest slot of a state, -1 where there is none; and the one after. */
int32_t places_first(const places *places, enum place_state state);
int32_t places_after(const places *places, int32_t slot);

int32_t places_take(places *places);              /* FREE to BUSY, -1 where none is free */
void places_return(places *places, int32_t slot); /* BUSY to FREE, where no entry was written */
/* BUSY to CLEAN or DIRTY: the data is whole in the slot. The version before goes. places_write writes the entry. */
void places_enter(places *places, int32_t slot, int64_t number, uint32_t crc, bool dirty, bool kept);
/* The policy does not hold the unit any more: it goes, unless it is dirty. */
void places_evict(places *places, int64_t number);
/* It is on the disk for good: CLEAN, or it goes where the policy does not hold it. places_write writes the entry. */
void places_cleaned(places *places, int32_t slot);
/* A dirty one cannot be read: LOST until its unit is overwritten. No limit counts it, and the cleaner does not see it. */
void places_lose(places *places, int32_t slot);
/* A clean one goes, whoever holds it. */
void places_go(places *places, int32_t slot);
/* Write the entries of slots; the device has failed where it is -1. */
int places_write(places *places, const int32_t *slots, int64_t count);
/* All changes up to `covered` are durable: what waited for that takes its next step. -1 where the device fails. */
int places_synced(places *places, uint64_t covered);

/* At the start: an entry of the table is the unit's newest, or an older one of the slot `newer`. */
void places_found(places *places, int32_t slot, bool dirty);
void places_found_older(places *places, int32_t slot, int32_t newer);

#endif
