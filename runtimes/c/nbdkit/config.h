/* The options of the filter, and what is made of them. */
#ifndef CZ_CONFIG_H
#define CZ_CONFIG_H

#include "internal.h"
#include "served.h"

typedef struct config {
    char *bundle, *prefetch_bundle, *ssd, *log, *stats; /* paths */
    char *disk, *file; /* the disk's path, as given; the value of the plugin's file=, where that was given once */
    char *format, *label, *key;
    char *prefetch, *volume, *export; /* export: NULL for the one that the plugin gives to who names none */
    int mode;                         /* enum cz_mode; -1: CZ_MODEL with a bundle, else CZ_LRU */
    int64_t size, unit_bytes, block_bytes, window, max_misses;
    int stats_s, files; /* files: how many file= there were */
} config;

/* What lives as long as the filter. */
typedef struct opened {
    cz_bundle *bundles[2];
    cz_stream *streams[2];
    cz_stream names;      /* of the log, where there is no model: holds names alone */
    cz_info info;         /* of the admission */
    const char *prefetch; /* the mode that runs */
    disk disk;
    label label;
    served served;
} opened;

extern const char config_help[];

void config_start(config *config);
void config_free(config *config);
/* 1 where the key is not ours, 0, or -1 after a message. */
int config_take(config *config, const char *key, const char *value);
int config_check(config *config);
const char *config_mode(const config *config);

/* Bundles, streams, policy, tier and log; -1 after a message. */
int open_all(const config *config, opened *opened);
void close_all(opened *opened);

#endif
