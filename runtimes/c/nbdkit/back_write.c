/* Write-back: what changes the disk, and flushes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "back_parts.h"
#include "crc32c.h"
#include "fills.h"

#define ZERO_BYTES ((uint64_t)1 << 20) /* what is zeroed on the SSD; more goes to the disk */

typedef struct edit {
    back *self;
    nbdkit_next *next;
    span span;
    const unsigned char *data; /* the client's; NULL: zeros */
    uint64_t offset, end;
    bool disk; /* some of it was written to the disk */
} edit;

/* What a unit holds before the change. */
static int load(edit *edit, uint64_t number, unsigned char *unit, int *err) {
    back *self = edit->self;
    served *served = self->served;
    bool right = false;
    pthread_mutex_lock(&served->lock);
    int32_t slot = places_find(&self->places, (int64_t)number);
    uint32_t crc = slot >= 0 ? tier_at(served->tier, slot)->data_crc : 0;
    if (slot >= 0)
        self->places.at[slot].pins++;
    pthread_mutex_unlock(&served->lock);
    if (slot >= 0) {
        right = back_read_slot(self, slot, crc, unit);
        pthread_mutex_lock(&served->lock);
        back_unpin(self, slot);
        bool on_disk = right || back_give_up(self, slot, (int64_t)number);
        pthread_mutex_unlock(&served->lock);
        if (!on_disk) {
            *err = EIO;
            return -1;
        }
    }
    if (right)
        return 0;
    uint64_t count = back_there(self, (int64_t)number), bytes = (uint64_t)back_unit(self);
    memset(unit + count, 0, bytes - count);
    back_count_disk_read(self, count);
    return edit->next->pread(edit->next, unit, (uint32_t)count, number * bytes, 0, err);
}

/* A unit as the change leaves it. */
static int make_unit(edit *edit, uint64_t number, unsigned char *unit, int *err) {
    uint64_t bytes = (uint64_t)back_unit(edit->self), begin = number * bytes;
    uint64_t end = begin + back_there(edit->self, (int64_t)number);
    uint64_t low = begin > edit->offset ? begin : edit->offset, high = end < edit->end ? end : edit->end;
    if (low > begin || high < end) {
        if (load(edit, number, unit, err))
            return -1;
    } else {
        memset(unit + (end - begin), 0, bytes - (end - begin));
    }
    if (edit->data)
        memcpy(unit + (low - begin), edit->data + (low - edit->offset), high - low);
    else
        memset(unit + (low - begin), 0, high - low);
    return 0;
}

/* Where lost units hold all other slots, a clean one goes; false where there is none. */
static bool may_get_room(back *self) {
    const int64_t *count = self->places.count;
    if (count[FREE] + count[BUSY] + count[DIRTY] + count[GONE] + count[VOIDED] > 0)
        return true;
    if (count[CLEAN] == 0)
        return false;
    places_go(&self->places, places_first(&self->places, CLEAN));
    return true;
}

/* Slots for up to `most` units, at least one; -1 where none can be had. Under the lock. */
static int64_t take_room(back *self, int32_t *slots, int64_t most) {
    uint64_t failures = self->failures;
    int64_t n = 0;
    bool waited = false;
    while (!self->failed && (self->places.count[FREE] == 0 || self->places.count[DIRTY] >= self->most_dirty)) {
        if (self->failures > failures + 1 || !may_get_room(self))
            return -1;
        self->served->stats.write_waits += !waited;
        waited = true;
        self->urgent = true;
        pthread_cond_signal(&self->work);
        pthread_cond_wait(&self->moved, &self->served->lock);
    }
    if (self->failed)
        return -1;
    for (int32_t slot; n < most && (slot = places_take(&self->places)) >= 0;)
        slots[n++] = slot;
    if (self->places.count[FREE] < self->least_free || 2 * self->places.count[DIRTY] >= self->most_dirty)
        pthread_cond_signal(&self->work);
    return n;
}

/* The units [first, end) of a change, on the disk alone: the SSD cannot take them. */
static int write_direct(edit *edit, uint64_t first, uint64_t end, int *err) {
    back *self = edit->self;
    served *served = self->served;
    uint64_t bytes = (uint64_t)back_unit(self);
    uint64_t low = first * bytes > edit->offset ? first * bytes : edit->offset;
    uint64_t high = end * bytes < edit->end ? end * bytes : edit->end;
    span part = {.first = first, .end = end};
    *err = EIO;
    pthread_mutex_lock(&served->lock);
    int failed = back_make_void(self, edit->next, &part);
    if (!failed)
        back_add_unflushed(self, &part);
    pthread_mutex_unlock(&served->lock);
    if (failed)
        return -1;
    edit->disk = true;
    if (edit->data)
        failed = edit->next->pwrite(edit->next, edit->data + (low - edit->offset), (uint32_t)(high - low), low, 0, err);
    else
        failed = edit->next->zero(edit->next, (uint32_t)(high - low), low, NBDKIT_FLAG_MAY_TRIM, err);
    pthread_mutex_lock(&served->lock);
    back_add_unflushed(self, &part);
    pthread_mutex_unlock(&served->lock);
    return failed;
}

