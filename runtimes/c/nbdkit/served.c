#include "served.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <nbdkit-filter.h>

#include "back.h"
#include "fills.h"

#define DROP_BYTES ((uint64_t)32 << 20)
#define ERRORS_IN_ROW 8

uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* From here on everything goes to the backend, and the next start finds an empty tier. Where that cannot be made sure
 * of, the backend must not change. */
static void end_cache(served *served) {
    served->failed = true;
    served->failed_ns = now_ns();
    pthread_cond_broadcast(&served->resumed); /* nobody needs to wait for the tier */
    served->refuses = tier_kill(served->tier) != 0;
    if (served->refuses)
        nbdkit_error(
            "cachezoo: neither the SSD nor the label could be marked as invalid; writes are refused: stop, and "
            "remove the label before the next start");
}

void served_fail(served *served, const char *what) {
    if (served->back) {
        back_fail(served->back, what);
        return;
    }
    served->stats.ssd_errors++;
    if (served->failed)
        return;
    snprintf(served->reason, sizeof served->reason, "%s failed on the SSD tier", what);
    nbdkit_error("cachezoo: %s; the cache is bypassed from here on", served->reason);
    end_cache(served);
}

void served_resized(served *served) {
    pthread_mutex_lock(&served->lock);
    if (!served->failed) {
        snprintf(served->reason, sizeof served->reason, "the disk has changed its size");
        nbdkit_error("cachezoo: %s; the cache is bypassed from here on", served->reason);
        end_cache(served);
    }
    pthread_mutex_unlock(&served->lock);
}

/* One I/O to the tier's data. Several failures in a row end the cache; a full filesystem is such a failure. */
void served_count_error(served *served, bool failed, const char *what) {
    served->errors = failed ? served->errors + 1 : 0;
    if (served->errors == ERRORS_IN_ROW)
        served_fail(served, what);
    else
        served->stats.ssd_errors += failed;
}

/* A unit has left its slot. */
void served_retire(served *served, int32_t slot) {
    if (slot < 0) /* it came and went in one request */
        return;
    slot_state *state = &served->slots[slot];
    __atomic_fetch_add(&state->turn, 1, __ATOMIC_RELEASE); /* a read of the slot looks without the lock */
    state->waiting = NULL;
    if (!state->ready)
        return;
    state->ready = false;
    if (state->later)
        state->later = false; /* the table does not hold it */
    else if (!served->failed && tier_clear(served->tier, slot))
        served_fail(served, "an invalidation");
}

static int by_stamp(const void *left, const void *right, void *of) {
    uint64_t a = tier_at(of, *(const int32_t *)left)->stamp, b = tier_at(of, *(const int32_t *)right)->stamp;
    return a < b ? -1 : a > b;
}

/* What the tier holds becomes resident, in the order of its last use. */
static int take_up(served *served) {
    int32_t *order = malloc((size_t)served->n_slots * sizeof *order);
    if (!order)
        return -1;
    int64_t held = 0;
    for (int32_t slot = 0; slot < served->n_slots; slot++) {
        if (tier_at(served->tier, slot)->fill)
            order[held++] = slot;
    }
    qsort_r(order, (size_t)held, sizeof *order, by_stamp, served->tier);
    for (int64_t k = 0; k < held; k++) {
        const tier_entry *entry = tier_at(served->tier, order[k]);
        served->slots[order[k]] = (slot_state){.number = entry->number, .crc = entry->data_crc, .ready = true};
        if (cz_cache_put(served->cache, served->volume, entry->number, order[k]) == CZ_OK)
            served->stats.recovered++;
        else
            served_retire(served, order[k]); /* a unit that is in two slots */
    }
    free(order);
    return 0;
}

/* A change through another export, before the table is known: it may be of a unit that the tier holds. */
static void blank_tier(served *served) {
    if (served->attached || served->blank || served->failed)
        return;
    served->blank = true;
    nbdkit_error("cachezoo: another export is written to before the cached one is opened; the SSD tier begins empty");
    if (tier_blank(served->tier))
        served_fail(served, "an invalidation");
}

