/* Write-back: a write is acknowledged when data and entry are on the SSD, and reaches the disk later.
 *
 * What is on the SSD is known by the unit's number: the policy says which units are worth a slot, not which slot. A unit
 * is clean (the disk holds the same, for good) or dirty (the SSD alone holds it). Requests whose units overlap wait for
 * each other, reads of the same units excepted; the cleaner and the policy's evictions need not wait, since a slot that
 * somebody reads is not used again meanwhile (places.h). The rules, numbered as in docs/mounted.md:
 *
 * - A new version never overwrites an older one, which goes when the new one is durable.
 * - A unit is written to the disk only after it is durable on the SSD, and is clean only after a flush of the disk.
 * - Before anything else is written to the disk (a large zeroing, or a write that the SSD cannot take), the units are
 *   destaged and their entries void for good.
 * - Where the SSD fails, writes are refused until everything is on the disk and SSD or label say so; then all goes there. */
#ifndef CZ_BACK_H
#define CZ_BACK_H

#include <nbdkit-filter.h>

#include "served.h"

typedef struct back back;

typedef struct back_options {
    int64_t capacity, slots; /* units of the policy; slots of the tier: more */
    int64_t dirty_percent;   /* of the capacity at most */
    int64_t delay_s;         /* until a dirty unit is destaged, at least */
} back_options;

/* Slots of a tier whose policy holds so many units. */
int64_t back_slots(int64_t capacity);
int back_open(served *served, const back_options *options);
void back_close(served *served);
/* The cleaner begins to run; and ends, with everything on the disk unless that fails or takes too long. */
int back_start(back *back, nbdkit_backend *backend);
void back_stop(back *back);

/* After tier_attach: what the tier holds. -1 where it cannot be served, after a message. */
int back_take_up(back *back, const view *view);
/* The SSD has failed. Under the lock. */
void back_fail(back *back, const char *what);
bool back_failed(const back *back);
/* It has failed, and something is on it alone: writes are errors. */
bool back_refuses(const back *back);
/* The disk was written to by others: what is clean is not used. Under the lock. */
void back_forget(back *back);

/* sources: FROM_ flags are added, where the data came from. */
int back_read(back *back, nbdkit_next *next, void *data, uint32_t count, uint64_t offset, unsigned *sources, int *err);
int back_write(back *back, nbdkit_next *next, const void *data, uint32_t count, uint64_t offset, uint32_t flags,
               int *err);
/* Zeroes, which read as zeros afterwards, and trims, which do where the SSD takes them: up to 1 MiB. */
int back_zero(back *back, nbdkit_next *next, uint32_t count, uint64_t offset, uint32_t flags, bool trims, int *err);
int back_flush(back *back, nbdkit_next *next, int *err);

/* How a view or a backend reads the plugin. */
static inline int read_next(void *next, void *data, uint32_t count, uint64_t offset, int *err) {
    nbdkit_next *plugin = next;
    return plugin->pread(plugin, data, count, offset, 0, err);
}

#endif
