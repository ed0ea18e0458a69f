/* Write-back: what is dirty reaches the disk. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "back_parts.h"
#include "fills.h"

#define BATCH 1024                    /* units that are destaged at once */
#define RUN_BYTES ((int64_t)1 << 20)  /* of one write to the disk */
#define STOP_NS UINT64_C(20000000000) /* without progress, as the cleaner is to end */
#define SECOND_NS UINT64_C(1000000000)

typedef struct batch {
    int32_t slots[BATCH];
    int64_t numbers[BATCH];
    uint32_t crcs[BATCH];
    bool done[BATCH];
    int64_t n;
} batch;

static void pick(back *self, batch *batch, int32_t slot) {
    place *place = &self->places.at[slot];
    if (batch->n == BATCH || place->picked)
        return;
    place->picked = true;
    place->pins++;
    batch->slots[batch->n++] = slot;
}

/* The oldest, each with the dirty units behind it. */
static void pick_oldest(back *self, batch *batch) {
    int32_t slot = places_first(&self->places, DIRTY);
    for (int64_t seen = 0; slot >= 0 && seen < BATCH && batch->n < BATCH / 4; seen++) {
        int64_t number = self->places.at[slot].number;
        pick(self, batch, slot);
        for (int32_t near; (near = places_find(&self->places, ++number)) >= 0;) {
            if (self->places.at[near].state != DIRTY || batch->n == BATCH || self->places.at[near].picked)
                break;
            pick(self, batch, near);
        }
        slot = places_after(&self->places, slot);
    }
}

static int by_number(const void *left, const void *right, void *of) {
    const place *at = of;
    int64_t a = at[*(const int32_t *)left].number, b = at[*(const int32_t *)right].number;
    return a < b ? -1 : a > b;
}

/* A run of units that follow each other on the disk, [low, high) of the batch. */
static int write_run(back *self, nbdkit_next *next, batch *batch, int64_t low, int64_t high, unsigned char *units) {
    int64_t unit = back_unit(self);
    int err;
    for (int64_t k = low; k < high;) {
        int64_t end = k;
        uint64_t bytes = 0;
        for (; end < high; end++) {
            if (!back_read_slot(self, batch->slots[end], batch->crcs[end], units + (end - k) * unit))
                break;
            batch->done[end] = true;
            bytes += back_there(self, batch->numbers[end]);
        }
        if (end > k && next->pwrite(next, units, (uint32_t)bytes, (uint64_t)(batch->numbers[k] * unit), 0, &err) < 0) {
            nbdkit_error("cachezoo: the disk cannot be written to: %s; %lld bytes stay on the SSD for now",
                         strerror(err), (long long)bytes);
            return -1;
        }
        k = end < high ? end + 1 : end; /* the one that cannot be read is lost */
    }
    return 0;
}

static int write_batch(back *self, nbdkit_next *next, batch *batch) {
    int64_t unit = back_unit(self), most = RUN_BYTES > unit ? RUN_BYTES / unit : 1;
    unsigned char *units = malloc((size_t)(most * unit));
    int failed = units ? 0 : -1, err;
    for (int64_t low = 0, high; low < batch->n && !failed; low = high) {
        high = low + 1;
        while (high < batch->n && high - low < most && batch->numbers[high] == batch->numbers[high - 1] + 1)
            high++;
        failed = write_run(self, next, batch, low, high, units);
    }
    free(units);
    if (!failed && next->flush(next, 0, &err) < 0) {
        nbdkit_error("cachezoo: the disk cannot be flushed: %s", strerror(err));
        failed = -1;
    }
    return failed;
}

/* What is picked reaches the disk and is clean. Under the lock, which is given up meanwhile; the caller has the right to
 * clean (self->cleaning). -1 where SSD or disk fails; units that cannot be read are lost. */
static int destage(back *self, nbdkit_next *next, batch *batch) {
    served *served = self->served;
    uint64_t wanted = 0;
    qsort_r(batch->slots, (size_t)batch->n, sizeof *batch->slots, by_number, self->places.at);
    for (int64_t k = 0; k < batch->n; k++) {
        const place *place = &self->places.at[batch->slots[k]];
        batch->numbers[k] = place->number;
        batch->crcs[k] = tier_at(served->tier, batch->slots[k])->data_crc;
        batch->done[k] = false;
        wanted = place->seq > wanted ? place->seq : wanted;
    }
    int failed = self->failed ? !self->fixed : back_sync_to(self, wanted) && !self->fixed;
    if (!failed) {
        pthread_mutex_unlock(&served->lock);
        failed = write_batch(self, next, batch);
        pthread_mutex_lock(&served->lock);
    }
    int32_t cleaned[BATCH];
    int64_t n = 0;
    for (int64_t k = 0; k < batch->n; k++) {
        place *place = &self->places.at[batch->slots[k]];
        bool newest = place->state == DIRTY && place->number == batch->numbers[k];
        place->pins--;
        place->picked = false;
        if (!failed && !batch->done[k] && newest)
            (void)back_give_up(self, batch->slots[k], batch->numbers[k]);
        if (failed || !batch->done[k] || !newest)
            continue;
        places_cleaned(&self->places, batch->slots[k]);
        cleaned[n++] = batch->slots[k];
        served->stats.destaged++;
    }
    if (n > 0 && !self->failed && places_write(&self->places, cleaned, n))
        back_fail(self, "an entry");
    self->failures += failed != 0;
    back_gauge(self);
    pthread_cond_broadcast(&self->moved);
    return failed ? -1 : 0;
}

