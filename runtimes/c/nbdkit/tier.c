#include "tier.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/fs.h>

#include "crc32c.h"
#include "device.h"
#include "held.h"
#include "internal.h"
#include "maybe.h"

#define SECTOR 4096
#define ENTRIES_TO_SECTOR (SECTOR / (int64_t)sizeof(tier_entry))
#define SAMPLES 64              /* slots that are compared with the disk */
#define EDGE ((int64_t)1 << 20) /* without data at both ends */
#define VERSION 3
#define MAGIC "CZTIER\r\n"

typedef struct superblock {
    char magic[8];
    uint32_t version, clean;
    unsigned char uuid[16];
    char lost[40]; /* the boot in which the disk last failed a flush */
    int64_t unit_bytes, slots, backend_bytes;
    uint64_t generation; /* times opened */
    char digest[72];
    char volume[65], export[65]; /* SHA-256 of the names */
    proof disk;                  /* boot and identity as of the opening, the rest as of the clean end */
    uint32_t crc;                /* of all above */
} superblock;

struct tier {
    int fd;
    const disk *disk;
    label *label;
    bool syncing, failed;
    bool wipe; /* what was overwritten by name leaves no signature at either end */
    int64_t slots, unit_bytes, table_bytes, data_at;
    tier_entry *table;
    superblock head;
    uint64_t fills, stamps;
    uint64_t cleared, settled; /* clears so far, and those that are durable */
    maybe now, underway;       /* cleared since the last sync began; and before it, while it runs */
    pthread_cond_t synced;
};

_Static_assert(sizeof(tier_entry) == 32, "an entry has 32 bytes, so that none lies across a sector's end");
_Static_assert(sizeof(superblock) <= SECTOR, "torn, it is damaged, and the tier begins empty");

static int64_t rounded(int64_t bytes) {
    return (bytes + SECTOR - 1) / SECTOR * SECTOR;
}

static uint32_t entry_crc(const tier *tier, int64_t slot) {
    uint32_t crc = crc32c(0, tier->head.uuid, sizeof tier->head.uuid);
    crc = crc32c(crc, &slot, sizeof slot);
    return crc32c(crc, &tier->table[slot], offsetof(tier_entry, crc));
}

static int size_of(int fd, const struct stat *found, int64_t *bytes) {
    uint64_t there = (uint64_t)found->st_size;
    if (S_ISBLK(found->st_mode) && ioctl(fd, BLKGETSIZE64, &there))
        return -1;
    *bytes = (int64_t)there;
    return 0;
}

/* The bytes that the device must have; a file grows to them. */
static int make_room(const tier *tier, const char *path, cz_error *error) {
    int64_t wanted = tier->data_at + tier->slots * tier->unit_bytes + EDGE, there;
    struct stat found;
    if (fstat(tier->fd, &found) || size_of(tier->fd, &found, &there))
        return cz_fail(error, CZ_IO, "%s: %s", path, strerror(errno));
    if (S_ISBLK(found.st_mode))
        return wanted <= there
                   ? CZ_OK
                   : cz_fail(error, CZ_BAD_CALL, "%s: the device has %lld bytes and the tier needs %lld; lower cz-size",
                             path, (long long)there, (long long)wanted);
    /* The table must never meet a full filesystem: an invalidation is written there. */
    int failed = posix_fallocate(tier->fd, 0, tier->data_at);
    if (!failed && found.st_size < wanted && ftruncate(tier->fd, wanted))
        failed = errno;
    return failed ? cz_fail(error, CZ_IO, "%s: no room for the table of the tier: %s", path, strerror(failed)) : CZ_OK;
}

/* Whether the device begins with a tier's superblock, whatever its version and state. */
static bool begins_as_tier(int fd) {
    char magic[8];
    return device_read(fd, magic, sizeof magic, 0) == 0 && memcmp(magic, MAGIC, sizeof magic) == 0;
}

/* What lies on the device, and is neither a tier nor what may be overwritten by its name, is not touched. A filesystem
 * may begin behind an old tier's superblock. */
static int check_held(const tier_options *options, int fd, int64_t bytes, bool *wipe, cz_error *error) {
    char name[HELD_NAME];
    int unread = begins_as_tier(fd) ? held_signature(fd, name) : held_name(fd, bytes, name);
    if (unread)
        return cz_fail(error, CZ_IO, "%s: what lies there cannot be read", options->path);
    *wipe = name[0] && options->format && strcmp(options->format, name) == 0;
    if (!name[0] || *wipe)
        return CZ_OK;
    return cz_fail(error, CZ_BAD_CALL, "%s: it is no tier and holds %s; cz-format=%s overwrites that", options->path,
                   name, name);
}