/* Up to CHUNK units from the k-th on, on the SSD; how many, or -1. */
static int64_t store(edit *edit, uint64_t k, unsigned char *unit, int *err) {
    back *self = edit->self;
    served *served = self->served;
    uint64_t left = edit->span.end - edit->span.first - k;
    int32_t slots[CHUNK];
    uint32_t crcs[CHUNK];
    *err = EIO;
    pthread_mutex_lock(&served->lock);
    int64_t n = take_room(self, slots, left < CHUNK ? (int64_t)left : CHUNK), written = 0;
    pthread_mutex_unlock(&served->lock);
    if (n < 0)
        return -1;
    bool made = true, stored = true;
    for (; written < n; written++) {
        made = make_unit(edit, edit->span.first + k + (uint64_t)written, unit, err) == 0;
        if (!made)
            break;
        crcs[written] = crc32c(0, unit, (size_t)back_unit(self));
        stored = tier_write(served->tier, slots[written], unit) == 0;
        if (!stored)
            break;
    }
    pthread_mutex_lock(&served->lock);
    served->stats.ssd_errors += !stored;
    bool failed = self->failed;
    for (int64_t i = 0; i < n; i++) {
        if (i < written && !failed)
            places_enter(&self->places, slots[i], (int64_t)(edit->span.first + k) + i, crcs[i], true,
                         edit->span.keep[k + (uint64_t)i]);
        else
            places_return(&self->places, slots[i]);
    }
    if (!failed && places_write(&self->places, slots, written)) {
        back_fail(self, "an entry");
        failed = true;
    }
    budget_move(&served->budget, now_ns() / UINT64_C(1000000000)); /* a write is made, whatever the budget */
    served->budget.written[served->budget.second % BUDGET_KEPT] += (uint64_t)(written * back_unit(self));
    served->stats.fills += (uint64_t)written;
    served->stats.fill_bytes += (uint64_t)(written * back_unit(self));
    back_gauge(self);
    pthread_mutex_unlock(&served->lock);
    *err = made ? EIO : *err;
    if (failed || !made)
        return -1;
    if (stored)
        return written;
    uint64_t first = edit->span.first + k + (uint64_t)written;
    return write_direct(edit, first, first + 1, err) ? -1 : written + 1;
}

static int store_all(edit *edit, int *err) {
    unsigned char *unit = malloc((size_t)back_unit(edit->self));
    uint64_t n = edit->span.end - edit->span.first;
    int64_t done = unit ? 0 : -1;
    *err = ENOMEM;
    for (uint64_t k = 0; done >= 0 && k < n; k += (uint64_t)done)
        done = store(edit, k, unit, err);
    free(unit);
    return done < 0 ? -1 : 0;
}

static int flush_disk(back *self, nbdkit_next *next, int *err) {
    served *served = self->served;
    pthread_mutex_lock(&served->lock);
    bool any = served->unflushed.any || served->flushing.any || self->direct;
    maybe_join(&served->flushing, &served->unflushed);
    maybe_clear(&served->unflushed);
    self->flushers++;
    pthread_mutex_unlock(&served->lock);
    int failed = any ? next->flush(next, 0, err) : 0;
    if (failed)
        served_lose(served);
    pthread_mutex_lock(&served->lock);
    if (--self->flushers == 0)
        maybe_clear(&served->flushing);
    pthread_mutex_unlock(&served->lock);
    return failed;
}

int back_flush(back *self, nbdkit_next *next, int *err) {
    served *served = self->served;
    pthread_mutex_lock(&served->lock);
    int failed = self->direct ? 0 : back_sync_to(self, self->places.written);
    pthread_mutex_unlock(&served->lock);
    if (failed) {
        *err = EIO;
        return -1;
    }
    return flush_disk(self, next, err);
}

enum change_kind { STORED, BLANKED, DISCARDED };