/* What the tier holds, before the first request; false where the disk must not be served with it. */
static bool attach(served *served, const view *view, const char *export) {
    char note[256] = "";
    proof_begin(served->disk, view);
    tier_name(served->tier, export); /* one that has failed already may be replaced */
    int opened = served->failed ? 0 : tier_attach(served->tier, view, export, note);
    if (note[0])
        nbdkit_error("cachezoo: %s", note);
    if (opened > 0 || (opened < 0 && served->back)) {
        nbdkit_error("cachezoo: the disk is not served: %s", opened > 0 ? "see above" : "the SSD or the label failed");
        return false;
    }
    if (opened < 0)
        served_fail(served, "opening");
    else if (served->back && back_take_up(served->back, view))
        return false;
    else if (!served->back && !served->failed && take_up(served))
        served_fail(served, "taking up (no memory)");
    served->passing = tier_passing(served->tier);
    if (!served->failed && served->lost.any && tier_lose(served->tier))
        served_fail(served, "the mark of a failed flush");
    return true;
}

bool served_attach(served *served, const view *view, const char *export) {
    pthread_mutex_lock(&served->lock);
    if (!served->attached && !served->refused) {
        maybe_add_all(&served->unflushed); /* by whoever wrote before us */
        served->backend_bytes = view->bytes;
        served->attached = attach(served, view, export);
        served->refused = !served->attached;
    }
    bool attached = served->attached;
    pthread_mutex_unlock(&served->lock);
    return attached;
}

cz_request served_request(const served *served, enum cz_op op, uint64_t count, uint64_t offset) {
    return (cz_request){.time_us = (int64_t)(now_ns() / 1000 - served->start_us),
                        .offset = (int64_t)offset,
                        .size = (int64_t)count,
                        .volume = served->volume,
                        .name_space = CZ_UNKNOWN,
                        .user = CZ_UNKNOWN,
                        .flags = CZ_UNKNOWN,
                        .op = (uint8_t)op};
}

void served_log(served *served, const cz_request *request) {
    if (!served->log || served->log_failed || cz_log(served->log, request) == CZ_OK)
        return;
    served->log_failed = true;
    nbdkit_error("cachezoo: the request log cannot be written; it ends here");
}

/* The policy's word on a request, timed. */
int served_ask(served *served, const cz_request *request, cz_access *access) {
    uint64_t begin = now_ns();
    int code = cz_cache_access(served->cache, request, access);
    if (code != CZ_OK)
        served->stats.failures++;
    else
        stats_decision(&served->stats, now_ns() - begin, access, served->queues);
    return code;
}

/* Units leave the policy and the table. */
void served_drop(served *served, uint64_t count, uint64_t offset) {
    while (count > 0) {
        uint64_t part = count < DROP_BYTES ? count : DROP_BYTES;
        cz_access access;
        if (cz_cache_drop(served->cache, served->volume, (int64_t)offset, (int64_t)part, &access) != CZ_OK) {
            served_fail(served, "an invalidation (refused)");
            return;
        }
        for (int64_t k = 0; k < access.n_victims; k++)
            served_retire(served, access.victims[k].slot);
        served->stats.invalidated += (uint64_t)access.n_victims;
        count -= part;
        offset += part;
    }
}

static void add_units(maybe *set, const writing *write) {
    for (uint64_t number = write->first; number < write->end; number++)
        maybe_add(set, (int64_t)number);
}

static void enlist(served *served, writing *self) {
    self->next = served->writes;
    self->link = &served->writes;
    if (self->next)
        self->next->link = &self->next;
    served->writes = self;
}

static bool others_write(const served *served, const writing *self, int64_t number) {
    for (const writing *other = served->writes; other; other = other->next) {
        if (other != self && (uint64_t)number >= other->first && (uint64_t)number < other->end)
            return true;
    }
    return false;
}

