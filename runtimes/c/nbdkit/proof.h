/* What identifies a disk, and shows that nobody has written to it. All are SHA-256 as text, "" where there is
 * nothing of the kind. */
#ifndef CZ_PROOF_H
#define CZ_PROOF_H

#include <stdint.h>

#include "disk.h"

/* The disk as it is read through the plugin. */
typedef struct view {
    int64_t bytes;
    void *next;
    int (*read)(void *next, void *data, uint32_t count, uint64_t offset, int *err);
} view;

typedef struct proof {
    char boot[40];     /* of the machine; not hashed */
    char witness[65];  /* changes with every write to the disk, within a boot: see proof_witness */
    char identity[65]; /* of the disk, whatever it holds: WWN or inode, and UUIDs on it */
    char ends[65];     /* its first and last MiB, where filesystems count their mounts and writes */
} proof;

/* Whether the plugin's file= is the disk: it has the same size and beginning. A path of cz-disk= is taken for it. */
void proof_begin(disk *disk, const view *view);
void proof_boot(char boot[40]);
/* The kernel's account of the disk, after what was written to it has reached it. Of a file: its inode, size and times; of
 * a block device: the boot, which of the devices since then it is, and the sectors written and discarded. A later write,
 * by whatever program, makes another. "" of a device mapper's or RAID device, whose table may change beneath.
 * -1 where what was written could not reach the disk. */
int proof_witness(const disk *disk, char witness[65]);
/* Identity and ends, read through the plugin. */
void proof_content(const disk *disk, const view *view, proof *proof);
/* Where the disk has a name of its own (WWN or inode), that alone is its identity: what the cache itself writes to the disk,
 * such as another filesystem, does not change it. False where it has none. */
bool proof_alone(const disk *disk, proof *proof);
/* The disk read by its path, where that shows what the plugin does; else of -1 bytes. */
view proof_view(disk *disk);

#endif
