/* Reads: from the SSD what is there, the rest in one I/O to the backend, and to the SSD what the policy admits. */
#include <stdlib.h>
#include <string.h>

#include "crc32c.h"
#include "fills.h"

/* A unit of a read, as it was decided. */
typedef struct part {
    int64_t number;
    int32_t slot;
    uint32_t turn, crc;
    bool own;    /* of the request, not prefetched */
    bool cached; /* read from the SSD */
    bool failed; /* its slot could not be read */
    bool wrong;  /* its CRC is not that of the table */
    bool fill;   /* to be written to the SSD */
} part;

typedef struct reading {
    served *served;
    const backend *backend;
    unsigned char *data; /* the client's */
    uint64_t offset, end;
    part *parts;
    int64_t n_parts;
    unsigned char *unit; /* room for one */
} reading;

static bool written_now(const served *served, int64_t number) {
    for (const writing *write = served->writes; write; write = write->next) {
        if ((uint64_t)number >= write->first && (uint64_t)number < write->end)
            return true;
    }
    return false;
}

/* Where connections do not see each other's writes: one that has met another may hold an old view ever after. */
static bool sees_all(const reading *self) {
    return self->backend->sees_all || self->backend->alone == self->served->joined;
}

/* Whether a unit that the policy has let in can be filled now. */
static bool can_fill(const reading *self, const part *part) {
    const served *served = self->served;
    return sees_all(self) && part->slot >= 0 && !served->slots[part->slot].busy &&
           part->number * served->unit_bytes < served->backend_bytes && !written_now(served, part->number) &&
           !maybe_holds(&served->lost, part->number);
}

/* The units of an access, copied out of it. */
static void take_parts(reading *self, const cz_access *access) {
    served *served = self->served;
    for (int64_t k = 0; k < access->n_units; k++) {
        const cz_unit *unit = &access->units[k];
        part *part = &self->parts[self->n_parts++];
        *part = (struct part){.number = unit->number, .slot = unit->slot, .own = k < access->hits + access->misses};
        if (unit->outcome != 2)
            continue;
        part->cached = served->slots[unit->slot].ready;
        part->turn = served->slots[unit->slot].turn;
        part->crc = served->slots[unit->slot].crc;
        served->stats.late += !part->cached;
        if (part->cached)
            tier_use(served->tier, unit->slot);
    }
    for (int64_t k = 0; k < access->n_victims; k++)
        served_retire(served, access->victims[k].slot);
    for (int64_t k = 0; k < access->n_units; k++)
        self->parts[k].fill = access->units[k].outcome == 1;
}

/* Begin the fills that can be, and give up the others. */
static void begin_fills(reading *self) {
    served *served = self->served;
    for (int64_t k = 0; k < self->n_parts; k++) {
        part *part = &self->parts[k];
        if (!part->fill)
            continue;
        part->fill = can_fill(self, part);
        if (part->fill) {
            part->turn = served->slots[part->slot].turn;
            served->slots[part->slot].busy = true;
        } else if (part->slot >= 0) {
            served->stats.abandoned++;
            served_drop(served, (uint64_t)served->unit_bytes, (uint64_t)(part->number * served->unit_bytes));
        }
    }
}

static int decide(reading *self) {
    served *served = self->served;
    cz_request request = served_request(served, CZ_READ, self->end - self->offset, self->offset);
    cz_access access;
    served->stats.reads++;
    served->stats.read_bytes += self->end - self->offset;
    served_log(served, &request);
    if (served->failed || served_ask(served, &request, &access) != CZ_OK)
        return -1;
    served->stats.hits += (uint64_t)access.hits;
    served->stats.misses += (uint64_t)access.misses;
    served->stats.admitted += (uint64_t)(access.written - access.prefetched);
    served->stats.prefetched += (uint64_t)access.prefetched;
    served->stats.evicted += (uint64_t)access.evicted;
    served->stats.io_units += (uint64_t)access.io_units;
    take_parts(self, &access);
    begin_fills(self);
    return served->failed ? -1 : 0;
}

/* The bytes of a unit that the client asked for. */
static void overlap(const reading *self, int64_t number, uint64_t *low, uint64_t *high) {
    uint64_t begin = (uint64_t)(number * self->served->unit_bytes), end = begin + (uint64_t)self->served->unit_bytes;
    *low = begin > self->offset ? begin : self->offset;
    *high = end < self->end ? end : self->end;
}

static void give(const reading *self, int64_t number, const unsigned char *unit) {
    uint64_t low, high;
    overlap(self, number, &low, &high);
    memcpy(self->data + (low - self->offset), unit + (low - (uint64_t)(number * self->served->unit_bytes)), high - low);
}

/* A unit whose slot turned out to be wrong or gone is read from the backend. */
static void check_cached(reading *self, part *part) {
    served *served = self->served;
    bool same = served->slots[part->slot].turn == part->turn;
    if (same && !part->failed && !part->wrong) {
        served->stats.ssd_read_bytes += (uint64_t)served->unit_bytes;
        return;
    }
    part->cached = false;
    if (!same || served->failed)
        return;
    served->stats.corrupt += part->wrong;
    served_drop(served, (uint64_t)served->unit_bytes, (uint64_t)(part->number * served->unit_bytes));
    served_count_error(served, part->failed, "a read");
}