/* Written through: the units that the policy holds from here on. What is on the SSD of them is old from here on. A hit that
 * later units of the request put out has given its slot away. Without memory nothing enters. */
static void note_put(served *served, writing *self, const cz_access *access) {
    int64_t own = access->hits + access->misses;
    for (int64_t k = 0; k < own; k++) {
        if (access->units[k].outcome == 2)
            served_retire(served, access->units[k].slot);
    }
    self->put = malloc((size_t)own * sizeof *self->put);
    bool *gone = calloc((size_t)own, sizeof *gone);
    for (int64_t k = 0; gone && k < access->n_victims; k++) {
        uint64_t place = (uint64_t)access->victims[k].number - self->first;
        if (place < (uint64_t)own)
            gone[place] = access->units[place].outcome == 2;
    }
    for (int64_t k = 0; gone && self->put && k < own; k++) {
        const cz_unit *unit = &access->units[k];
        if (unit->outcome > 0 && unit->slot >= 0 && !gone[k] && !others_write(served, self, unit->number))
            self->put[self->n_put++] =
                (filling){.number = unit->number, .slot = unit->slot, .turn = served->slots[unit->slot].turn};
    }
    free(gone);
}

void served_count_write(served *served, const cz_access *access) {
    served->stats.write_hits += (uint64_t)access->hits;
    served->stats.write_misses += (uint64_t)access->misses;
    served->stats.admitted += (uint64_t)(access->written - access->prefetched);
    served->stats.prefetched += (uint64_t)access->prefetched;
    served->stats.evicted += (uint64_t)access->evicted;
}

/* The policy counts a write, and what it overwrites leaves; false where it has not taken it. */
static bool count_write(served *served, writing *self, uint64_t count, uint64_t offset) {
    cz_request asked = served_request(served, CZ_WRITE, count, offset);
    cz_access access;
    served->stats.writes++;
    served->stats.write_bytes += count;
    served_log(served, &asked);
    if (served->failed || served_ask(served, &asked, &access) != CZ_OK)
        return false;
    for (int64_t k = 0; k < access.n_victims; k++)
        served_retire(served, access.victims[k].slot);
    if (served->through) {
        note_put(served, self, &access);
        served_count_write(served, &access);
    }
    served->stats.invalidated += (uint64_t)(served->through ? access.hits : access.n_victims);
    return true;
}

void served_enter(served *served) {
    __atomic_fetch_add(&served->inside, 1, __ATOMIC_RELAXED);
}

void served_exit(served *served) {
    __atomic_fetch_sub(&served->inside, 1, __ATOMIC_RELEASE);
}

static int settle_range(served *served, int64_t first, int64_t count) {
    served_enter(served);
    int waited = tier_settle(served->tier, &served->lock, first, count);
    served_exit(served);
    return waited;
}

static void settle(served *served, const writing *self) {
    int waited = settle_range(served, (int64_t)self->first, (int64_t)(self->end - self->first));
    if (waited < 0 && !served->failed)
        served_fail(served, "a sync");
    served->stats.settled += waited > 0;
}

bool served_write_begin(served *served, writing *self, uint64_t count, uint64_t offset, enum change change) {
    uint64_t unit = (uint64_t)served->unit_bytes;
    pthread_mutex_lock(&served->lock);
    while (served->paused && !served->failed)
        pthread_cond_wait(&served->resumed, &served->lock);
    blank_tier(served);
    self->first = offset / unit;
    self->end = (offset + count + unit - 1) / unit;
    self->put = NULL;
    self->n_put = 0;
    self->changes = served->stats.reloads + served->stats.attaches;
    enlist(served, self);
    served->stats.zeroes += change == ZEROED;
    served->stats.trims += change == TRIMMED;
    bool dropped = change == WRITTEN && count_write(served, self, count, offset);
    if (!served->failed && !dropped)
        served_drop(served, count, offset);
    if (!served->failed)
        settle(served, self);
    bool passes = !served->refuses;
    pthread_mutex_unlock(&served->lock);
    return passes;
}