/* Begin a change; 0, 1 where all goes to the disk, or -1. */
static int begin_change(edit *edit, enum change_kind kind, uint64_t count, int *err) {
    back *self = edit->self;
    served *served = self->served;
    pthread_mutex_lock(&served->lock);
    back_enter(self, &edit->span);
    served->stats.writes += kind == STORED;
    served->stats.write_bytes += kind == STORED ? count : 0;
    served->stats.zeroes += kind == BLANKED;
    served->stats.trims += kind == DISCARDED;
    int code = self->direct ? 1 : self->failed ? -1 : 0;
    if (code == 0 && kind == STORED)
        back_ask(self, &edit->span, CZ_WRITE, count, edit->offset);
    for (uint64_t k = 0; code == 0 && kind != STORED && edit->span.keep && k < edit->span.end - edit->span.first; k++) {
        int32_t slot = places_find(&self->places, (int64_t)(edit->span.first + k));
        edit->span.keep[k] = slot >= 0 && self->places.at[slot].kept;
    }
    pthread_mutex_unlock(&served->lock);
    *err = EIO;
    return code;
}

static int end_change(edit *edit, int failed, uint32_t flags, int *err) {
    back *self = edit->self;
    if (!failed && (flags & NBDKIT_FLAG_FUA))
        failed = back_flush(self, edit->next, err);
    pthread_mutex_lock(&self->served->lock);
    back_leave(self, &edit->span);
    pthread_mutex_unlock(&self->served->lock);
    free(edit->span.keep);
    return failed;
}

static int new_change(back *self, nbdkit_next *next, edit *edit, const void *data, uint64_t count, uint64_t offset,
                      int *err) {
    uint64_t unit = (uint64_t)back_unit(self), first = offset / unit, end = (offset + count + unit - 1) / unit;
    *edit = (struct edit){.self = self, .next = next, .data = data, .offset = offset, .end = offset + count};
    edit->span = (span){.first = first, .end = end, .alone = true, .keep = calloc(end - first, 1)};
    *err = ENOMEM;
    return edit->span.keep ? 0 : -1;
}

int back_write(back *self, nbdkit_next *next, const void *data, uint32_t count, uint64_t offset, uint32_t flags,
               int *err) {
    edit edit;
    if (new_change(self, next, &edit, data, count, offset, err))
        return -1;
    int how = begin_change(&edit, STORED, count, err);
    int failed = how < 0 ? -1 : how == 1 ? next->pwrite(next, data, count, offset, 0, err) : store_all(&edit, err);
    return end_change(&edit, failed, flags, err);
}

/* The whole units of a large zeroing, on the disk. */
static int zero_disk(back *self, nbdkit_next *next, uint64_t count, uint64_t offset, uint32_t flags, bool trims,
                     int *err) {
    edit edit;
    if (new_change(self, next, &edit, NULL, count, offset, err))
        return -1;
    int how = begin_change(&edit, trims ? DISCARDED : BLANKED, count, err);
    pthread_mutex_lock(&self->served->lock);
    int failed = how < 0 ? -1 : how == 0 ? back_make_void(self, next, &edit.span) : 0;
    if (!failed)
        back_add_unflushed(self, &edit.span);
    pthread_mutex_unlock(&self->served->lock);
    uint32_t pass = flags & NBDKIT_FLAG_MAY_TRIM;
    *err = EIO;
    if (!failed)
        failed = trims ? next->trim(next, (uint32_t)count, offset, 0, err)
                       : next->zero(next, (uint32_t)count, offset, pass, err);
    pthread_mutex_lock(&self->served->lock);
    back_add_unflushed(self, &edit.span);
    pthread_mutex_unlock(&self->served->lock);
    return end_change(&edit, failed, flags, err);
}

static int zero_ssd(back *self, nbdkit_next *next, uint64_t count, uint64_t offset, uint32_t flags, bool trims,
                    int *err) {
    edit edit;
    if (count == 0)
        return 0;
    if (new_change(self, next, &edit, NULL, count, offset, err))
        return -1;
    int how = begin_change(&edit, trims ? DISCARDED : BLANKED, count, err);
    int failed = how < 0 ? -1 : how == 0 ? store_all(&edit, err) : 0;
    if (how == 1)
        failed = trims ? next->trim(next, (uint32_t)count, offset, 0, err)
                       : next->zero(next, (uint32_t)count, offset, flags & NBDKIT_FLAG_MAY_TRIM, err);
    return end_change(&edit, failed, flags, err);
}

int back_zero(back *self, nbdkit_next *next, uint32_t count, uint64_t offset, uint32_t flags, bool trims, int *err) {
    uint64_t unit = (uint64_t)back_unit(self), end = offset + count;
    uint64_t low = (offset + unit - 1) / unit * unit, high = end / unit * unit;
    if (count <= ZERO_BYTES)
        return zero_ssd(self, next, count, offset, flags, trims, err);
    int failed = zero_ssd(self, next, low - offset, offset, flags, trims, err);
    if (!failed)
        failed = zero_disk(self, next, high - low, low, flags, trims, err);
    return failed ? failed : zero_ssd(self, next, end - high, high, flags, trims, err);
}
