/* What the files of write-back share; back.h has the whole. */
#ifndef CZ_BACK_PARTS_H
#define CZ_BACK_PARTS_H

#include "back.h"
#include "places.h"

#define CHUNK 32 /* units that are stored at once */

/* A request under way; on its own function's stack. They begin in the order of the list, where they overlap. */
typedef struct span {
    uint64_t first, end; /* units */
    bool alone;          /* it changes them */
    unsigned char *keep; /* of each unit: the policy holds it; or NULL */
    struct span *before, *after;
} span;

struct back {
    served *served;
    places places;
    span *oldest, *youngest;
    pthread_cond_t moved; /* anything that a request may wait for */
    pthread_cond_t work;  /* for the cleaner */
    int64_t most_dirty, least_free;
    uint64_t delay_ns, failures; /* of batches */
    bool syncing, cleaning, urgent, stopping, started;
    bool failed, fixed; /* the SSD has; and the label says so */
    bool direct;        /* everything goes to the disk, which holds all */
    int flushers;
    nbdkit_backend *backend;
    pthread_t cleaner;
};

static inline int64_t back_unit(const back *self) {
    return self->served->unit_bytes;
}

/* Units that the SSD alone holds, or has lost. */
static inline int64_t back_alone(const back *self) {
    return self->places.count[DIRTY] + self->places.count[LOST];
}

static inline void back_gauge(back *self) {
    self->served->n_dirty = back_alone(self);
}

/* Where nothing else is said, calls are made under the lock of `served`. */

/* Until all changes of entries up to this one are durable; the lock is given up meanwhile. */
int back_sync_to(back *self, uint64_t wanted);
/* Without the lock: a pinned slot's data, false where it is not what the entry says. */
bool back_read_slot(back *self, int32_t slot, uint32_t crc, unsigned char *unit);
void back_unpin(back *self, int32_t slot);
/* A slot's data was wrong or could not be read. False: the SSD alone held it, and it is lost until it is overwritten. */
bool back_give_up(back *self, int32_t slot, int64_t number);

/* The lock is given up while another request with the same units is under way. */
void back_enter(back *self, span *span);
void back_leave(back *self, span *span);
/* The policy's word on a request: which of its units it holds from here on. */
void back_ask(back *self, span *span, enum cz_op op, uint64_t count, uint64_t offset);

/* Bytes of the unit that the disk has; no lock. */
uint64_t back_there(const back *self, int64_t number);
void back_count_disk_read(back *self, uint64_t count); /* without the lock */
/* The disk may lose what it was given in these units, until a flush. */
void back_add_unflushed(back *self, const span *span);
/* The disk alone holds the units of the range, for good, so that it may be written to. The request is alone with its
 * units; the lock is given up meanwhile. */
int back_make_void(back *self, nbdkit_next *next, const span *span);

#endif