/* The whole units of a write, in memory of their own; NULL where there are none, or no memory. The last of a disk may be
 * whole with fewer bytes. */
static fills *copy_units(const served *served, const written *written) {
    uint64_t unit = (uint64_t)served->unit_bytes, end = written->offset + written->count;
    uint64_t low = (written->offset + unit - 1) / unit;
    uint64_t high = end == (uint64_t)served->backend_bytes ? (end + unit - 1) / unit : end / unit;
    fills *made = low < high ? fills_new(served, (int64_t)low, (int64_t)(high - low)) : NULL;
    if (!made)
        return NULL;
    uint64_t there = (high * unit < end ? high * unit : end) - low * unit;
    memcpy(made->units, written->data + (low * unit - written->offset), there);
    memset(made->units + there, 0, (high - low) * unit - there);
    return made;
}

/* What the disk was given enters the SSD, where no other write came between. */
static void put(served *served, const writing *self, const written *written, fills *fills) {
    const backend *backend = written->backend;
    int64_t unit = served->unit_bytes, end = (int64_t)(written->offset + written->count);
    bool last = end == served->backend_bytes;
    bool sees_all = backend->sees_all || backend->alone == served->joined;
    bool same = self->changes == served->stats.reloads + served->stats.attaches && !served->paused;
    for (int64_t k = 0; k < self->n_put && sees_all && same && !served->failed; k++) {
        const filling *one = &self->put[k];
        bool whole = one->number >= fills->low && (last || (one->number + 1) * unit <= end);
        if (!whole || served->slots[one->slot].turn != one->turn || maybe_holds(&served->lost, one->number))
            continue;
        if (budget_take(&served->budget, now_ns(), (uint64_t)unit))
            fills_add(fills, one->number, one->slot, one->turn);
        else
            served->stats.over_budget++;
    }
    served_enter(served);
    if (fills->n > 0)
        fills_write(served, fills);
    else
        fills_release(served, fills);
    served_exit(served);
}

void served_write_end(served *served, writing *self, bool durable, const written *written) {
    fills *fills = written && self->n_put > 0 ? copy_units(served, written) : NULL;
    pthread_mutex_lock(&served->lock);
    if (!durable)
        add_units(&served->unflushed, self);
    *self->link = self->next;
    if (self->next)
        self->next->link = self->link;
    if (fills)
        put(served, self, written, fills);
    pthread_mutex_unlock(&served->lock);
    free(self->put);
}

/* The unit in a slot is whole on the device: it enters the table, now or after a flush. */
void served_ready(served *served, int32_t slot, int64_t number, uint32_t crc) {
    slot_state *state = &served->slots[slot];
    state->number = number;
    state->crc = crc;
    state->ready = true;
    state->later = maybe_holds(&served->unflushed, number) || maybe_holds(&served->flushing, number);
    if (!state->later) {
        if (tier_set(served->tier, slot, number, crc))
            served_fail(served, "an entry");
    } else if (!state->listed) {
        state->listed = true;
        served->later[served->n_later++] = slot;
    }
}

static void publish(served *served) {
    int64_t kept = 0;
    for (int64_t k = 0; k < served->n_later; k++) {
        slot_state *state = &served->slots[served->later[k]];
        if (state->later &&
            (maybe_holds(&served->unflushed, state->number) || maybe_holds(&served->flushing, state->number))) {
            served->later[kept++] = served->later[k];
            continue;
        }
        state->listed = false;
        if (state->later && !served->failed && tier_set(served->tier, served->later[k], state->number, state->crc))
            served_fail(served, "an entry");
        state->later = false;
    }
    served->n_later = kept;
}

/* Nobody was connected, and somebody else has written to the disk. */
static void forget_all(served *served) {
    if (!served->attached || served->failed)
        return;
    if (served->back) {
        back_forget(served->back);
        return;
    }
    nbdkit_error("cachezoo: the disk was written to while no client was connected; nothing that was cached is used");
    for (int64_t slot = 0; slot < served->n_slots && !served->failed; slot++) {
        const slot_state *state = &served->slots[slot];
        if (state->ready)
            served_drop(served, (uint64_t)served->unit_bytes, (uint64_t)(state->number * served->unit_bytes));
    }
    if (!served->failed && settle_range(served, 0, INT64_MAX) < 0)
        served_fail(served, "a sync");
}

