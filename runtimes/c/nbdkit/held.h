/* What a file or device holds, before anything is written to it. */
#ifndef CZ_HELD_H
#define CZ_HELD_H

#include <stdint.h>

#define HELD_NAME 160

/* A name for what lies there, "" where every byte that was looked at is 0:
 * - a filesystem, RAID, LVM, swap or partition table as libblkid knows it, with its UUID where it has one: "ext4:UUID";
 * - anything else: "data:" and the CRC-32C of the first 4 KiB that are not zeros.
 * Of a file all data is looked at; of a device the first and last 4 MiB, and 1,024 pieces between. -1 where it cannot
 * be read. */
int held_name(int fd, int64_t bytes, char name[HELD_NAME]);
/* The same, of what libblkid knows alone. */
int held_signature(int fd, char name[HELD_NAME]);

#endif
