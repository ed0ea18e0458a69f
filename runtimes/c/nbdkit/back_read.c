/* Write-back: reads. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "back_parts.h"
#include "crc32c.h"
#include "fills.h"

typedef struct part {
    int32_t slot; /* -1: from the disk */
    uint32_t crc;
} part;

typedef struct reading {
    back *self;
    nbdkit_next *next;
    span span;
    part *parts;
    unsigned char *data;
    uint64_t offset, end;
    unsigned *sources;
} reading;

/* The client's bytes of a unit, from its data. */
static void give(const reading *read, uint64_t number, const unsigned char *unit) {
    uint64_t bytes = (uint64_t)back_unit(read->self), begin = number * bytes, end = begin + bytes;
    uint64_t low = begin > read->offset ? begin : read->offset, high = end < read->end ? end : read->end;
    memcpy(read->data + (low - read->offset), unit + (low - begin), high - low);
}

static void look_up(reading *read) {
    back *self = read->self;
    for (uint64_t k = 0; k < read->span.end - read->span.first; k++) {
        int32_t slot = places_find(&self->places, (int64_t)(read->span.first + k));
        read->parts[k].slot = slot;
        self->served->stats.late += slot < 0 && read->span.keep[k];
        if (slot < 0)
            continue;
        read->parts[k].crc = tier_at(self->served->tier, slot)->data_crc;
        self->places.at[slot].pins++;
        tier_use(self->served->tier, slot);
    }
}

/* From the SSD; what cannot be had there is for the disk, or an error. */
static int read_slots(reading *read, unsigned char *unit) {
    back *self = read->self;
    served *served = self->served;
    uint64_t n = read->span.end - read->span.first;
    int failed = 0;
    for (uint64_t k = 0; k < n; k++) {
        part *part = &read->parts[k];
        if (part->slot < 0)
            continue;
        bool right = back_read_slot(self, part->slot, part->crc, unit);
        if (right) {
            give(read, read->span.first + k, unit);
            *read->sources |= FROM_SSD;
        }
        pthread_mutex_lock(&served->lock);
        back_unpin(self, part->slot);
        if (right)
            served->stats.ssd_read_bytes += (uint64_t)back_unit(self);
        else if (back_give_up(self, part->slot, (int64_t)(read->span.first + k)))
            part->slot = -1;
        else
            failed = -1;
        pthread_mutex_unlock(&served->lock);
    }
    return failed;
}

static bool can_fill(const back *self, int64_t number) {
    const served *served = self->served;
    return !self->failed && !served->passing && !maybe_holds(&served->unflushed, number) &&
           !maybe_holds(&served->flushing, number) && !maybe_holds(&served->lost, number) &&
           places_find(&self->places, number) < 0;
}

/* What was read from the disk and the policy holds enters the SSD. */
static void fill(reading *read, uint64_t k, const unsigned char *unit) {
    back *self = read->self;
    served *served = self->served;
    int64_t number = (int64_t)(read->span.first + k);
    pthread_mutex_lock(&served->lock);
    bool wanted = read->span.keep[k] && can_fill(self, number);
    bool affordable = wanted && budget_take(&served->budget, now_ns(), (uint64_t)back_unit(self));
    served->stats.over_budget += wanted && !affordable;
    int32_t slot = affordable ? places_take(&self->places) : -1;
    if (self->places.count[FREE] < self->least_free)
        pthread_cond_signal(&self->work);
    pthread_mutex_unlock(&served->lock);
    if (slot < 0)
        return;
    uint32_t crc = crc32c(0, unit, (size_t)back_unit(self));
    int failed = tier_write(served->tier, slot, unit);
    pthread_mutex_lock(&served->lock);
    served->stats.ssd_errors += failed != 0;
    if (failed || !read->span.keep[k] || !can_fill(self, number)) {
        served->stats.abandoned++;
        places_return(&self->places, slot);
    } else {
        places_enter(&self->places, slot, number, crc, false, true);
        if (places_write(&self->places, &slot, 1))
            back_fail(self, "an entry");
        served->stats.fills++;
        served->stats.fill_bytes += (uint64_t)back_unit(self);
    }
    pthread_mutex_unlock(&served->lock);
}

/* One read of the disk, of whole units from the first to the last that is missing. */
static int read_disk(reading *read, int *err) {
    back *self = read->self;
    uint64_t n = read->span.end - read->span.first, low = n, high = 0, bytes = (uint64_t)back_unit(self);
    for (uint64_t k = 0; k < n; k++) {
        if (read->parts[k].slot < 0) {
            low = low < k ? low : k;
            high = k + 1;
        }
    }
    if (low >= high)
        return 0;
    uint64_t begin = (read->span.first + low) * bytes, all = (high - low) * bytes;
    uint64_t count =
        (uint64_t)self->served->backend_bytes - begin < all ? (uint64_t)self->served->backend_bytes - begin : all;
    unsigned char *units = malloc(all);
    if (!units || count > UINT32_MAX) {
        free(units);
        *err = ENOMEM;
        return -1;
    }
    back_count_disk_read(self, count);
    *read->sources |= FROM_DISK;
    int failed = read->next->pread(read->next, units, (uint32_t)count, begin, 0, err);
    memset(units + count, 0, all - count);
    for (uint64_t k = low; k < high && !failed; k++) {
        if (read->parts[k].slot >= 0)
            continue;
        give(read, read->span.first + k, units + (k - low) * bytes);
        fill(read, k, units + (k - low) * bytes);
    }
    free(units);
    return failed;
}

int back_read(back *self, nbdkit_next *next, void *data, uint32_t count, uint64_t offset, unsigned *sources, int *err) {
    served *served = self->served;
    uint64_t unit = (uint64_t)back_unit(self), first = offset / unit, end = (offset + count + unit - 1) / unit;
    reading read = {
        .self = self, .next = next, .data = data, .offset = offset, .end = offset + count, .sources = sources};
    read.parts = malloc((end - first) * sizeof *read.parts);
    read.span = (span){.first = first, .end = end, .keep = calloc(end - first, 1)};
    unsigned char *buffer = malloc(unit);
    int failed = read.parts && read.span.keep && buffer ? 0 : -1;
    if (failed)
        *err = ENOMEM;
    if (!failed) {
        pthread_mutex_lock(&served->lock);
        back_enter(self, &read.span);
        served->stats.reads++;
        served->stats.read_bytes += count;
        bool direct = self->direct;
        if (!direct) {
            back_ask(self, &read.span, CZ_READ, count, offset);
            look_up(&read);
        }
        pthread_mutex_unlock(&served->lock);
        if (direct) {
            back_count_disk_read(self, count);
            *sources |= FROM_DISK;
            failed = next->pread(next, data, count, offset, 0, err);
        } else if (read_slots(&read, buffer)) {
            *err = EIO;
            failed = -1;
        } else
            failed = read_disk(&read, err);
        pthread_mutex_lock(&served->lock);
        back_leave(self, &read.span);
        pthread_mutex_unlock(&served->lock);
    }
    free(read.parts);
    free(read.span.keep);
    free(buffer);
    return failed;
}