/* What can be seen before the device is opened. */
static int check_place(const tier_options *options, const struct stat *found, cz_error *error) {
    if (!S_ISBLK(found->st_mode) && !S_ISREG(found->st_mode))
        return cz_fail(error, CZ_BAD_CALL, "%s: neither a file nor a block device", options->path);
    if (options->disk->fd >= 0 && disk_same(found, &options->disk->found))
        return cz_fail(error, CZ_BAD_CALL, "%s: it is the disk itself, or a part of it", options->path);
    if (S_ISREG(found->st_mode) && disk_is_looped(found))
        return cz_fail(error, CZ_BAD_CALL, "%s: a loop device lies over it", options->path);
    return CZ_OK;
}

/* A lock keeps other caches off; a block device is also kept from being mounted, and a mounted one is refused. A file
 * that is not there yet is made. */
static int open_device(const tier_options *options, cz_error *error, int *fd, bool *wipe) {
    const char *path = options->path;
    struct stat found;
    bool there = stat(path, &found) == 0, block = there && S_ISBLK(found.st_mode);
    int64_t bytes = 0;
    int code = there ? check_place(options, &found, error) : CZ_OK;
    if (code != CZ_OK)
        return code;
    *fd = open(path, O_RDWR | O_CLOEXEC | (!there ? O_CREAT | O_EXCL : block ? O_EXCL : 0), 0600);
    if (*fd < 0)
        return cz_fail(error, CZ_IO, "%s: %s", path,
                       block && errno == EBUSY ? "it is mounted, or another program uses it" : strerror(errno));
    if (flock(*fd, LOCK_EX | LOCK_NB))
        return cz_fail(error, CZ_IO, "%s: %s", path,
                       errno == EWOULDBLOCK ? "another cache uses this tier" : strerror(errno));
    if (there && size_of(*fd, &found, &bytes))
        return cz_fail(error, CZ_IO, "%s: %s", path, strerror(errno));
    return bytes > 0 ? check_held(options, *fd, bytes, wipe, error) : CZ_OK;
}

int tier_open(const tier_options *options, tier **found, cz_error *error) {
    *found = NULL;
    tier *made = calloc(1, sizeof *made);
    if (!made)
        return cz_fail(error, CZ_NO_MEMORY, "%s: no memory", options->path);
    made->slots = options->slots;
    made->unit_bytes = options->unit_bytes;
    made->disk = options->disk;
    made->label = options->label;
    made->fd = -1;
    made->table_bytes = rounded(options->slots * (int64_t)sizeof(tier_entry));
    made->data_at = SECTOR + made->table_bytes > EDGE ? SECTOR + made->table_bytes : EDGE;
    made->head.unit_bytes = options->unit_bytes;
    made->head.slots = options->slots;
    cz_sha256_of(options->volume, strlen(options->volume), made->head.volume);
    strncpy(made->head.digest, options->digest, sizeof made->head.digest - 1);
    pthread_cond_init(&made->synced, NULL);
    made->table = calloc(1, (size_t)made->table_bytes);
    int code = open_device(options, error, &made->fd, &made->wipe);
    if (code == CZ_OK && !made->table)
        code = cz_fail(error, CZ_NO_MEMORY, "%s: no memory for the tier's table", options->path);
    if (code == CZ_OK)
        code = make_room(made, options->path, error);
    if (code != CZ_OK) {
        tier_close(made, NULL);
        return code;
    }
    *found = made;
    return CZ_OK;
}

static int write_head(tier *tier, superblock *head) {
    unsigned char sector[SECTOR] = {0};
    head->crc = crc32c(0, head, offsetof(superblock, crc));
    memcpy(sector, head, sizeof *head);
    return device_write(tier->fd, sector, SECTOR, 0) || fdatasync(tier->fd) ? -1 : 0;
}

/* Whole sectors, so that the device need not be read first. */
static int write_entry(tier *tier, int64_t slot) {
    int64_t sector = slot / ENTRIES_TO_SECTOR;
    tier->table[slot].crc = entry_crc(tier, slot);
    if (!tier->label)
        return 0;
    return device_write(tier->fd, tier->table + sector * ENTRIES_TO_SECTOR, SECTOR, SECTOR + sector * SECTOR);
}

static bool is_sound(const superblock *found) {
    return memcmp(found->magic, MAGIC, sizeof found->magic) == 0 && found->version == VERSION &&
           found->crc == crc32c(0, found, offsetof(superblock, crc));
}

