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
#define VERSION 4
#define DESTAGED UINT64_MAX      /* generations of a label: no unit of the tier counts any more; */
#define FAILING (UINT64_MAX - 1) /* only its dirty ones do */
#define COPY_AT SECTOR           /* of the superblock: a crash may tear one of the two */
#define TABLE_AT ((int64_t)2 * SECTOR)
#define WATER_AT (SECTOR - 512) /* in the superblock's sector, torn by no crash */
#define WATER_MAGIC "CZWATER\n"
#define MAGIC "CZTIER\r\n"

typedef struct superblock {
    char magic[8];
    uint32_t version, clean;
    uint64_t back;  /* dirty units may be there */
    uint64_t stale; /* clean ones of fill numbers up to this do not count */
    unsigned char uuid[16];
    char lost[40]; /* the boot in which the disk last failed a flush */
    int64_t unit_bytes, slots, backend_bytes;
    uint64_t generation; /* times opened */
    char digest[72];
    char volume[65], export[65]; /* SHA-256 of the names */
    char name[64];               /* the volume's, as far as there is room */
    proof disk;                  /* boot and identity as of the opening, the rest as of the clean end */
    uint32_t crc;                /* of all above */
} superblock;

/* What a sync has covered; of one sector, so that it is there whole or not at all. */
typedef struct watermark {
    char magic[8];
    unsigned char uuid[16];
    uint64_t fill;
    uint32_t crc; /* of all above */
} watermark;