static void begin_cleaning(back *self) {
    while (self->cleaning)
        pthread_cond_wait(&self->moved, &self->served->lock);
    self->cleaning = true;
}

static void end_cleaning(back *self) {
    self->cleaning = false;
    pthread_cond_broadcast(&self->moved);
}

static bool within(const span *span, int64_t number) {
    return (uint64_t)number >= span->first && (uint64_t)number < span->end;
}

/* The units that a range has in slots, one after the other; `at` begins with 0. -1 at the end. */
static int32_t next_in_range(const back *self, const span *span, int64_t *at) {
    const places *places = &self->places;
    if (span->end - span->first <= (uint64_t)places->n) {
        while ((uint64_t)*at < span->end - span->first) {
            int32_t slot = places_find(places, (int64_t)span->first + (*at)++);
            if (slot >= 0)
                return slot;
        }
        return -1;
    }
    while (*at < places->n) {
        int32_t slot = (int32_t)(*at)++;
        if (places_counts(&places->at[slot]) && within(span, places->at[slot].number))
            return slot;
    }
    return -1;
}

static bool any_entry(const back *self, const span *span) {
    const places *places = &self->places;
    if (span->end - span->first <= (uint64_t)places->n) {
        for (uint64_t number = span->first; number < span->end; number++) {
            if (places_has(places, (int64_t)number))
                return true;
        }
        return false;
    }
    for (int64_t slot = 0; slot < places->n; slot++) {
        if (places->at[slot].state >= CLEAN && within(span, places->at[slot].number))
            return true;
    }
    return false;
}

/* Everything dirty in the range reaches the disk. */
static int destage_range(back *self, nbdkit_next *next, const span *span) {
    batch *batch = malloc(sizeof *batch);
    int failed = batch ? 0 : -1;
    begin_cleaning(self);
    while (!failed) {
        batch->n = 0;
        int64_t at = 0;
        for (int32_t slot; (slot = next_in_range(self, span, &at)) >= 0 && batch->n < BATCH;) {
            failed |= self->places.at[slot].state == LOST;
            if (self->places.at[slot].state == DIRTY)
                pick(self, batch, slot);
        }
        if (batch->n == 0)
            break;
        failed |= destage(self, next, batch);
    }
    end_cleaning(self);
    free(batch);
    return failed ? -1 : 0;
}

/* The disk alone holds the units of the range, for good, so that it may be written to. Under the lock; the request is
 * alone with its units. */
int back_make_void(back *self, nbdkit_next *next, const span *span) {
    if (destage_range(self, next, span))
        return -1;
    int64_t at = 0;
    for (int32_t slot; (slot = next_in_range(self, span, &at)) >= 0;) {
        places_go(&self->places, slot);
        self->served->stats.invalidated++;
    }
    while (any_entry(self, span)) {
        if (back_sync_to(self, ++self->places.written))
            return -1;
    }
    return 0;
}

static bool is_short(const back *self) {
    return self->places.count[FREE] < self->least_free;
}

/* Slots become free by syncs alone. */
static bool frees_by_sync(const back *self) {
    return is_short(self) && self->places.count[GONE] + self->places.count[VOIDED] > 0;
}

/* Something is to be destaged, for its age, its amount, or for whoever waits for it. */
static bool is_due(const back *self) {
    int64_t dirty = self->places.count[DIRTY];
    return dirty > 0 && (self->urgent || self->stopping || 2 * dirty >= self->most_dirty ||
                         now_ns() - self->places.at[places_first(&self->places, DIRTY)].dirty_ns >= self->delay_ns);
}

static bool has_work(const back *self) {
    if (!self->served->attached || self->direct)
        return false;
    if (self->failed)
        return self->fixed && (self->places.count[DIRTY] > 0 || self->places.count[LOST] == 0);
    return frees_by_sync(self) || is_due(self) || (is_short(self) && self->places.count[DIRTY] > 0);
}

/* All is on the disk, and what the SSD says does not count any more. */
static void go_direct(back *self) {
    if (tier_say_destaged(self->served->tier))
        return;
    self->direct = true;
    self->served->failed = true;
    nbdkit_error("cachezoo: everything is on the disk; the cache is bypassed from here on");
    pthread_cond_broadcast(&self->moved);
}

/* One turn; false where there was nothing that could be done. */
static bool clean_once(back *self, nbdkit_next *next, batch *batch) {
    bool moved = !self->failed && frees_by_sync(self) && back_sync_to(self, ++self->places.written) == 0;
    begin_cleaning(self);
    batch->n = 0;
    if (self->failed || is_due(self) || !moved)
        pick_oldest(self, batch);
    moved = batch->n > 0 ? destage(self, next, batch) == 0 : moved;
    end_cleaning(self);
    if (self->failed && self->fixed && back_alone(self) == 0 && !self->direct)
        go_direct(self);
    self->urgent = false;
    return moved;
}

