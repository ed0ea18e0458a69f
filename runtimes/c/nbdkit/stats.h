/* What the filter counts, and its JSON file. */
#ifndef CZ_STATS_H
#define CZ_STATS_H

#include <stdint.h>

#define STATS_BINS 512

typedef struct stats {
    uint64_t reads, writes, zeroes, trims; /* requests of the clients */
    uint64_t read_bytes, write_bytes;
    uint64_t hits, misses, late; /* units of reads; late: hits whose data was still on its way */
    uint64_t ssd_read_bytes, backend_read_bytes, backend_reads;
    uint64_t admitted, prefetched, evicted, io_units;      /* by the policy */
    uint64_t fills, fill_bytes, abandoned;                 /* units written to the SSD; given up, mostly for a write */
    uint64_t skipped;                                      /* not written: the unit left while its fill waited */
    uint64_t invalidated, settled;                         /* units made invalid; writes that had to wait for that */
    uint64_t corrupt, ssd_errors, failures;                /* units with a wrong CRC; failed I/O; failed calls */
    uint64_t destaged, write_waits, lost_blocks;           /* write-back: units written to the disk; writes that waited for
                                                            * room; units that can be read nowhere */
    uint64_t recovered;                                    /* units that the tier held at the start */
    uint64_t decisions, decision_max_ns, bins[STATS_BINS]; /* times of decisions: 8 bins for each power of two */
} stats;

void stats_decision(stats *stats, uint64_t ns);
/* The time in ns that a share of the decisions kept to, rounded up to the end of its bin; 0 without decisions. */
uint64_t stats_decision_ns(const stats *stats, double share);

typedef struct stats_about {
    const char *mode, *prefetch, *bundle, *digest, *volume;
    int64_t units, resident, unit_bytes, backend_bytes;
    int bypassed; /* the tier has failed */
} stats_about;

/* Whether a file can be made where this one is to be; 0, or errno. */
int stats_check(const char *path);
/* Write the file whole or not at all; 0, or errno. */
int stats_write(const stats *stats, const stats_about *about, const char *path);

#endif