uint64_t served_join(served *served) {
    char witness[65] = "";
    pthread_mutex_lock(&served->presence);
    if (served->connections == 0 && served->left.witness[0] && proof_witness(served->disk, witness))
        served_lose(served);
    pthread_mutex_lock(&served->lock);
    if (strcmp(witness, served->left.witness) != 0 && served->connections == 0)
        forget_all(served);
    served->left.witness[0] = served->left.ends[0] = 0;
    served->joined++;
    uint64_t alone = served->connections++ == 0 ? served->joined : 0;
    pthread_mutex_unlock(&served->lock);
    pthread_mutex_unlock(&served->presence);
    return alone;
}

void served_part(served *served, const view *view) {
    pthread_mutex_lock(&served->presence);
    if (served->connections == 1 && tier_labelled(served->tier))
        proof_content(served->disk, view, &served->left);
    pthread_mutex_unlock(&served->presence);
}

void served_leave(served *served) {
    pthread_mutex_lock(&served->presence);
    if (served->connections == 1) {
        queue_close(served);
        queue_open(served);
    }
    if (served->connections == 1 && proof_witness(served->disk, served->left.witness)) {
        served_lose(served);
        strcpy(served->left.witness, "unknown"); /* equal to none */
    }
    pthread_mutex_lock(&served->lock);
    served->connections--;
    pthread_mutex_unlock(&served->lock);
    pthread_mutex_unlock(&served->presence);
}

const proof *served_end(served *served) {
    if (!served->attached || served->failed || (served->back && back_failed(served->back)))
        return NULL;
    if (served->connections > 0) {
        view view = proof_view(served->disk);
        if (proof_witness(served->disk, served->left.witness))
            served_lose(served);
        if (tier_labelled(served->tier) && view.bytes == served->backend_bytes)
            proof_content(served->disk, &view, &served->left);
    }
    return &served->left;
}

void served_lose(served *served) {
    pthread_mutex_lock(&served->lock);
    if (!served->lost.any)
        nbdkit_error(
            "cachezoo: the disk failed to flush; what was written since its last flush is not cached any more");
    served->lost.any = true;
    if (!served->attached)
        maybe_add_all(&served->lost);
    maybe_join(&served->lost, &served->unflushed);
    maybe_join(&served->lost, &served->flushing);
    for (const writing *write = served->writes; write; write = write->next)
        add_units(&served->lost, write);
    for (int64_t slot = 0; slot < served->n_slots && !served->failed && !served->back; slot++) {
        const slot_state *state = &served->slots[slot];
        if ((state->ready || state->waiting) && maybe_holds(&served->lost, state->number))
            served_drop(served, (uint64_t)served->unit_bytes, (uint64_t)(state->number * served->unit_bytes));
    }
    if (!served->failed && served->attached && tier_lose(served->tier))
        served_fail(served, "the mark of a failed flush");
    pthread_mutex_unlock(&served->lock);
}

bool served_flush_begin(served *served, bool sees_all) {
    pthread_mutex_lock(&served->lock);
    bool covers = !served->flush_runs && !served->passing && (sees_all || served->connections <= 1);
    if (covers) {
        served->flush_runs = true;
        served->flushing = served->unflushed;
        maybe_clear(&served->unflushed);
    }
    pthread_mutex_unlock(&served->lock);
    return covers;
}

void served_flush_end(served *served, bool covers, bool done) {
    if (!covers)
        return;
    pthread_mutex_lock(&served->lock);
    maybe_clear(&served->flushing); /* where it failed, all of it is lost by now */
    served->flush_runs = false;
    if (done)
        publish(served);
    pthread_mutex_unlock(&served->lock);
}