/* Why the superblock found is not that of this cache; NULL where it is. */
static const char *foreign(const tier *tier, const superblock *found, int64_t backend_bytes) {
    const char *boot = tier->head.disk.boot;
    if (memcmp(found->magic, MAGIC, sizeof found->magic) != 0)
        return "it holds no tier";
    if (found->crc != crc32c(0, found, offsetof(superblock, crc)))
        return "its superblock is damaged";
    if (found->version != VERSION)
        return "its format is of another version";
    if (found->slots == 0)
        return "it was marked as invalid";
    if (found->unit_bytes != tier->unit_bytes || found->slots != tier->slots)
        return "its geometry is another";
    if (found->backend_bytes != backend_bytes)
        return "the disk behind it has another size";
    if (memcmp(found->volume, tier->head.volume, sizeof found->volume) != 0)
        return "it is of another volume";
    if (memcmp(found->export, tier->head.export, sizeof found->export) != 0)
        return "it is of another export";
    if (boot[0] && memcmp(found->lost, boot, sizeof found->lost) == 0)
        return "the disk failed to flush since the machine was started; until the next start nothing is kept";
    return NULL;
}

static void keep_valid(tier *tier, int64_t backend_bytes) {
    int64_t units = (backend_bytes + tier->unit_bytes - 1) / tier->unit_bytes;
    for (int64_t slot = 0; slot < tier->slots; slot++) {
        tier_entry *entry = &tier->table[slot];
        if (entry->fill == 0 || entry->crc != entry_crc(tier, slot) || entry->number < 0 || entry->number >= units) {
            *entry = (tier_entry){0};
            continue;
        }
        tier->fills = entry->fill > tier->fills ? entry->fill : tier->fills;
        tier->stamps = entry->stamp > tier->stamps ? entry->stamp : tier->stamps;
    }
}

static int wipe_ends(const tier *tier) {
    struct stat found;
    int64_t bytes;
    void *zeros = calloc(1, (size_t)EDGE);
    int failed = !zeros || fstat(tier->fd, &found) || size_of(tier->fd, &found, &bytes) ||
                 device_write(tier->fd, zeros, (size_t)EDGE, 0) ||
                 device_write(tier->fd, zeros, (size_t)EDGE, bytes - EDGE);
    free(zeros);
    return failed ? -1 : 0;
}

/* A new uuid makes every entry on the device one of another tier. */
static int begin_anew(tier *tier) {
    if (tier->wipe && wipe_ends(tier))
        return -1;
    memset(tier->table, 0, (size_t)tier->table_bytes);
    tier->head.generation = 0;
    tier->fills = tier->stamps = 0;
    return getrandom(tier->head.uuid, sizeof tier->head.uuid, 0) == sizeof tier->head.uuid ? 0 : -1;
}

static bool equal(const char *one, const char *other) {
    return one[0] && strcmp(one, other) == 0;
}

/* Why nothing shows that what the tier held is what the disk holds; NULL where something does. `sample`: the disk may have
 * been written to by this cache alone, and its blocks are to be compared. */
static const char *unproven(const tier *tier, const superblock *found, bool *sample) {
    const proof *then = &found->disk, *now = &tier->head.disk;
    *sample = false;
    if (found->clean && equal(then->witness, now->witness))
        return NULL;
    if (found->clean && then->witness[0] && now->witness[0] && equal(then->boot, now->boot))
        return "the disk was written to without the cache, or is another";
    if (!tier->label)
        return found->clean ? "nothing shows that the disk was not written to since then; cz-label= would"
                            : "it was in use and did not end, and there is no cz-label=";
    if (!label_is(tier->label, found->uuid, found->generation))
        return "the label is of another tier, or of another state of it";
    if (!now->identity[0])
        return "nothing tells the disk from others: no WWN, no UUID";
    if (!equal(then->identity, now->identity))
        return "it is of another disk";
    if (found->clean && then->ends[0] && !equal(then->ends, now->ends))
        return "the disk was written to without the cache";
    *sample = true;
    return NULL;
}

/* Whether the disk holds in a slot's unit what the slot does; what cannot be read or has a wrong CRC says nothing. */
static bool agrees(tier *tier, const view *view, int64_t slot, unsigned char *units) {
    const tier_entry *entry = &tier->table[slot];
    int64_t from = entry->number * tier->unit_bytes, there = view->bytes - from;
    size_t size = (size_t)(there < tier->unit_bytes ? there : tier->unit_bytes);
    int err;
    if (tier_read(tier, slot, units) || crc32c(0, units, (size_t)tier->unit_bytes) != entry->data_crc)
        return true;
    return view->read(view->next, units + tier->unit_bytes, (uint32_t)size, (uint64_t)from, &err) == 0 &&
           memcmp(units, units + tier->unit_bytes, size) == 0;
}

