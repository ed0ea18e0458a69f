/* The SSD tier: which unit of the backend lies in which slot of a file or block device, and the data.
 *
 * On the device, little-endian: a superblock of 4 KiB; a table of 32 bytes for each slot; the slots' data. Data lies
 * neither in the first nor in the last MiB, where a cached block could be taken for a filesystem of the device. Every
 * part has a CRC-32C. An entry's covers the tier's uuid and the slot's number too, so an entry of an earlier tier, or one
 * in the wrong place, is none. An entry holds the CRC of its data, and every read checks it: data that is older or
 * newer than its entry, or torn, is never given out.
 *
 * What the checks cannot show is an entry and data that fit together, but are older than the backend, or of another.
 * So a tier is taken up only if one of these holds:
 * - It ended cleanly, and the kernel's account of the disk is that of the end: nobody has written since. The clean mark
 *   goes, durably, before anything else happens.
 * - There is a label, off the SSD, of the same tier and generation; the disk is the same by its identity; its ends, after
 *   a clean end, and samples of its blocks are what they were. Then the unit leaves the table, durably, before a write
 *   to the backend is passed on: tier_clear, then tier_settle. Where that cannot be written the label is voided.
 * Without a label the table is written at a clean end alone.
 *
 * The caller holds its lock in all calls but those that read and write data. */
#ifndef CZ_TIER_H
#define CZ_TIER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "cachezoo.h"
#include "disk.h"
#include "label.h"
#include "proof.h"

#define TIER_DIRTY (UINT64_C(1) << 63)

typedef struct tier_entry {
    int64_t number; /* of the unit in the backend */
    uint64_t fill;  /* counts fills over the tier's life; 0: the slot is empty. TIER_DIRTY: not on the disk yet */
    uint32_t data_crc;
    uint32_t crc;   /* of all above, after the tier's uuid and the slot's number */
    uint64_t stamp; /* rises with use; as of the fill, or of the last clean end. Only the order of eviction reads it */
} tier_entry;

typedef struct tier_options {
    const char *path;
    int64_t slots, unit_bytes;
    const char *volume; /* the name that the tier is of; another one's tier is not read */
    const char *digest; /* of the model that fills it, for the record */
    const disk *disk;   /* which the tier is of, and must not lie on */
    const char *format; /* the name of what may be overwritten, or NULL; as of held.h */
    label *label;       /* the tier outlasts kills and crashes of the machine; NULL: clean ends alone */
    bool back;          /* writes are cached: see back.h */
} tier_options;

typedef struct tier tier;

/* Open and lock the device, see that nothing is lost by writing to it, and that it has room. Nothing is written. */
int tier_open(const tier_options *options, tier **found, cz_error *error);
/* Before the first client is served: the export, and the boot of this run. tier_attach does it too. */
void tier_name(tier *tier, const char *export);
/* Take up what the device holds for an export, or begin anew; `note` says why, or is empty. Returns -1 where device or
 * label cannot be written; 1 where the tier has dirty units and is not of this disk as it is: nothing is written. */
int tier_attach(tier *tier, const view *view, const char *export, char note[256]);
/* The part of tier_begin that takes time, before anybody waits: what lay there by name is overwritten. Without the lock. */
int tier_clean(tier *tier);
#define TIER_LABEL_FAILED (-2)
/* Begin anew, in place of a tier that was taken up and ends: its disk is this one's, and so is what it knows of lost
 * flushes; `identity` is the disk's where the other had none. 0; TIER_LABEL_FAILED where the label is in doubt; -1
 * where neither it nor the other tier has changed. */
int tier_begin(tier *tier, const struct tier *before, int64_t backend_bytes, const char *identity, bool lost);
/* The device of a tier that has failed is closed: it may be opened anew. */
void tier_release(tier *tier);
/* Before it is taken up: what the device holds is not to be; -1 where that cannot be written. */
int tier_blank(tier *tier);
/* End; with what shows that the disk is as it was left: all that was used last is written, and the next start can
 * tell. NULL: as after a kill. */
void tier_close(tier *tier, const proof *left);

bool tier_labelled(const tier *tier);
const tier_entry *tier_at(const tier *tier, int64_t slot);
void tier_use(tier *tier, int64_t slot); /* the slot is used later than all others; also before its fill is written */

/* -1 where the device fails. */
int tier_set(tier *tier, int64_t slot, int64_t number, uint32_t data_crc);
int tier_clear(tier *tier, int64_t slot);
/* Wait until the units [first, first + count) that were cleared are so for good: 1 where it had to, 0, or -1 where the
 * device fails. INT64_MAX: all units. Gives up the lock meanwhile. Nothing to do without a label. */
int tier_settle(tier *tier, pthread_mutex_t *lock, int64_t first, int64_t count);
/* A flush of the disk has failed: for as long as the machine is not restarted it may show what it has lost, so until then
 * no later run keeps anything. -1 where that cannot be recorded. */
int tier_lose(tier *tier);
bool tier_passing(const tier *tier); /* such a run */
/* Nothing on the device is to be trusted again; -1 where that could be written neither there nor to the label, and is
 * needed. */
int tier_kill(tier *tier);

/* Write-back. Entries in memory: a new one, one that is on the disk, none. They are on the device after the sector of one
 * of them was written, and durable after a sync. */
void tier_note(tier *tier, int64_t slot, int64_t number, uint32_t data_crc, bool dirty);
void tier_note_clean(tier *tier, int64_t slot);
void tier_note_void(tier *tier, int64_t slot);
static inline int64_t tier_sector(int64_t slot) {
    return slot / 128; /* entries of 32 bytes in 4 KiB */
}
int tier_write_sector(tier *tier, int64_t slot);
int tier_sync(tier *tier);             /* the one call without the lock */
uint64_t tier_fills(const tier *tier); /* the highest fill number so far */
/* What was durable when it was last said: fill numbers up to this one. It is as durable as the next sync. */
uint64_t tier_watermark(const tier *tier);
int tier_say_watermark(tier *tier, uint64_t fill);
/* A clean unit that the disk may hold otherwise: it was cached before the SSD failed, or a flush did. */
bool tier_is_stale(const tier *tier, int64_t slot);
/* Of the label, durably: from here on dirty units alone count; or none does, since all are on the disk. */
int tier_say_failing(tier *tier);
int tier_say_destaged(tier *tier);
/* Where there is need to look: whether blocks all over the disk are what the clean entries say. */
bool tier_samples_agree(tier *tier, const view *view);

int tier_read(tier *tier, int64_t slot, void *unit);
int tier_write(tier *tier, int64_t slot, const void *unit);
/* Adjacent slots from one on, in one call; what is written comes from several pieces of memory, at most IOV_MAX. */
int tier_read_run(tier *tier, int64_t slot, void *units, int64_t count);
int tier_write_run(tier *tier, int64_t slot, const struct iovec *parts, int n);

#endif
