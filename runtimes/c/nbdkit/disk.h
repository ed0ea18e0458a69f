/* The disk behind the cache, where it is a file or block device of this machine: its lock, and what it is by any name. */
#ifndef CZ_DISK_H
#define CZ_DISK_H

#include <stdbool.h>
#include <sys/stat.h>

#include "cachezoo.h"

typedef struct disk {
    int fd;     /* -1: the disk is not known here */
    bool shown; /* it is what the plugin shows */
    struct stat found;
} disk;

/* Open and lock the disk; NULL for one that is not known here. `shown`: known to be what the plugin shows. A block device that is mounted is refused, and cannot be
 * mounted from here on. */
int disk_open(const char *path, bool shown, disk *disk, cz_error *error);
void disk_close(disk *disk);
int64_t disk_bytes(const disk *disk); /* -1 where it does not say */

/* Whether two files or devices share any bytes: the same by another name, a disk and its partition, a file and the loop
 * device over it. */
bool disk_same(const struct stat *one, const struct stat *other);
/* What tells a disk from others, whatever it holds: a block device's WWN or serial number and its partition's place, a
 * file's inode and time of birth; "" where there is nothing. */
void disk_identity(const disk *disk, char *text, size_t room);
/* The kernel's count of what was written to the whole disk that a device is of, and which disk it is in this boot; 0
 * where it does not count, or the device is one whose table may change. */
int disk_counts(dev_t device, char *text, size_t room);
/* The file that a loop device lies over; false of another device. */
bool disk_backing(const struct stat *device, struct stat *file);

/* Whether a loop device lies over the file. */
bool disk_is_looped(const struct stat *file);

#endif
