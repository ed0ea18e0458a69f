#include "disk.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <linux/fs.h>

#include "internal.h"

#define LAYERS 8 /* loop devices over each other that are looked through */

/* A file of sysfs about a block device, without its last newline; false where there is none. */
static bool about(dev_t device, const char *name, char *text, size_t room) {
    char path[128];
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u/%s", major(device), minor(device), name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, room - 1);
    if (fd >= 0)
        close(fd);
    if (got < 0)
        return false;
    text[got] = 0;
    if (got > 0 && text[got - 1] == '\n')
        text[got - 1] = 0;
    return true;
}

/* The disk that a partition is of; another device is itself. */
static dev_t whole_of(dev_t device) {
    char text[64];
    unsigned first, second;
    if (!about(device, "partition", text, sizeof text) || !about(device, "../dev", text, sizeof text) ||
        sscanf(text, "%u:%u", &first, &second) != 2)
        return device;
    return makedev(first, second);
}

static bool backing_of(dev_t device, struct stat *file) {
    char path[4096];
    return about(device, "loop/backing_file", path, sizeof path) && stat(path, file) == 0;
}

bool disk_backing(const struct stat *device, struct stat *file) {
    return backing_of(whole_of(device->st_rdev), file);
}

int disk_counts(dev_t device, char *text, size_t room) {
    char sequence[64], counts[512], on[8];
    unsigned long long written, discarded;
    dev_t whole = whole_of(device);
    if (about(whole, "dm/uuid", counts, sizeof counts) || about(whole, "md/level", counts, sizeof counts) ||
        !about(whole, "diskseq", sequence, sizeof sequence) || !about(whole, "stat", counts, sizeof counts) ||
        !about(whole, "queue/iostats", on, sizeof on) || strcmp(on, "1") != 0 ||
        sscanf(counts, "%*u %*u %*u %*u %*u %*u %llu %*u %*u %*u %*u %*u %*u %llu", &written, &discarded) != 2)
        return 0;
    char bytes[64] = "";
    (void)about(device, "size", bytes, sizeof bytes);
    return snprintf(text, room, "disk %u:%u %s %s %llu %llu", major(device), minor(device), sequence, bytes, written,
                    discarded);
}

/* A file system's own id is not in it: it may be another after a restart of the machine. */
static void identify_file(int fd, char *text, size_t room) {
    struct statx found;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &found) || !(found.stx_mask & STATX_BTIME))
        return;
    snprintf(text, room, "file %llu %lld %u", (unsigned long long)found.stx_ino, (long long)found.stx_btime.tv_sec,
             found.stx_btime.tv_nsec);
}

void disk_identity(const disk *disk, char *text, size_t room) {
    static const char *const names[] = {"wwid", "device/wwid", "device/serial", "serial"};
    char known[256], start[64] = "";
    text[0] = 0;
    if (!disk->shown)
        return;
    if (!S_ISBLK(disk->found.st_mode)) {
        identify_file(disk->fd, text, room);
        return;
    }
    (void)about(disk->found.st_rdev, "start", start, sizeof start);
    for (size_t k = 0; k < sizeof names / sizeof names[0] && !text[0]; k++) {
        if (about(whole_of(disk->found.st_rdev), names[k], known, sizeof known) && known[0])
            snprintf(text, room, "disk %s %s", known, start);
    }
}

/* What a loop device lies over, through all layers; anything else is itself. */
static struct stat base_of(const struct stat *found) {
    struct stat base = *found, file;
    for (int layer = 0; layer < LAYERS && S_ISBLK(base.st_mode); layer++) {
        if (!backing_of(whole_of(base.st_rdev), &file))
            break;
        base = file;
    }
    return base;
}

bool disk_same(const struct stat *one, const struct stat *other) {
    struct stat a = base_of(one), b = base_of(other);
    if (S_ISBLK(a.st_mode) && S_ISBLK(b.st_mode)) {
        dev_t whole_a = whole_of(a.st_rdev), whole_b = whole_of(b.st_rdev);
        return a.st_rdev == b.st_rdev || (whole_a == whole_b && (whole_a == a.st_rdev || whole_b == b.st_rdev));
    }
    return S_ISREG(a.st_mode) && S_ISREG(b.st_mode) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool disk_is_looped(const struct stat *file) {
    glob_t loops;
    bool found = false;
    if (glob("/sys/block/loop*/loop/backing_file", 0, NULL, &loops) != 0)
        return false;
    for (size_t k = 0; k < loops.gl_pathc && !found; k++) {
        char path[4096];
        struct stat backing;
        FILE *text = fopen(loops.gl_pathv[k], "re");
        if (text && fgets(path, sizeof path, text)) {
            path[strcspn(path, "\n")] = 0;
            found = stat(path, &backing) == 0 && backing.st_dev == file->st_dev && backing.st_ino == file->st_ino;
        }
        if (text)
            fclose(text);
    }
    globfree(&loops);
    return found;
}

int disk_open(const char *path, bool shown, disk *disk, cz_error *error) {
    *disk = (struct disk){.fd = -1};
    if (!path)
        return CZ_OK;
    disk->shown = shown;
    if (stat(path, &disk->found))
        return cz_fail(error, CZ_IO, "%s: %s", path, strerror(errno));
    bool block = S_ISBLK(disk->found.st_mode);
    if (!block && !S_ISREG(disk->found.st_mode))
        return cz_fail(error, CZ_BAD_CALL, "%s: neither a file nor a block device", path);
    disk->fd = open(path, O_RDONLY | O_CLOEXEC | (block ? O_EXCL : 0));
    if (disk->fd < 0)
        return cz_fail(error, CZ_IO, "%s: %s", path,
                       block && errno == EBUSY ? "it is mounted, or another program uses it" : strerror(errno));
    if (flock(disk->fd, LOCK_EX | LOCK_NB))
        return cz_fail(error, CZ_IO, "%s: %s", path,
                       errno == EWOULDBLOCK ? "another cache uses this disk" : strerror(errno));
    return CZ_OK;
}

int64_t disk_bytes(const disk *disk) {
    struct stat found;
    uint64_t bytes;
    if (S_ISBLK(disk->found.st_mode))
        return ioctl(disk->fd, BLKGETSIZE64, &bytes) ? -1 : (int64_t)bytes;
    return fstat(disk->fd, &found) ? -1 : (int64_t)found.st_size;
}

void disk_close(disk *disk) {
    if (disk->fd >= 0)
        close(disk->fd);
    *disk = (struct disk){.fd = -1};
}