struct tier {
    int fd;
    const disk *disk;
    label *label;
    bool syncing, failed;
    bool wipe;          /* what was overwritten by name leaves no signature at either end */
    bool back, discard; /* writes are cached; dirty units found are given up */
    bool cleaned;       /* the device is ready for a tier that begins anew */
    bool sample;
    uint64_t water;
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

static bool is_sound(const superblock *found) {
    return memcmp(found->magic, MAGIC, sizeof found->magic) == 0 && found->version == VERSION &&
           found->crc == crc32c(0, found, offsetof(superblock, crc));
}

static uint32_t crc_of_entry(const unsigned char uuid[16], int64_t slot, const tier_entry *entry) {
    uint32_t crc = crc32c(0, uuid, 16);
    crc = crc32c(crc, &slot, sizeof slot);
    return crc32c(crc, entry, offsetof(tier_entry, crc));
}

/* The superblock, or its copy where that alone is whole; -1 where it cannot be read. */
static int find_head(int fd, unsigned char sector[SECTOR], superblock *found) {
    unsigned char copy[SECTOR];
    superblock other;
    if (device_read(fd, sector, SECTOR, 0))
        return -1;
    memcpy(found, sector, sizeof *found);
    if (is_sound(found) || device_read(fd, copy, SECTOR, COPY_AT))
        return 0;
    memcpy(&other, copy, sizeof other);
    if (is_sound(&other) && other.back) {
        *found = other;
        memcpy(sector, copy, WATER_AT);
    }
    return 0;
}

/* Dirty units that a tier may hold: -1 where its table cannot be read. */
static int64_t count_dirty(int fd, const superblock *found) {
    tier_entry entries[SECTOR / sizeof(tier_entry)];
    int64_t count = 0;
    for (int64_t slot = 0; found->back && slot < found->slots; slot++) {
        int64_t within = slot % ENTRIES_TO_SECTOR;
        if (within == 0 && device_read(fd, entries, SECTOR, TABLE_AT + slot * (int64_t)sizeof(tier_entry)))
            return -1;
        const tier_entry *entry = &entries[within];
        count += (entry->fill & TIER_DIRTY) && entry->crc == crc_of_entry(found->uuid, slot, entry);
    }
    return count;
}

static void name_dirty(const superblock *found, char name[24]) {
    snprintf(name, 24, "dirty:%02x%02x%02x%02x%02x%02x", found->uuid[0], found->uuid[1], found->uuid[2], found->uuid[3],
             found->uuid[4], found->uuid[5]);
}

static bool label_says(const label *label, const superblock *found, uint64_t generation) {
    return label && label->sound && label->generation == generation &&
           memcmp(label->uuid, found->uuid, sizeof found->uuid) == 0;
}

/* As of this opening, or of the one before where a crash came between the two. */
static bool label_fits(const label *label, const superblock *found) {
    return label_says(label, found, found->generation) || label_says(label, found, FAILING) ||
           (found->back && found->generation > 1 && label_says(label, found, found->generation - 1));
}

/* Why dirty units that were found cannot be served by this cache; NULL where they can. */
static const char *strange(const tier_options *options, const superblock *found) {
    char volume[65] = "";
    cz_sha256_of(options->volume, strlen(options->volume), volume);
    if (!options->back)
        return "give cz-writes=back";
    if (found->unit_bytes != options->unit_bytes || found->slots != options->slots)
        return "give the cz-size and cz-unit that it has";
    if (memcmp(found->volume, volume, sizeof volume) != 0)
        return "it is of another cz-volume";
    return label_fits(options->label, found) ? NULL : "cz-label is of another tier, or of another state of this one";
}

/* A tier with dirty units is served by the cache that it is of, or given up by its name. */
static int check_dirty(const tier_options *options, int fd, bool *discard, cz_error *error) {
    unsigned char sector[SECTOR];
    superblock found;
    char name[24];
    *discard = false;
    if (find_head(fd, sector, &found))
        return CZ_OK;
    if (!is_sound(&found) || label_says(options->label, &found, DESTAGED))
        return CZ_OK;
    int64_t dirty = count_dirty(fd, &found);
    const char *why = strange(options, &found);
    name_dirty(&found, name);
    *discard = options->format && strcmp(options->format, name) == 0;
    if (dirty == 0 || !why || *discard)
        return CZ_OK;
    if (dirty < 0)
        return cz_fail(error, CZ_BAD_CALL,
                       "%s: it may hold data of the volume %.63s that is not on its disk yet, and its table cannot be "
                       "read: %s; cz-format=%s loses it",
                       options->path, found.name, why, name);
    return cz_fail(
        error, CZ_BAD_CALL,
        "%s: it holds %lld bytes of the volume %.63s that are not on its disk yet: %s; cz-format=%s loses them",
        options->path, (long long)(dirty * found.unit_bytes), found.name, why, name);
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
static int open_device(const tier_options *options, cz_error *error, int *fd, bool *wipe, bool *discard) {
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
    code = bytes > 0 ? check_held(options, *fd, bytes, wipe, error) : CZ_OK;
    return code == CZ_OK ? check_dirty(options, *fd, discard, error) : code;
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
    made->back = options->back;
    made->fd = -1;
    made->table_bytes = rounded(options->slots * (int64_t)sizeof(tier_entry));
    made->data_at = TABLE_AT + made->table_bytes > EDGE ? TABLE_AT + made->table_bytes : EDGE;
    made->head.unit_bytes = options->unit_bytes;
    made->head.slots = options->slots;
    cz_sha256_of(options->volume, strlen(options->volume), made->head.volume);
    strncpy(made->head.name, options->volume, sizeof made->head.name - 1);
    strncpy(made->head.digest, options->digest, sizeof made->head.digest - 1);
    pthread_cond_init(&made->synced, NULL);
    made->table = calloc(1, (size_t)made->table_bytes);
    int code = open_device(options, error, &made->fd, &made->wipe, &made->discard);
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

static uint32_t entry_crc(const tier *tier, int64_t slot) {
    return crc_of_entry(tier->head.uuid, slot, &tier->table[slot]);
}

static void put_watermark(const tier *tier, unsigned char at[512]) {
    watermark mark = {.magic = WATER_MAGIC, .fill = tier->water};
    memcpy(mark.uuid, tier->head.uuid, sizeof mark.uuid);
    mark.crc = crc32c(0, &mark, offsetof(watermark, crc));
    memset(at, 0, 512);
    memcpy(at, &mark, sizeof mark);
}

static int write_head(tier *tier, superblock *head) {
    unsigned char sector[SECTOR] = {0};
    head->crc = crc32c(0, head, offsetof(superblock, crc));
    memcpy(sector, head, sizeof *head);
    put_watermark(tier, sector + WATER_AT);
    if (tier->back && (device_write(tier->fd, sector, SECTOR, COPY_AT) || fdatasync(tier->fd)))
        return -1;
    return device_write(tier->fd, sector, SECTOR, 0) || fdatasync(tier->fd) ? -1 : 0;
}

static int read_head(tier *tier, unsigned char sector[SECTOR], superblock *found) {
    watermark mark;
    int unread = find_head(tier->fd, sector, found);
    memcpy(&mark, sector + WATER_AT, sizeof mark);
    tier->water = memcmp(mark.magic, WATER_MAGIC, sizeof mark.magic) == 0 &&
                          mark.crc == crc32c(0, &mark, offsetof(watermark, crc)) &&
                          memcmp(mark.uuid, found->uuid, sizeof mark.uuid) == 0
                      ? mark.fill
                      : 0;
    return unread;
}

/* Whole sectors, so that the device need not be read first. */
static int write_entry(tier *tier, int64_t slot) {
    int64_t sector = slot / ENTRIES_TO_SECTOR;
    tier->table[slot].crc = entry_crc(tier, slot);
    if (!tier->label)
        return 0;
    return device_write(tier->fd, tier->table + sector * ENTRIES_TO_SECTOR, SECTOR, TABLE_AT + sector * SECTOR);
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
    if (boot[0] && memcmp(found->lost, boot, sizeof found->lost) == 0 && !found->back)
        return "the disk failed to flush since the machine was started; until the next start nothing is kept";
    return NULL;
}

static void keep_valid(tier *tier, int64_t backend_bytes) {
    int64_t units = (backend_bytes + tier->unit_bytes - 1) / tier->unit_bytes;
    tier->fills = tier->back ? tier->water : 0;
    for (int64_t slot = 0; slot < tier->slots; slot++) {
        tier_entry *entry = &tier->table[slot];
        if (entry->fill == 0 || entry->crc != entry_crc(tier, slot) || entry->number < 0 || entry->number >= units) {
            *entry = (tier_entry){0};
            continue;
        }
        uint64_t fill = entry->fill & ~TIER_DIRTY;
        tier->fills = fill > tier->fills ? fill : tier->fills;
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

/* A crash must not leave parts of a superblock that nothing shows to be one: the word by which a tier is known comes
 * first. */
static int claim(const tier *tier) {
    unsigned char sector[512] = MAGIC;
    if (begins_as_tier(tier->fd))
        return 0;
    return device_write(tier->fd, sector, sizeof sector, 0) || fdatasync(tier->fd) ? -1 : 0;
}

/* A new uuid makes every entry on the device one of another tier. */
static int begin_anew(tier *tier) {
    if (tier->wipe && wipe_ends(tier))
        return -1;
    static const unsigned char none[SECTOR];
    if (claim(tier))
        return -1;
    if (tier->discard && device_write(tier->fd, none, SECTOR, COPY_AT))
        return -1;
    memset(tier->table, 0, (size_t)tier->table_bytes);
    tier->head.generation = tier->head.stale = 0;
    tier->fills = tier->stamps = tier->water = 0;
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
    if (!(tier->back ? label_fits(tier->label, found) : label_is(tier->label, found->uuid, found->generation)))
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
bool tier_samples_agree(tier *tier, const view *view) {
    if (!tier->sample)
        return true;
    unsigned char *units = malloc(2 * (size_t)tier->unit_bytes);
    int64_t step = tier->slots / SAMPLES > 0 ? tier->slots / SAMPLES : 1;
    bool agree = units != NULL;
    for (int64_t first = 0; first < tier->slots && agree; first += step) {
        int64_t slot = first; /* the first that is in use of each part */
        while (slot < first + step && slot < tier->slots &&
               (tier->table[slot].fill == 0 || (tier->table[slot].fill & TIER_DIRTY)))
            slot++;
        if (slot < first + step && slot < tier->slots)
            agree = agrees(tier, view, slot, units);
    }
    free(units);
    return agree;
}

/* What the device holds, into the table; or why it does not count. */
static const char *take_up(tier *tier, const superblock *found, const view *view) {
    const char *why = tier->discard                              ? "what was not on the disk yet is given up"
                      : label_says(tier->label, found, DESTAGED) ? "the SSD had failed; all of it is on the disk"
                                                                 : foreign(tier, found, view->bytes);
    if (!why)
        why = unproven(tier, found, &tier->sample);
    if (why)
        return why;
    memcpy(tier->head.uuid, found->uuid, sizeof found->uuid);
    tier->head.generation = found->generation;
    if (device_read(tier->fd, tier->table, (size_t)tier->table_bytes, TABLE_AT))
        return "its table cannot be read";
    keep_valid(tier, view->bytes);
    bool doubtful = label_says(tier->label, found, FAILING) || equal(tier->head.disk.boot, found->lost);
    tier->head.stale = doubtful ? tier->fills : found->stale;
    return tier->back || tier_samples_agree(tier, view) ? NULL : "the disk holds something else than the tier";
}

/* The next generation, on both sides, before anything is written to the disk. Between the two neither is believed. */
static int open_generation(tier *tier) {
    tier->head.clean = 0;
    tier->head.generation++;
    if (write_head(tier, &tier->head))
        return -1;
    return tier->label ? label_write(tier->label, tier->head.uuid, tier->head.generation) : 0;
}

void tier_name(tier *tier, const char *export) {
    cz_sha256_of(export, strlen(export), tier->head.export);
    proof_boot(tier->head.disk.boot);
}

int tier_attach(tier *tier, const view *view, const char *export, char note[256]) {
    static const unsigned char blank[SECTOR];
    unsigned char sector[SECTOR] = {0};
    superblock found;
    superblock *head = &tier->head;
    note[0] = 0;
    tier_name(tier, export);
    (void)proof_witness(tier->disk, head->disk.witness); /* "" where it fails: nothing is shown */
    if (tier->label)
        proof_content(tier->disk, view, &head->disk);
    bool named = !tier->back || proof_alone(tier->disk, &head->disk);
    int unread = read_head(tier, sector, &found);
    const char *why = unread ? "its superblock cannot be read" : take_up(tier, &found, view);
    if (is_sound(&found))
        memcpy(head->lost, found.lost, sizeof found.lost);
    bool dirty = why && is_sound(&found) && !tier->discard && !label_says(tier->label, &found, DESTAGED) &&
                 count_dirty(tier->fd, &found) != 0;
    if (dirty) {
        char name[24];
        name_dirty(&found, name);
        snprintf(note, 256, "the SSD tier holds what is not on its disk yet: %s; cz-format=%s loses it", why, name);
        return 1;
    }
    if (why && begin_anew(tier))
        return -1;
    if (why && memcmp(sector, blank, SECTOR) != 0)
        snprintf(note, 256, "the SSD tier begins empty: %s", why);
    if (!named && !note[0])
        snprintf(note, 256,
                 "the disk has no WWN, serial number or inode: after a kill it is known by the UUID on it alone, so "
                 "make no filesystem or partition table through cz-writes=back");
    memcpy(head->magic, MAGIC, sizeof head->magic);
    head->version = VERSION;
    head->back = tier->back;
    head->backend_bytes = view->bytes;
    head->disk.witness[0] = head->disk.ends[0] = 0;
    return open_generation(tier);
}

int tier_clean(tier *tier) {
    tier->cleaned = begin_anew(tier) == 0;
    return tier->cleaned ? 0 : -1;
}

int tier_begin(tier *tier, const struct tier *before, int64_t backend_bytes, const char *identity, bool lost) {
    superblock *head = &tier->head;
    if (!tier->cleaned && begin_anew(tier))
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
        tier->head.back = 0;
        for (int64_t slot = 0; slot < tier->slots; slot++)
            tier->head.back += (tier->table[slot].fill & TIER_DIRTY) != 0;
        memcpy(tier->head.disk.witness, left->witness, sizeof left->witness);
        memcpy(tier->head.disk.ends, left->ends, sizeof left->ends);
        if (!device_write(tier->fd, tier->table, (size_t)tier->table_bytes, TABLE_AT) && !fdatasync(tier->fd))
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

void tier_note(tier *tier, int64_t slot, int64_t number, uint32_t data_crc, bool dirty) {
    tier->table[slot] = (tier_entry){.number = number,
                                     .fill = ++tier->fills | (dirty ? TIER_DIRTY : 0),
                                     .stamp = ++tier->stamps,
                                     .data_crc = data_crc};
    tier->table[slot].crc = entry_crc(tier, slot);
}

void tier_note_clean(tier *tier, int64_t slot) {
    tier->table[slot].fill &= ~TIER_DIRTY;
    tier->table[slot].crc = entry_crc(tier, slot);
}

void tier_note_void(tier *tier, int64_t slot) {
    tier->table[slot] = (tier_entry){0};
}

int tier_write_sector(tier *tier, int64_t slot) {
    int64_t sector = slot / ENTRIES_TO_SECTOR;
    return device_write(tier->fd, tier->table + sector * ENTRIES_TO_SECTOR, SECTOR, TABLE_AT + sector * SECTOR);
}

int tier_sync(tier *tier) {
    return fdatasync(tier->fd);
}

uint64_t tier_fills(const tier *tier) {
    return tier->fills;
}

uint64_t tier_watermark(const tier *tier) {
    return tier->water;
}

int tier_say_watermark(tier *tier, uint64_t fill) {
    unsigned char sector[512];
    if (fill <= tier->water)
        return 0;
    tier->water = fill;
    put_watermark(tier, sector);
    return device_write(tier->fd, sector, sizeof sector, WATER_AT);
}

bool tier_is_stale(const tier *tier, int64_t slot) {
    return !(tier->table[slot].fill & TIER_DIRTY) && tier->table[slot].fill <= tier->head.stale;
}

int tier_say_failing(tier *tier) {
    return label_write(tier->label, tier->head.uuid, FAILING);
}

int tier_say_destaged(tier *tier) {
    tier->failed = true;
    bool said = label_write(tier->label, tier->head.uuid, DESTAGED) == 0;
    return tier_blank(tier) == 0 || said ? 0 : -1;
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
