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
    bool own;      /* of the request, not prefetched */
    bool cached;   /* its data is not to be read from the backend */
    bool failed;   /* its slot could not be read */
    bool wrong;    /* its CRC is not that of the table */
    bool fill;     /* to be written to the SSD */
    fills *memory; /* where its fill waits; held */
} part;

#define STACK_PARTS 128 /* a request of more takes memory */

typedef struct reading {
    served *served;
    const backend *backend;
    unsigned char *data; /* the client's */
    uint64_t offset, end;
    part *parts;
    int64_t n_parts, n_cached, n_fills, room;
    int64_t low, high; /* the I/O to the backend, in units; high < low: none */
    fills *fills;      /* memory for it, where it is filled from */
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
    return sees_all(self) && part->slot >= 0 && part->number * served->unit_bytes < served->backend_bytes &&
           !written_now(served, part->number) && !maybe_holds(&served->lost, part->number);
}

static void count_backend(served *served, uint64_t bytes) {
    served->stats.backend_reads++;
    served->stats.backend_read_bytes += bytes;
}

/* The bytes of the planned I/O: whole units where it fills, else what the client reads of them. */
static void planned(const reading *self, bool fills, uint64_t *begin, uint64_t *end) {
    uint64_t unit = (uint64_t)self->served->unit_bytes, bytes = (uint64_t)self->served->backend_bytes;
    *begin = (uint64_t)self->low * unit;
    *end = (uint64_t)(self->high + 1) * unit;
    if (fills) {
        *end = *end < bytes ? *end : bytes;
    } else {
        *begin = *begin > self->offset ? *begin : self->offset;
        *end = *end < self->end ? *end : self->end;
    }
}

/* The I/O to the backend: from the first to the last unit that is missing or to be filled. */
static void plan_backend(reading *self, bool fills) {
    served *served = self->served;
    self->low = 0;
    self->high = -1;
    for (int64_t k = 0; k < self->n_parts; k++) {
        const part *part = &self->parts[k];
        if (!(part->own && !part->cached) && !(fills && part->fill))
            continue;
        bool first = self->high < self->low;
        self->low = !first && self->low < part->number ? self->low : part->number;
        self->high = !first && self->high > part->number ? self->high : part->number;
    }
    if (self->high < self->low)
        return;
    uint64_t begin, end;
    planned(self, fills, &begin, &end);
    count_backend(served, end - begin);
    self->fills = fills ? fills_spare(served, self->low, self->high - self->low + 1) : NULL;
}

/* Where a hit is read from. */
static void find_hit(reading *self, part *part) {
    served *served = self->served;
    slot_state *state = &served->slots[part->slot];
    part->turn = state->turn;
    part->crc = state->crc;
    part->cached = state->ready || state->waiting;
    if (!part->cached) {
        served->stats.late++;
        part->fill = served->holds || served->budget.rate > 0; /* perhaps it was not written for the budget */
        return;
    }
    tier_use(served->tier, part->slot);
    self->n_cached++;
    if (state->ready) {
        served->stats.ssd_read_bytes += (uint64_t)served->unit_bytes;
        return;
    }
    part->memory = state->waiting;
    part->memory->holders++;
}

/* The units of an access, copied out of it. */
static void take_parts(reading *self, const cz_access *access) {
    served *served = self->served;
    int64_t own = access->hits + access->misses;
    for (int64_t k = 0; k < access->n_units && k < self->room; k++) {
        const cz_unit *unit = &access->units[k];
        part *part = &self->parts[self->n_parts++];
        *part = (struct part){.number = unit->number, .slot = unit->slot, .own = k < own};
        part->fill = unit->outcome == 1;
        if (unit->outcome == 2)
            find_hit(self, part);
    }
    for (int64_t k = 0; k < access->n_victims; k++)
        served_retire(served, access->victims[k].slot);
    for (int64_t k = 0; k < access->n_victims && served->holds; k++) { /* a hit that the request itself put out */
        uint64_t place = (uint64_t)(access->victims[k].number - access->units[0].number);
        if (place < (uint64_t)own && access->units[place].outcome == 2)
            self->parts[place].fill = false;
    }
}