/* Slots all over the table, compared with the disk. */
static bool samples_agree(tier *tier, const view *view) {
    unsigned char *units = malloc(2 * (size_t)tier->unit_bytes);
    int64_t step = tier->slots / SAMPLES > 0 ? tier->slots / SAMPLES : 1;
    bool agree = units != NULL;
    for (int64_t first = 0; first < tier->slots && agree; first += step) {
        int64_t slot = first; /* the first that is in use of each part */
        while (slot < first + step && slot < tier->slots && tier->table[slot].fill == 0)
            slot++;
        if (slot < first + step && slot < tier->slots)
            agree = agrees(tier, view, slot, units);
    }
    free(units);
    return agree;
}

/* What the device holds, into the table; or why it does not count. */
static const char *take_up(tier *tier, const superblock *found, const view *view) {
    bool sample;
    const char *why = foreign(tier, found, view->bytes);
    if (!why)
        why = unproven(tier, found, &sample);
    if (why)
        return why;
    memcpy(tier->head.uuid, found->uuid, sizeof found->uuid);
    tier->head.generation = found->generation;
    if (device_read(tier->fd, tier->table, (size_t)tier->table_bytes, SECTOR))
        return "its table cannot be read";
    keep_valid(tier, view->bytes);
    return sample && !samples_agree(tier, view) ? "the disk holds something else than the tier" : NULL;
}

/* The next generation, on both sides, before anything is written to the disk. Between the two neither is believed. */
static int open_generation(tier *tier) {
    tier->head.clean = 0;
    tier->head.generation++;
    if (write_head(tier, &tier->head))
        return -1;
    return tier->label ? label_write(tier->label, tier->head.uuid, tier->head.generation) : 0;
}

int tier_attach(tier *tier, const view *view, const char *export, char note[256]) {
    static const unsigned char blank[SECTOR];
    unsigned char sector[SECTOR] = {0};
    superblock found;
    superblock *head = &tier->head;
    note[0] = 0;
    cz_sha256_of(export, strlen(export), head->export);
    proof_boot(head->disk.boot);
    (void)proof_witness(tier->disk, head->disk.witness); /* "" where it fails: nothing is shown */
    if (tier->label)
        proof_content(tier->disk, view, &head->disk);
    int unread = device_read(tier->fd, sector, SECTOR, 0);
    memcpy(&found, sector, sizeof found);
    const char *why = unread ? "its superblock cannot be read" : take_up(tier, &found, view);
    if (is_sound(&found))
        memcpy(head->lost, found.lost, sizeof found.lost);
    if (why && begin_anew(tier))
        return -1;
    if (why && memcmp(sector, blank, SECTOR) != 0)
        snprintf(note, 256, "the SSD tier begins empty: %s", why);
    memcpy(head->magic, MAGIC, sizeof head->magic);
    head->version = VERSION;
    head->backend_bytes = view->bytes;
    head->disk.witness[0] = head->disk.ends[0] = 0;
    return open_generation(tier);
}

int tier_begin(tier *tier, const struct tier *before, int64_t backend_bytes, const char *identity, bool lost) {
    superblock *head = &tier->head;
    if (begin_anew(tier))
        return -1;
    memcpy(head->magic, MAGIC, sizeof head->magic);
    head->version = VERSION;
    head->backend_bytes = backend_bytes;
    memcpy(head->export, before->head.export, sizeof head->export);
    memcpy(head->lost, lost ? before->head.disk.boot : before->head.lost, sizeof head->lost);
    head->disk = before->head.disk;
    head->disk.witness[0] = head->disk.ends[0] = 0;
    if (!head->disk.identity[0])
        memcpy(head->disk.identity, identity, sizeof head->disk.identity);
    head->clean = 0;
    head->generation = 1;
    if (write_head(tier, head))
        return -1;
    return tier->label && label_write(tier->label, head->uuid, head->generation) ? TIER_LABEL_FAILED : 0;
}

void tier_release(tier *tier) {
    if (tier->fd >= 0)
        close(tier->fd);
    tier->fd = -1;
}

void tier_close(tier *tier, const proof *left) {
    if (!tier)
        return;
    if (left && !tier->failed && !tier_passing(tier)) {
        tier->head.clean = 1;
        memcpy(tier->head.disk.witness, left->witness, sizeof left->witness);
        memcpy(tier->head.disk.ends, left->ends, sizeof left->ends);
        if (!device_write(tier->fd, tier->table, (size_t)tier->table_bytes, SECTOR) && !fdatasync(tier->fd))
            (void)write_head(tier,
                             &tier->head); /* where it fails the next start takes the tier for one that was killed */
    }
    if (tier->fd >= 0)
        close(tier->fd);
    pthread_cond_destroy(&tier->synced);
    free(tier->table);
    free(tier);
}

