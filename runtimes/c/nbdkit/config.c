#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <nbdkit-filter.h>

const char config_help[] =
    "cz-ssd=FILE           (required) File or block device of the cache, of this disk alone.\n"
    "cz-size=SIZE          (required) Bytes of cached data on it.\n"
    "cz-format=NAME        What lies on cz-ssd may be overwritten; the refusal to do so says its NAME.\n"
    "cz-disk=PATH          File or block device behind the cache (the plugin's file=); it is locked.\n"
    "cz-mode=MODE          lru, rejectx or model; model is the default with cz-bundle, else lru.\n"
    "cz-bundle=PATH        Bundle of kind admission, a folder or a .zip.\n"
    "cz-prefetch-bundle=PATH  Bundle of kind prefetch, beside it.\n"
    "cz-key=FILE           Public key (PEM) of the release that the bundles must be in; else CACHEZOO_KEY's, else\n"
    "                      /etc/cachezoo/key.pub where there is one.\n"
    "cz-prefetch=MODE      none, all_on_miss, all_on_partial, next(n), ml_range or ml_range_when;\n"
    "                      the default is the bundle's, or none.\n"
    "cz-window=N           rejectx: requests within which a second miss is admitted.\n"
    "cz-misses=N           rejectx: misses remembered at most (1048576).\n"
    "cz-unit=SIZE, cz-block=SIZE  lru, rejectx: bytes of a segment and a block (4096, 262144).\n"
    "cz-volume=NAME        The disk's name, for the model, the log and the tier (disk).\n"
    "cz-export=NAME        The export that is cached; others are passed through (the default export).\n"
    "cz-label=FILE         A small file off the SSD, of this disk alone: the tier outlasts kills and crashes.\n"
    "cz-log=FILE           Requests, as a trace.\n"
    "cz-stats=FILE         Counters as JSON, at the end and every cz-stats-interval=SECONDS (10).";

void config_start(config *config) {
    *config = (struct config){.mode = -1, .window = -1, .stats_s = 10};
}

void config_free(config *config) {
    char *texts[] = {config->bundle,   config->prefetch_bundle, config->ssd,    config->log,  config->stats,
                     config->prefetch, config->volume,          config->export, config->disk, config->file,
                     config->format,   config->label,           config->key};
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++)
        free(texts[k]);
    config_start(config);
}

static int take_text(char **text, const char *key, char *value) {
    if (!value)
        return -1; /* nbdkit has said why */
    if (*text || !*value) {
        nbdkit_error("cachezoo: %s is %s", key, *text ? "given twice" : "empty");
        free(value);
        return -1;
    }
    *text = value;
    return 0;
}

static int take_size(int64_t *size, const char *key, const char *value) {
    *size = nbdkit_parse_size(value);
    if (*size > 0)
        return 0;
    if (*size == 0)
        nbdkit_error("cachezoo: %s is 0", key);
    return -1;
}

static int take_count(int64_t *count, const char *key, const char *value, int64_t least) {
    if (nbdkit_parse_int64_t(key, value, count))
        return -1;
    if (*count >= least && *count <= (int64_t)1 << 30)
        return 0;
    nbdkit_error("cachezoo: %s=%s: it must be %lld to %lld", key, value, (long long)least, 1ll << 30);
    return -1;
}

static int take_mode(config *config, const char *value) {
    static const char *const names[] = {[CZ_LRU] = "lru", [CZ_REJECTX] = "rejectx", [CZ_MODEL] = "model"};
    for (int mode = 0; mode <= CZ_MODEL; mode++) {
        if (strcmp(value, names[mode]) == 0) {
            config->mode = mode;
            return 0;
        }
    }
    nbdkit_error("cachezoo: cz-mode=%s: there are lru, rejectx and model", value);
    return -1;
}