/* Begin the fills that can be, and give up the others. A page cache may hold what has no data. */
static void begin_fills(reading *self) {
    served *served = self->served;
    for (int64_t k = 0; k < self->n_parts; k++) {
        part *part = &self->parts[k];
        if (!part->fill)
            continue;
        part->fill = can_fill(self, part);
        if (part->fill && !budget_take(&served->budget, now_ns(), (uint64_t)served->unit_bytes)) {
            part->fill = false; /* it stays with the policy: a later hit is read from the disk, and may be written */
            served->stats.over_budget++;
        } else if (part->fill) {
            self->n_fills++;
            part->turn = served->slots[part->slot].turn;
            tier_use(served->tier, part->slot);
        } else if (part->slot >= 0 && !served->holds) {
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
    if (served->failed || served->paused || served_ask(served, &request, &access) != CZ_OK)
        return -1;
    served->stats.hits += (uint64_t)access.hits;
    served->stats.misses += (uint64_t)access.misses;
    served->stats.admitted += (uint64_t)(access.written - access.prefetched);
    served->stats.prefetched += (uint64_t)access.prefetched;
    served->stats.evicted += (uint64_t)access.evicted;
    served->stats.io_units += (uint64_t)access.io_units;
    take_parts(self, &access);
    begin_fills(self);
    return 0;
}

/* The bytes of a unit that the client reads. */
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

/* A unit is whole in the client's memory: where. NULL: the client reads a part of it. */
static unsigned char *place_of(const reading *self, const part *part) {
    uint64_t unit = (uint64_t)self->served->unit_bytes, begin = (uint64_t)part->number * unit;
    return part->own && begin >= self->offset && begin + unit <= self->end ? self->data + (begin - self->offset) : NULL;
}

static bool is_on_ssd(const part *part) {
    return part->cached && !part->memory;
}

/* The parts from one on that lie in adjacent slots, and whole in the client's memory. */
static int64_t run_of(const reading *self, int64_t first) {
    const part *parts = self->parts;
    int64_t n = 1;
    while (first + n < self->n_parts && is_on_ssd(&parts[first + n]) && place_of(self, &parts[first + n]) &&
           parts[first + n].number == parts[first].number + n && parts[first + n].slot == parts[first].slot + n)
        n++;
    return n;
}

static void check_unit(const reading *self, part *part, const unsigned char *unit) {
    part->wrong = crc32c(0, unit, (size_t)self->served->unit_bytes) != part->crc;
}

/* A unit that the client reads a part of passes through memory of its own. */
static void read_piece(const reading *self, part *part) {
    unsigned char *unit = malloc((size_t)self->served->unit_bytes);
    part->failed = !unit || tier_read_run(self->served->tier, part->slot, unit, 1) != 0;
    if (!part->failed)
        check_unit(self, part, unit);
    if (!part->failed && !part->wrong)
        give(self, part->number, unit);
    free(unit);
}

/* Straight to the client's memory. What turns out to be wrong is overwritten there before the answer. Where a run cannot be
 * read, unit by unit. */
static void read_run(const reading *self, part *parts, int64_t n) {
    served *served = self->served;
    bool whole = tier_read_run(served->tier, parts->slot, place_of(self, parts), n) == 0;
    for (int64_t k = 0; k < n; k++) {
        unsigned char *unit = place_of(self, &parts[k]);
        parts[k].failed = !whole && (n == 1 || tier_read_run(served->tier, parts[k].slot, unit, 1) != 0);
        if (!parts[k].failed)
            check_unit(self, &parts[k], unit);
    }
}

/* Whether a unit was read from its slot before that got another. */
static bool is_sound(const served *served, const part *part) {
    return __atomic_load_n(&served->slots[part->slot].turn, __ATOMIC_ACQUIRE) == part->turn && !part->failed &&
           !part->wrong;
}

/* Whether the SSD has given all that the client reads, so that nothing is left to do. */
static bool is_done(const reading *self) {
    for (int64_t k = 0; k < self->n_parts; k++) {
        if (!is_on_ssd(&self->parts[k]) || !is_sound(self->served, &self->parts[k]))
            return false;
    }
    return true;
}

/* A unit whose slot turned out to be wrong or gone is read from the backend. */
static void check_cached(reading *self, part *part) {
    served *served = self->served;
    if (is_sound(served, part))
        return;
    served->stats.ssd_read_bytes -= (uint64_t)served->unit_bytes;
    part->cached = false;
    if (served->slots[part->slot].turn != part->turn || served->failed)
        return;
    served->stats.corrupt += part->wrong;
    served_drop(served, (uint64_t)served->unit_bytes, (uint64_t)(part->number * served->unit_bytes));
    served_count_error(served, part->failed, "a read");
}

static void read_cached(reading *self) {
    served *served = self->served;
    for (int64_t k = 0, n; k < self->n_parts; k += n) {
        part *part = &self->parts[k];
        n = 1;
        if (!part->cached)
            continue;
        if (part->memory) {
            give(self, part->number, fills_unit(served, part->memory, part->number));
        } else if (!place_of(self, part)) {
            read_piece(self, part);
        } else {
            n = run_of(self, k);
            read_run(self, part, n);
        }
    }
    if (is_done(self))
        return;
    pthread_mutex_lock(&served->lock);
    for (int64_t k = 0; k < self->n_parts; k++) {
        if (is_on_ssd(&self->parts[k]))
            check_cached(self, &self->parts[k]);
        else if (self->parts[k].memory)
            fills_release(served, self->parts[k].memory);
    }
    plan_backend(self, self->n_fills > 0);
    pthread_mutex_unlock(&served->lock);
}

static int read_backend(const reading *self, void *data, uint64_t count, uint64_t offset, int *err) {
    return self->backend->read(self->backend->next, data, (uint32_t)count, offset, err);
}

/* What the client reads and the SSD has not given, without filling anything. */
static int read_plain(const reading *self, int *err) {
    uint64_t begin, end;
    if (self->high < self->low)
        return 0;
    planned(self, false, &begin, &end);
    return read_backend(self, self->data + (begin - self->offset), end - begin, begin, err);
}

/* The fills are given up: what was to be filled leaves. */
static void abandon(reading *self) {
    served *served = self->served;
    for (int64_t k = 0; k < self->n_parts; k++) {
        const part *part = &self->parts[k];
        if (!part->fill)
            continue;
        served->stats.abandoned++;
        if (served->slots[part->slot].turn == part->turn && !served->holds)
            served_drop(served, (uint64_t)served->unit_bytes, (uint64_t)(part->number * served->unit_bytes));
    }
    if (self->fills)
        fills_release(served, self->fills);
    plan_backend(self, false);
}

/* What the client gets of the data read, in as few pieces as there are gaps that the SSD has filled. */
static void give_missing(const reading *self) {
    for (int64_t k = 0, n; k < self->n_parts; k += n) {
        const part *part = &self->parts[k];
        uint64_t low, high, last;
        for (n = 1; k + n < self->n_parts && part[n].own && !part[n].cached && part[n].number == part->number + n; n++)
            ;
        if (!part->own || part->cached) {
            n = 1;
            continue;
        }
        overlap(self, part->number, &low, &high);
        overlap(self, part[n - 1].number, &last, &high);
        memcpy(self->data + (low - self->offset),
               self->fills->units + (low - (uint64_t)(self->low * self->served->unit_bytes)), high - low);
    }
}

/* Whole units, with what the policy wants as well; false where that cannot be had, and the fills are given up. */
static bool read_and_fill(reading *self) {
    served *served = self->served;
    int64_t count = self->high - self->low + 1;
    uint64_t begin, end;
    int err;
    planned(self, true, &begin, &end);
    uint64_t there = end - begin, all = (uint64_t)(count * served->unit_bytes);
    if (!self->fills)
        self->fills = fills_new(served, self->low, count);
    /* Straight to the client where it reads all of that; what the SSD has given of it is read again, and the same. */
    unsigned char *client =
        begin >= self->offset && begin + all <= self->end ? self->data + (begin - self->offset) : NULL;
    unsigned char *units = client ? client : self->fills ? self->fills->units : NULL;
    bool read = self->fills && there <= UINT32_MAX && read_backend(self, units, there, begin, &err) == 0;
    if (read && !client) {
        memset(units + there, 0, all - there);
        give_missing(self);
    }
    if (read) {
        for (int64_t k = 0; k < self->n_parts; k++) {
            if (self->parts[k].fill)
                fills_add(self->fills, self->parts[k].number, self->parts[k].slot, self->parts[k].turn);
        }
    }
    pthread_mutex_lock(&served->lock);
    if (read)
        fills_write_from(served, self->fills, client, all);
    else
        abandon(self);
    pthread_mutex_unlock(&served->lock);
    return read;
}

/* Where what the client reads is from. */
static void name_sources(const reading *self) {
    unsigned *sources = self->backend->sources;
    if (!sources)
        return;
    *sources |= self->high >= self->low ? FROM_DISK : 0;
    for (int64_t k = 0; k < self->n_parts; k++)
        *sources |= self->parts[k].own && self->parts[k].cached ? FROM_SSD : 0;
}

static int serve(reading *self, int *err) {
    served *served = self->served;
    pthread_mutex_lock(&served->lock);
    int decided = decide(self);
    if (!decided)
        served_enter(served);
    if (decided)
        count_backend(served, self->end - self->offset);
    else if (self->n_cached == 0)
        plan_backend(self, self->n_fills > 0);
    pthread_mutex_unlock(&served->lock);
    if (decided && self->backend->sources)
        *self->backend->sources |= FROM_DISK;
    if (decided)
        return read_backend(self, self->data, self->end - self->offset, self->offset, err);
    if (self->n_cached > 0)
        read_cached(self);
    int code = self->n_fills > 0 && read_and_fill(self) ? 0 : read_plain(self, err);
    name_sources(self);
    served_exit(served);
    return code;
}

int served_read(served *served, const backend *backend, void *data, uint32_t count, uint64_t offset, int *err) {
    part room[STACK_PARTS];
    reading self = {
        .served = served, .backend = backend, .data = data, .offset = offset, .end = offset + count, .high = -1};
    size_t most = (size_t)(count / served->unit_bytes + 2 + served->per_block);
    self.room = (int64_t)most;
    self.parts = most <= STACK_PARTS ? room : malloc(most * sizeof *self.parts);
    int code = self.parts ? serve(&self, err) : read_backend(&self, data, count, offset, err);
    if (self.parts != room)
        free(self.parts);
    return code;
}