static void read_cached(reading *self) {
    served *served = self->served;
    bool any = false;
    for (int64_t k = 0; k < self->n_parts; k++) {
        part *part = &self->parts[k];
        if (!part->cached)
            continue;
        any = true;
        part->failed = tier_read(served->tier, part->slot, self->unit) != 0;
        part->wrong = !part->failed && crc32c(0, self->unit, (size_t)served->unit_bytes) != part->crc;
        if (!part->failed && !part->wrong)
            give(self, part->number, self->unit);
    }
    if (!any)
        return;
    pthread_mutex_lock(&served->lock);
    for (int64_t k = 0; k < self->n_parts; k++) {
        if (self->parts[k].cached)
            check_cached(self, &self->parts[k]);
    }
    pthread_mutex_unlock(&served->lock);
}

/* The I/O to the backend: from the first to the last unit that is missing or to be filled; false where none is. */
static bool backend_range(const reading *self, bool fills, int64_t *low, int64_t *high) {
    bool any = false;
    for (int64_t k = 0; k < self->n_parts; k++) {
        const part *part = &self->parts[k];
        if (!(part->own && !part->cached) && !(fills && part->fill))
            continue;
        *low = any && *low < part->number ? *low : part->number;
        *high = any && *high > part->number ? *high : part->number;
        any = true;
    }
    return any;
}

static int read_backend(const reading *self, void *data, uint64_t count, uint64_t offset, int *err) {
    served *served = self->served;
    pthread_mutex_lock(&served->lock);
    served->stats.backend_reads++;
    served->stats.backend_read_bytes += count;
    pthread_mutex_unlock(&served->lock);
    return self->backend->read(self->backend->next, data, (uint32_t)count, offset, err);
}

/* What the client asked for and the SSD has not given, without filling anything. */
static int read_plain(const reading *self, int *err) {
    int64_t low = 0, high = 0;
    if (!backend_range(self, false, &low, &high))
        return 0;
    uint64_t unit = (uint64_t)self->served->unit_bytes, begin = (uint64_t)low * unit, end = (uint64_t)(high + 1) * unit;
    begin = begin > self->offset ? begin : self->offset;
    end = end < self->end ? end : self->end;
    return read_backend(self, self->data + (begin - self->offset), end - begin, begin, err);
}

/* One part's fill ends. */
static void end_fill(served *served, const part *part, bool written, uint32_t crc) {
    slot_state *state = &served->slots[part->slot];
    state->busy = false;
    if (state->turn != part->turn || served->failed) {
        served->stats.abandoned++;
        return;
    }
    served_count_error(served, !written, "a write");
    if (!written || served->failed || maybe_holds(&served->lost, part->number)) {
        served->stats.abandoned++;
        served_drop(served, (uint64_t)served->unit_bytes, (uint64_t)(part->number * served->unit_bytes));
        return;
    }
    served_ready(served, part->slot, part->number, crc);
    served->stats.fills++;
    served->stats.fill_bytes += (uint64_t)served->unit_bytes;
}

static void fill(reading *self, const unsigned char *units, int64_t low) {
    served *served = self->served;
    for (int64_t k = 0; k < self->n_parts; k++) {
        part *part = &self->parts[k];
        if (!part->fill)
            continue;
        const unsigned char *unit = units ? units + (part->number - low) * served->unit_bytes : NULL;
        uint32_t crc = unit ? crc32c(0, unit, (size_t)served->unit_bytes) : 0;
        bool written = unit && tier_write(served->tier, part->slot, unit) == 0;
        pthread_mutex_lock(&served->lock);
        if (unit) {
            end_fill(served, part, written, crc);
        } else {
            served->slots[part->slot].busy = false;
            served->stats.abandoned++;
            if (served->slots[part->slot].turn == part->turn)
                served_drop(served, (uint64_t)served->unit_bytes, (uint64_t)(part->number * served->unit_bytes));
        }
        pthread_mutex_unlock(&served->lock);
    }
}

/* Whole units, with what the policy wants beside; false where that cannot be had, and the fills are given up. */
static bool read_and_fill(reading *self) {
    served *served = self->served;
    int64_t low = 0, high = 0, unit = served->unit_bytes;
    int err;
    if (!backend_range(self, true, &low, &high))
        return true;
    uint64_t begin = (uint64_t)(low * unit), all = (uint64_t)((high - low + 1) * unit);
    uint64_t there = (uint64_t)served->backend_bytes - begin < all ? (uint64_t)served->backend_bytes - begin : all;
    unsigned char *units = malloc(all);
    bool read = units && there <= UINT32_MAX && read_backend(self, units, there, begin, &err) == 0;
    if (read) {
        memset(units + there, 0, all - there);
        for (int64_t k = 0; k < self->n_parts; k++) {
            if (self->parts[k].own && !self->parts[k].cached)
                give(self, self->parts[k].number, units + (self->parts[k].number - low) * unit);
        }
    }
    fill(self, read ? units : NULL, low);
    free(units);
    return read;
}

static int serve(reading *self, int *err) {
    served *served = self->served;
    pthread_mutex_lock(&served->lock);
    int decided = decide(self);
    pthread_mutex_unlock(&served->lock);
    if (decided)
        return read_backend(self, self->data, self->end - self->offset, self->offset, err);
    read_cached(self);
    bool fills = false;
    for (int64_t k = 0; k < self->n_parts; k++)
        fills = fills || self->parts[k].fill;
    return fills && read_and_fill(self) ? 0 : read_plain(self, err);
}

int served_read(served *served, const backend *backend, void *data, uint32_t count, uint64_t offset, int *err) {
    reading self = {.served = served, .backend = backend, .data = data, .offset = offset, .end = offset + count};
    size_t most = (size_t)(count / served->unit_bytes + 2 + served->per_block);
    self.parts = malloc(most * sizeof *self.parts);
    self.unit = malloc((size_t)served->unit_bytes);
    int code = self.parts && self.unit ? serve(&self, err) : read_backend(&self, data, count, offset, err);
    free(self.parts);
    free(self.unit);
    return code;
}
