/* The options of the filter, and what is made of them. */
#ifndef CZ_CONFIG_H
#define CZ_CONFIG_H

#include <stdint.h>

#include "monitor.h"

/* What decides what is cached; a reload gives another. */
typedef struct choice {
    char *policy, *bundle, *prefetch;
    char *monitor, *models[CZ_MAX_OUTPUTS + 1]; /* models: NULL after the last */
    int mode;                                   /* enum cz_mode; -1: CZ_MODEL with a bundle or policy, else CZ_LRU */
    int64_t window, max_misses;
    int64_t vote_every; /* s; -1: as the monitor's bundle says */
} choice;

typedef struct config {
    choice choice;
    char *ssd, *log, *stats, *control; /* paths */
    char *disk, *file; /* the disk's path, as given; the value of the plugin's file=, where that was given once */
    char *format, *label, *key;
    char *volume, *export; /* export: NULL for the one that the plugin gives to who names none */
    int writes;            /* enum cz_writes; -1: around */
    int64_t size, unit_bytes, block_bytes;
    int64_t write_rate;             /* bytes a second; 0: no budget; -1: not given */
    int64_t dirty_percent, delay_s; /* back; -1: not given */
    int stats_s, files;             /* files: how many file= there were */
} config;

extern const char config_help[];

void config_start(config *config);
void config_free(config *config);
/* 1 where the key is not ours, 0, or -1 and the error. */
int config_take(config *config, const char *key, const char *value, cz_error *error);
/* What does not fit together; defaults are put in. */
int config_check(config *config, cz_error *error);
/* The same of what decides, alone. */
int choice_check(config *config, cz_error *error);
const char *config_mode(const config *config);
const char *config_writes(const config *config);

#endif
