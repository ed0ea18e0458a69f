/* Write-back: the SSD, and the requests that are under way. */
#include "back_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "crc32c.h"
#include "fills.h"

#define SECOND_NS UINT64_C(1000000000)

int64_t back_slots(int64_t capacity) {
    return capacity + capacity / 32 + 2 * CHUNK;
}

int back_open(served *served, const back_options *options) {
    back *made = calloc(1, sizeof *made);
    served->back = made;
    if (!made || places_open(&made->places, served->tier, options->slots))
        return -1;
    made->served = served;
    made->most_dirty = options->capacity * options->dirty_percent / 100;
    made->most_dirty = made->most_dirty < 1 ? 1 : made->most_dirty;
    made->least_free = (options->slots - options->capacity) / 2;
    made->delay_ns = (uint64_t)options->delay_s * SECOND_NS;
    pthread_cond_init(&made->moved, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&made->work, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return 0;
}

void back_close(served *served) {
    back *self = served->back;
    if (!self)
        return;
    places_close(&self->places);
    if (self->served) {
        pthread_cond_destroy(&self->moved);
        pthread_cond_destroy(&self->work);
    }
    free(self);
    served->back = NULL;
}

void back_fail(back *self, const char *what) {
    served *served = self->served;
    served->stats.ssd_errors++;
    if (self->failed)
        return;
    self->failed = true;
    served->failed_ns = now_ns();
    snprintf(served->reason, sizeof served->reason, "%s failed on the SSD tier", what);
    self->fixed = tier_say_failing(served->tier) == 0;
    nbdkit_error(
        "cachezoo: %s failed on the SSD tier; writes are refused until the %lld bytes that the SSD alone holds "
        "are on the disk%s",
        what, (long long)(back_alone(self) * back_unit(self)),
        self->fixed ? "" : "; the label cannot be written either, so they stay where they are: stop");
    pthread_cond_broadcast(&self->moved);
    pthread_cond_signal(&self->work);
}

/* One sync for all that wait. */
static void sync_once(back *self) {
    served *served = self->served;
    uint64_t covered = self->places.written, fill = tier_fills(served->tier);
    self->syncing = true;
    pthread_mutex_unlock(&served->lock);
    int failed = tier_sync(served->tier);
    pthread_mutex_lock(&served->lock);
    self->syncing = false;
    if (failed)
        back_fail(self, "a sync");
    else if (!self->failed && (places_synced(&self->places, covered) || tier_say_watermark(served->tier, fill)))
        back_fail(self, "an entry");
    pthread_cond_broadcast(&self->moved);
}

/* Until all changes of entries up to this one are durable. */
int back_sync_to(back *self, uint64_t wanted) {
    while (!self->failed && self->places.synced < wanted) {
        if (self->syncing)
            pthread_cond_wait(&self->moved, &self->served->lock);
        else
            sync_once(self);
    }
    return self->failed ? -1 : 0;
}

/* A slot's data, without the lock; its place is pinned. */
bool back_read_slot(back *self, int32_t slot, uint32_t crc, unsigned char *unit) {
    return tier_read(self->served->tier, slot, unit) == 0 && crc32c(0, unit, (size_t)back_unit(self)) == crc;
}

void back_unpin(back *self, int32_t slot) {
    self->places.at[slot].pins--;
}

/* A slot's data was wrong or could not be read. Its unit is on the disk as well, unless it is dirty: then it is lost until
 * it is overwritten. */
bool back_give_up(back *self, int32_t slot, int64_t number) {
    place *place = &self->places.at[slot];
    served *served = self->served;
    served->stats.corrupt++;
    if (place->number != number || place->state == GONE || place->state == VOIDED)
        return true;
    if (place->state == CLEAN) {
        places_go(&self->places, slot);
        return true;
    }
    if (place->state == LOST)
        return false;
    served->stats.lost_blocks++;
    nbdkit_error("cachezoo: %lld bytes at %lld of the disk are lost: the SSD alone held them, and they cannot be read "
                 "there; reads of them fail until they are overwritten",
                 (long long)back_unit(self), (long long)(number * back_unit(self)));
    places_lose(&self->places, slot);
    return false;
}

static bool overlaps(const span *one, const span *other) {
    return one->first < other->end && other->first < one->end && (one->alone || other->alone);
}

/* Under the lock, which is given up while another request with the same units is under way. */
void back_enter(back *self, span *span) {
    span->before = self->youngest;
    span->after = NULL;
    *(self->youngest ? &self->youngest->after : &self->oldest) = span;
    self->youngest = span;
    for (struct span *other = self->oldest; other != span;) {
        if (!overlaps(other, span)) {
            other = other->after;
            continue;
        }
        pthread_cond_wait(&self->moved, &self->served->lock);
        other = self->oldest;
    }
}

void back_leave(back *self, span *span) {
    *(span->before ? &span->before->after : &self->oldest) = span->after;
    *(span->after ? &span->after->before : &self->youngest) = span->before;
    pthread_cond_broadcast(&self->moved);
}

static void evicted(back *self, int64_t number) {
    for (span *span = self->oldest; span; span = span->after) {
        if (span->keep && (uint64_t)number >= span->first && (uint64_t)number < span->end)
            span->keep[(uint64_t)number - span->first] = 0;
    }
    places_evict(&self->places, number);
}

/* The policy's word on a request: which of its units it holds from here on. */
void back_ask(back *self, span *span, enum cz_op op, uint64_t count, uint64_t offset) {
    served *served = self->served;
    cz_request request = served_request(served, op, count, offset);
    cz_access access;
    served_log(served, &request);
    if (served_ask(served, &request, &access) != CZ_OK)
        return;
    if (op == CZ_WRITE) {
        served_count_write(served, &access);
    } else {
        served->stats.hits += (uint64_t)access.hits;
        served->stats.misses += (uint64_t)access.misses;
        served->stats.admitted += (uint64_t)(access.written - access.prefetched);
        served->stats.prefetched += (uint64_t)access.prefetched;
        served->stats.evicted += (uint64_t)access.evicted;
    }
    int64_t own = access.hits + access.misses;
    for (int64_t k = 0; k < access.n_victims; k++) {
        uint64_t place = (uint64_t)access.victims[k].number - span->first;
        const cz_unit *again = place < (uint64_t)own ? &access.units[place] : NULL;
        if (!again || again->outcome != 1 || again->slot < 0) /* else it came back in the same request */
            evicted(self, access.victims[k].number);
    }
    for (int64_t k = 0; k < own; k++) {
        const cz_unit *unit = &access.units[k];
        span->keep[k] = unit->outcome >= 1 && unit->slot >= 0;
    }
    for (int64_t k = 0; k < access.n_victims; k++) { /* hits that later units of the request put out */
        uint64_t place = (uint64_t)access.victims[k].number - span->first;
        if (place < (uint64_t)own && access.units[place].outcome == 2)
            span->keep[place] = 0;
    }
    for (int64_t k = 0; k < own; k++) {
        int32_t slot = span->keep[k] ? places_find(&self->places, access.units[k].number) : -1;
        if (slot >= 0)
            self->places.at[slot].kept = true;
    }
}

/* Bytes of the unit that the disk has. */
uint64_t back_there(const back *self, int64_t number) {
    uint64_t begin = (uint64_t)(number * back_unit(self)), all = (uint64_t)self->served->backend_bytes;
    return all - begin < (uint64_t)back_unit(self) ? all - begin : (uint64_t)back_unit(self);
}

void back_count_disk_read(back *self, uint64_t count) {
    pthread_mutex_lock(&self->served->lock);
    self->served->stats.backend_reads++;
    self->served->stats.backend_read_bytes += count;
    pthread_mutex_unlock(&self->served->lock);
}

/* After it the disk may lose what it was given, until a flush. */
void back_add_unflushed(back *self, const span *span) {
    if (span->end - span->first > (uint64_t)1 << MAYBE_BITS)
        maybe_add_all(&self->served->unflushed);
    for (uint64_t number = span->first; number < span->end && !self->served->unflushed.all; number++)
        maybe_add(&self->served->unflushed, (int64_t)number);
}
