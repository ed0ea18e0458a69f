/* The read cache between nbdkit's clients and the plugin: who reads what from where, and what may enter.
 *
 * One lock guards the policy, its model's streams, the tier's table and the counters. Data moves outside of it:
 * - A slot has a turn, which rises whenever its unit leaves. A read of a slot counts only if the turn is the same
 *   afterwards and the CRC is right; a fill enters the table only if the turn is the same as when it was decided.
 * - A write to the backend is in a list from before its units leave until it has ended. A fill that would overlap
 *   one in the list is not begun. So no fill that could have read old data, or a mixture, ever enters.
 * - Fills wait in memory and are written behind the reads (queue.h). A slot that a fill is writing to is busy; nobody
 *   else writes there.
 * - What was written to the backend but not flushed may be undone by a crash of the machine. A fill with such data is
 *   used, but enters the table on the device only after the next flush.
 * - After a failed flush nobody knows what of it the backend holds, and a later flush does not say either: Linux reports
 *   a failed writeback once, and takes the pages for clean. What was written since the last good flush leaves, and is
 *   not cached again. */
#ifndef CZ_SERVED_H
#define CZ_SERVED_H

#include <pthread.h>
#include <stdbool.h>

#include "budget.h"
#include "cachezoo.h"
#include "maybe.h"
#include "queue.h"
#include "stats.h"
#include "tier.h"

/* A write that is under way; on its own function's stack. */
typedef struct writing {
    uint64_t first, end; /* units */
    struct writing *next, **link;
    filling *put; /* written through: the units that may enter the SSD once the disk has them */
    int64_t n_put;
    uint64_t changes; /* of policy and tier, as it began */
} writing;

typedef struct slot_state {
    int64_t number;        /* of the unit, where it is ready or its fill waits */
    _Atomic uint32_t turn; /* changed under the lock; read without it too */
    uint32_t crc;
    fills *waiting;   /* the fill of its unit, whose data is in memory and not on the device yet */
    bool ready, busy; /* its data is on the device; a fill is writing it */
    bool later;       /* ready, but not in the table yet */
    bool listed;      /* is in `later` */
} slot_state;

typedef struct served {
    pthread_mutex_t lock;
    cz_cache *cache;
    cz_logger *log;
    tier *tier;
    slot_state *slots;
    writing *writes;
    queue queue;
    maybe unflushed, flushing; /* units written since the last flush began; and before it, while it runs */
    maybe lost;                /* units that a failed flush may have lost */
    bool flush_runs;
    int32_t *later; /* slots that wait for a flush */
    int64_t n_later;
    stats stats;
    int64_t unit_bytes, per_block, n_slots, backend_bytes;
    int32_t volume; /* of cz_intern, or 0 */
    uint64_t start_us;
    bool
        holds; /* the policy is a page cache: what it holds may have no data on the SSD, and is filled when it is read */
    bool through;                             /* what is written to the disk enters the SSD as well */
    bool attached, blank, failed, log_failed; /* blank: the device holds nothing that could be taken up */
    bool refuses;                             /* writes: neither SSD nor label could be marked as invalid */
    disk *disk;
    pthread_mutex_t presence; /* of connections; it is held where they become none or one */
    proof left;               /* the disk as the last connection left it */
    int connections, errors;  /* open now, of all exports; of the tier, one after the other */
    uint64_t joined;          /* connections so far */
    struct back *back;        /* write-back (back.h); NULL in the other modes */
    bool refused;             /* the tier holds dirty units and is of another disk */
    int inside;               /* requests that use the tier outside of the lock; atomic */
    bool paused;              /* the tier is about to be another: reads go to the disk, writes wait */
    pthread_cond_t resumed;
    bool queues;        /* the model chooses queues */
    budget budget;      /* of writes to the SSD */
    int64_t n_dirty;    /* units that the disk does not hold yet */
    char reason[96];    /* why it failed */
    uint64_t failed_ns; /* when */
    bool passing;       /* a flush failed in an earlier run of this boot: nothing enters the table */
} served;

/* What was cached of the disk is void from here on, as it has another size. */
void served_resized(served *served);

enum { FROM_SSD = 1, FROM_DISK = 2 };

/* How a request reaches the plugin: an nbdkit_next and its read, without nbdkit in the way. */
typedef struct backend {
    void *next;
    int (*read)(void *next, void *data, uint32_t count, uint64_t offset, int *err);
    unsigned *sources; /* where a read's data came from, FROM_ flags are added; or NULL */
    bool sees_all;     /* what other connections wrote, without a flush */
    uint64_t alone;    /* its number, where no other was open as it began; else 0 */
} backend;

/* Take up the tier for an export; the first call counts. False: the disk must not be served with this tier. */
bool served_attach(served *served, const view *view, const char *export);
int served_read(served *served, const backend *backend, void *data, uint32_t count, uint64_t offset, int *err);

/* What changes the backend: the policy and the log count WRITTEN alone. BYPASSED: a write through another export. */
enum change { WRITTEN, BYPASSED, ZEROED, TRIMMED };

/* Before and after a change is passed on. False: it must not be, and ends at once. */
bool served_write_begin(served *served, writing *self, uint64_t count, uint64_t offset, enum change change);

/* What the disk has been given. */
typedef struct written {
    const backend *backend;
    const unsigned char *data;
    uint64_t count, offset;
} written;

/* durable: it ended well and no crash can undo it. `written`: what may enter the SSD; NULL where it failed, or changed the
 * disk otherwise. */
void served_write_end(served *served, writing *self, bool durable, const written *written);

/* A connection is about to open: its number where it is alone, else 0. It is about to close, and flushed; it has closed.
 * Where all were closed, and the disk is not as they left it, nothing is cached any more of what was. */
uint64_t served_join(served *served);
void served_part(served *served, const view *view);
void served_leave(served *served);

/* The end: how the disk is left. nbdkit that is stopped does not close what is connected. NULL where the next start must
 * not take up the tier. */
const proof *served_end(served *served);

/* A flush has failed, or a write that was to be durable. */
void served_lose(served *served);

/* Before and after a flush by a connection; what begin returned goes to end. It covers what others have written only
 * if it sees that, or there are no others. */
bool served_flush_begin(served *served, bool sees_all);
void served_flush_end(served *served, bool covers, bool done);

#endif