bool tier_labelled(const tier *tier) {
    return tier->label != NULL;
}

const tier_entry *tier_at(const tier *tier, int64_t slot) {
    return &tier->table[slot];
}

void tier_use(tier *tier, int64_t slot) {
    tier->table[slot].stamp = ++tier->stamps;
}

int tier_set(tier *tier, int64_t slot, int64_t number, uint32_t data_crc) {
    uint64_t used = tier->table[slot].stamp; /* as the fill was decided, or later; not as it was written */
    tier->table[slot] = (tier_entry){
        .number = number, .fill = ++tier->fills, .stamp = used ? used : ++tier->stamps, .data_crc = data_crc};
    return write_entry(tier, slot);
}

int tier_clear(tier *tier, int64_t slot) {
    maybe_add(&tier->now, tier->table[slot].number);
    tier->table[slot] = (tier_entry){0};
    tier->cleared++;
    return write_entry(tier, slot);
}

static bool is_unsettled(const tier *tier, int64_t first, int64_t count) {
    if (tier->cleared == tier->settled)
        return false;
    if (count == INT64_MAX)
        return true;
    for (int64_t number = first; number < first + count; number++) {
        if (maybe_holds(&tier->now, number) || maybe_holds(&tier->underway, number))
            return true;
    }
    return false;
}

/* One sync for all that wait. */
static int sync_once(tier *tier, pthread_mutex_t *lock) {
    uint64_t covered = tier->cleared;
    tier->syncing = true;
    tier->underway = tier->now;
    maybe_clear(&tier->now);
    pthread_mutex_unlock(lock);
    int failed = fdatasync(tier->fd);
    pthread_mutex_lock(lock);
    tier->syncing = false;
    tier->settled = covered;
    maybe_clear(&tier->underway);
    if (failed)
        tier->failed = true;
    pthread_cond_broadcast(&tier->synced);
    return failed ? -1 : 0;
}

int tier_settle(tier *tier, pthread_mutex_t *lock, int64_t first, int64_t count) {
    if (!tier->label || tier->failed || !is_unsettled(tier, first, count))
        return tier->failed ? -1 : 0;
    uint64_t wanted = tier->cleared;
    while (!tier->failed && tier->settled < wanted) {
        if (tier->syncing)
            pthread_cond_wait(&tier->synced, lock);
        else
            (void)sync_once(tier, lock); /* says so in tier->failed */
    }
    return tier->failed ? -1 : 1;
}

/* Still a tier, so that the next start may write to it, but one without slots. */
int tier_blank(tier *tier) {
    superblock none = {.magic = MAGIC, .version = VERSION};
    memcpy(none.lost, tier->head.lost, sizeof none.lost);
    return write_head(tier, &none);
}

int tier_lose(tier *tier) {
    memcpy(tier->head.lost, tier->head.disk.boot, sizeof tier->head.lost);
    return write_head(tier, &tier->head);
}

bool tier_passing(const tier *tier) {
    return equal(tier->head.disk.boot, tier->head.lost);
}

/* Without a label it is enough that the clean mark has gone, or where it has not, that the disk is written to. */
int tier_kill(tier *tier) {
    tier->failed = true;
    pthread_cond_broadcast(&tier->synced);
    bool marked = tier->label && label_void(tier->label) == 0;
    marked = tier_blank(tier) == 0 || marked;
    marked = marked || (ftruncate(tier->fd, 0) == 0 && fsync(tier->fd) == 0);
    return marked || !tier->label ? 0 : -1;
}

int tier_read(tier *tier, int64_t slot, void *unit) {
    return device_read(tier->fd, unit, (size_t)tier->unit_bytes, tier->data_at + slot * tier->unit_bytes);
}

int tier_write(tier *tier, int64_t slot, const void *unit) {
    return device_write(tier->fd, unit, (size_t)tier->unit_bytes, tier->data_at + slot * tier->unit_bytes);
}

int tier_read_run(tier *tier, int64_t slot, void *units, int64_t count) {
    return device_read(tier->fd, units, (size_t)(count * tier->unit_bytes), tier->data_at + slot * tier->unit_bytes);
}

int tier_write_run(tier *tier, int64_t slot, const struct iovec *parts, int n) {
    return device_write_parts(tier->fd, parts, n, tier->data_at + slot * tier->unit_bytes);
}
