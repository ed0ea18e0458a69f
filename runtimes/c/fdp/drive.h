/* A namespace of flash with Flexible Data Placement: pages mapped one by one, a reclaim unit open for each placement
 * handle, garbage collection. It keeps no data, only where pages lie. Counts are to the page those of
 * src/cachezoo/kernels/ftl.py, which says where each rule comes from. */
#ifndef CZ_FDP_DRIVE_H
#define CZ_FDP_DRIVE_H

#include <stdbool.h>
#include <stdint.h>

#define FDP_MOST_HANDLES 128

enum fdp_victim { FDP_GREEDY, FDP_COST_BENEFIT };
/* Where copies go: among what the host writes by their handle; to one handle of their own, whatever the host's was
 * (initially isolated); to one of their own for each of the host's (persistently isolated). */
enum fdp_copies { FDP_KEEP, FDP_SHARED, FDP_APART };

typedef struct fdp_settings {
    uint32_t units, unit_pages; /* reclaim units, and the pages of data that one has */
    uint32_t pages;             /* that have an address */
    uint32_t keep_free;         /* units: they are erased until more than so many are free */
    uint32_t handles;           /* that the host may name */
    enum fdp_victim victim;
    enum fdp_copies copies;
} fdp_settings;

typedef struct fdp_counts {
    uint64_t host, copied, erased, trimmed; /* pages; units erased; pages given up that held something */
    uint64_t by_handle[FDP_MOST_HANDLES];   /* that the host wrote */
} fdp_counts;

typedef struct fdp_drive fdp_drive;

/* Units that are open at once. */
uint32_t fdp_open_units(const fdp_settings *settings);
/* What is wrong with settings, NULL where nothing is. */
const char *fdp_wrong(const fdp_settings *settings);
fdp_drive *fdp_new(const fdp_settings *settings); /* NULL: no memory */
void fdp_free(fdp_drive *drive);
/* Write every page once, by address and handle 0; uncounted. */
void fdp_fill(fdp_drive *drive);
void fdp_write(fdp_drive *drive, uint32_t page, uint32_t handle);
void fdp_trim(fdp_drive *drive, uint32_t page);
const fdp_counts *fdp_counted(const fdp_drive *drive);

#endif
