/* What the filter counts, and its JSON: of the file and of the control socket. */
#ifndef CZ_STATS_H
#define CZ_STATS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cachezoo.h"

#define STATS_BINS 512

/* Times: 8 bins for each power of two of ns, of times above the bin's lower end up to its upper. */
typedef struct histogram {
    uint64_t sum_ns, max_ns, bins[STATS_BINS];
} histogram;

/* Of decisions; of reads by where their data came from; of writes. */
enum took { TOOK_DECISION, TOOK_SSD, TOOK_DISK, TOOK_BOTH, TOOK_WRITE, TOOKS };

typedef struct stats {
    uint64_t reads, writes, zeroes, trims; /* requests of the clients */
    uint64_t read_bytes, write_bytes;
    uint64_t hits, misses, late;       /* units of reads; late: hits whose data was not on the SSD */
    uint64_t write_hits, write_misses; /* units of writes, where a write is an access */
    uint64_t ssd_read_bytes, backend_read_bytes, backend_reads;
    uint64_t admitted, prefetched, evicted, io_units; /* by the policy */
    uint64_t fills, fill_bytes, abandoned;            /* units written to the SSD; given up, mostly for a write */
    uint64_t skipped;                                 /* not written: the unit left while its fill waited */
    uint64_t destaged, write_waits, lost_blocks; /* write-back: units written to the disk; writes that waited for room;
                                                  * units that can be read nowhere */
    uint64_t over_budget;                        /* units not written for the budget of writes */
    uint64_t invalidated, settled;               /* units made invalid; writes that had to wait for that */
    uint64_t corrupt, ssd_errors, failures;      /* units with a wrong CRC; failed I/O; failed calls */
    uint64_t recovered;                          /* units that the tier held at the start */
    uint64_t asked_admit, asked_refuse, asked_queues[4]; /* the model's answers */
    uint64_t reloads, attaches;
    histogram took[TOOKS]; /* without the lock */
} stats;

/* Without a lock. */
void stats_took(stats *stats, enum took what, uint64_t ns);
/* A decision, and what the model said if it was asked. */
void stats_decision(stats *stats, uint64_t ns, const cz_access *access, bool queues);
/* All that is not a histogram is the caller's to guard. */
void stats_copy(stats *copy, const stats *stats);
/* The time in ns that a share of them kept to, rounded up to the end of its bin; 0 without any. */
uint64_t stats_share_ns(const histogram *histogram, double share);

typedef struct stats_about {
    const char *version, *writes, *mode, *policy, *kind, *prefetch, *bundle, *digest, *volume, *ssd, *disk, *label;
    const char *bypass_reason, *category, *decides; /* category: of models that take turns, "" where there is none */
    uint64_t takeovers;
    int64_t units, resident, dirty, unit_bytes, backend_bytes;
    uint64_t write_rate;          /* the budget, bytes a second; 0: none */
    double ssd_write_rate;        /* of the last minute */
    double uptime_s, bypassed_at; /* seconds; -1: it is not bypassed */
    bool bypassed, refuses;
} stats_about;

void stats_print(FILE *file, const stats *stats, const stats_about *about);
/* `"key": "text"` */
void stats_text(FILE *file, const char *key, const char *text);
/* Whether a file can be made where this one is to be; 0, or errno. */
int stats_check(const char *path);
/* Write the file whole or not at all; 0, or errno. */
int stats_write(const stats *stats, const stats_about *about, const char *path);

#endif
