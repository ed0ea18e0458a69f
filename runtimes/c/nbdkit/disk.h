/* The disk behind the cache, where it is a file or block device of this machine: its lock, and what it is by any name. */
#ifndef CZ_DISK_H
#define CZ_DISK_H

#include <stdbool.h>
#include <sys/stat.h>

#include "cachezoo.h"

typedef struct disk {
    int fd; /* -1: the disk is not known here */
    char *path;
    struct stat found;
} disk;

/* Open and lock the disk; NULL for one that is not known here. A block device that is mounted is refused, and cannot be
 * mounted from here on. */
int disk_open(const char *path, disk *disk, cz_error *error);
void disk_close(disk *disk);

/* Whether two files or devices share any bytes: the same by another name, a disk and its partition, a file and the loop
 * device over it. */
bool disk_same(const struct stat *one, const struct stat *other);
/* Whether a loop device lies over the file. */
bool disk_is_looped(const struct stat *file);

#endif