static int take_number(config *config, const char *key, const char *value) {
    if (strcmp(key, "cz-size") == 0)
        return take_size(&config->size, key, value);
    if (strcmp(key, "cz-unit") == 0)
        return take_size(&config->unit_bytes, key, value);
    if (strcmp(key, "cz-block") == 0)
        return take_size(&config->block_bytes, key, value);
    if (strcmp(key, "cz-window") == 0)
        return take_count(&config->window, key, value, 0);
    if (strcmp(key, "cz-misses") == 0)
        return take_count(&config->max_misses, key, value, 1);
    if (strcmp(key, "cz-stats-interval") == 0) {
        int64_t seconds = 0;
        int failed = take_count(&seconds, key, value, 1);
        config->stats_s = (int)seconds;
        return failed;
    }
    nbdkit_error("cachezoo: %s is no option of this filter", key);
    return -1;
}

/* The plugin's own option: it passes on. Of several files none is the disk. */
static int note_file(config *config, const char *value) {
    free(config->file);
    config->file = config->files++ == 0 ? nbdkit_absolute_path(value) : NULL;
    return config->files == 1 && !config->file ? -1 : 1;
}

int config_take(config *config, const char *key, const char *value) {
    const struct {
        const char *key;
        char **text;
        bool path;
    } texts[] = {{"cz-bundle", &config->bundle, true},  {"cz-prefetch-bundle", &config->prefetch_bundle, true},
                 {"cz-ssd", &config->ssd, true},        {"cz-log", &config->log, true},
                 {"cz-stats", &config->stats, true},    {"cz-prefetch", &config->prefetch, false},
                 {"cz-volume", &config->volume, false}, {"cz-export", &config->export, false},
                 {"cz-disk", &config->disk, true},      {"cz-format", &config->format, false},
                 {"cz-label", &config->label, true},    {"cz-key", &config->key, true}};
    if (strcmp(key, "file") == 0)
        return note_file(config, value);
    if (strncmp(key, "cz-", 3) != 0)
        return 1;
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
        if (strcmp(key, texts[k].key) == 0)
            return take_text(texts[k].text, key, texts[k].path ? nbdkit_absolute_path(value) : strdup(value));
    }
    if (strcmp(key, "cz-mode") == 0)
        return take_mode(config, value);
    return take_number(config, key, value);
}

int config_check(config *config) {
    const char *wrong = NULL;
    if (config->mode < 0)
        config->mode = config->bundle ? CZ_MODEL : CZ_LRU;
    if (!config->volume && !(config->volume = strdup("disk")))
        wrong = "no memory";
    else if (!config->ssd)
        wrong = "cz-ssd is missing: the file or block device of the cache";
    else if (config->size == 0)
        wrong = "cz-size is missing: the bytes of data that the cache holds";
    else if (config->mode == CZ_MODEL && !config->bundle)
        wrong = "cz-mode=model needs cz-bundle";
    else if (config->mode != CZ_MODEL && (config->bundle || config->prefetch_bundle))
        wrong = "cz-bundle and cz-prefetch-bundle are for cz-mode=model";
    else if (config->key && !config->bundle)
        wrong = "cz-key is of the release that cz-bundle is in; give that too, or leave it out";
    else if (config->mode == CZ_MODEL && (config->unit_bytes || config->block_bytes))
        wrong = "cz-unit and cz-block are the bundle's; leave them out";
    else if ((config->mode == CZ_REJECTX) != (config->window >= 0))
        wrong = config->mode == CZ_REJECTX ? "cz-mode=rejectx needs cz-window" : "cz-window is for cz-mode=rejectx";
    else if (strlen(config->volume) > 255)
        wrong = "cz-volume is longer than 255 bytes";
    if (wrong)
        nbdkit_error("cachezoo: %s", wrong);
    return wrong ? -1 : 0;
}

const char *config_mode(const config *config) {
    return config->mode == CZ_MODEL ? "model" : config->mode == CZ_REJECTX ? "rejectx" : "lru";
}