/* As a connection does; nobody comes or goes meanwhile, and the disk is what it is left as. */
static bool clean_alone(back *self, nbdkit_next *next, batch *batch) {
    served *served = self->served;
    char witness[65] = "";
    pthread_mutex_lock(&served->presence);
    bool nobody = served->connections == 0 && served->left.witness[0];
    bool changed = nobody && (proof_witness(served->disk, witness) || strcmp(witness, served->left.witness) != 0);
    pthread_mutex_lock(&served->lock);
    if (changed)
        back_forget(self);
    bool done = clean_once(self, next, batch);
    pthread_mutex_unlock(&served->lock);
    if (nobody && proof_witness(served->disk, served->left.witness))
        served->left.witness[0] = 0;
    pthread_mutex_unlock(&served->presence);
    return done;
}

static nbdkit_next *open_disk(back *self) {
    nbdkit_next *next = nbdkit_next_context_open(self->backend, 0, "", 1);
    if (next && (next->prepare(next) < 0 || next->get_size(next) < 0 || next->can_write(next) != 1 ||
                 next->can_flush(next) != 1)) {
        nbdkit_next_context_close(next);
        next = NULL;
    }
    if (!next)
        nbdkit_error("cachezoo: the disk cannot be opened for destaging");
    return next;
}

/* The ends of the disk as they are left: what was destaged since the last client left may lie there. Where others wrote
 * meanwhile, what was cached goes, for good before the clean end says otherwise. */
static void leave_alone(back *self, nbdkit_next *next) {
    served *served = self->served;
    char witness[65] = "";
    pthread_mutex_lock(&served->presence);
    if (served->connections == 0 && served->attached && !self->failed) {
        bool changed = proof_witness(served->disk, witness) || strcmp(witness, served->left.witness) != 0;
        pthread_mutex_lock(&served->lock);
        if (changed && served->left.witness[0])
            back_forget(self);
        while (self->places.count[GONE] > 0 && back_sync_to(self, ++self->places.written) == 0)
            continue;
        pthread_mutex_unlock(&served->lock);
        view view = {.bytes = served->backend_bytes, .next = next, .read = read_next};
        proof_content(served->disk, &view, &served->left);
        if (proof_witness(served->disk, served->left.witness))
            served->left.witness[0] = 0;
    }
    pthread_mutex_unlock(&served->presence);
}

static void nap(back *self, uint64_t ns) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    uint64_t at = (uint64_t)until.tv_sec * SECOND_NS + (uint64_t)until.tv_nsec + ns;
    until = (struct timespec){.tv_sec = (time_t)(at / SECOND_NS), .tv_nsec = (long)(at % SECOND_NS)};
    (void)pthread_cond_timedwait(&self->work, &self->served->lock, &until);
}

static void *clean(void *given) {
    back *self = given;
    served *served = self->served;
    batch *batch = malloc(sizeof *batch);
    nbdkit_next *next = NULL;
    uint64_t end = 0;
    int64_t least = 0;
    pthread_mutex_lock(&served->lock);
    while (batch) {
        int64_t dirty = self->places.count[DIRTY];
        if (self->stopping && (!end || dirty < least)) {
            end = now_ns() + STOP_NS;
            least = dirty;
        }
        if (end && (now_ns() > end || !has_work(self)))
            break;
        if (!has_work(self)) {
            nap(self, SECOND_NS / 4);
            continue;
        }
        pthread_mutex_unlock(&served->lock);
        next = next ? next : open_disk(self);
        bool done = next && clean_alone(self, next, batch);
        pthread_mutex_lock(&served->lock);
        if (!next)
            self->failures++;
        if (!done)
            pthread_cond_broadcast(&self->moved);
        if (!done && self->stopping)
            break;
        if (!done)
            nap(self, SECOND_NS);
    }
    pthread_mutex_unlock(&served->lock);
    if (next) {
        leave_alone(self, next);
        (void)next->finalize(next);
        nbdkit_next_context_close(next);
    }
    free(batch);
    return NULL;
}

int back_start(back *self, nbdkit_backend *backend) {
    self->backend = backend;
    self->started = pthread_create(&self->cleaner, NULL, clean, self) == 0;
    return self->started ? 0 : -1;
}

bool back_failed(const back *self) {
    return self->failed;
}

bool back_refuses(const back *self) {
    return self->failed && !self->direct;
}

void back_stop(back *self) {
    served *served = self->served;
    if (!self->started)
        return;
    pthread_mutex_lock(&served->lock);
    self->stopping = true;
    pthread_cond_signal(&self->work);
    pthread_mutex_unlock(&served->lock);
    pthread_join(self->cleaner, NULL);
    self->started = false;
    if (back_alone(self) > 0)
        nbdkit_error("cachezoo: %lld bytes are on the SSD alone; the next start takes them up",
                     (long long)(back_alone(self) * back_unit(self)));
}
