#include <stdlib.h>
#include <string.h>

#include <nbdkit-filter.h>

#include "config.h"
#include "fills.h"
#include "names.h"

#define UNIT_BYTES 4096
#define BLOCK_BYTES 262144

static int open_bundle(const char *path, const char *key, int kind, const char *wanted, cz_bundle **bundle,
                       cz_stream **stream, cz_error *error) {
    int code = cz_open_signed(path, key, CZ_FP32, bundle, error);
    if (code != CZ_OK)
        return code;
    cz_info info;
    cz_bundle_info(*bundle, &info);
    if (info.kind != kind)
        return cz_fail(error, CZ_BAD_CALL, "%s: not a bundle of kind %s", path, wanted);
    cz_stream_options options = {0};
    return cz_stream_new(*bundle, &options, stream, error);
}

static int open_bundles(const config *config, opened *opened, cz_error *error) {
    int code = CZ_OK;
    if (config->bundle)
        code = open_bundle(config->bundle, config->key, CZ_ADMISSION, "admission", &opened->bundles[0],
                           &opened->streams[0], error);
    if (code == CZ_OK && config->prefetch_bundle)
        code = open_bundle(config->prefetch_bundle, config->key, CZ_PREFETCH, "prefetch", &opened->bundles[1],
                           &opened->streams[1], error);
    opened->prefetch = "none";
    for (int k = 1; code == CZ_OK && k >= 0; k--) {
        if (opened->bundles[k] == NULL)
            continue;
        cz_bundle_info(opened->bundles[k], &opened->info);
        if (k == 1 || !opened->bundles[1])
            opened->prefetch = opened->info.prefetch;
    }
    if (config->prefetch)
        opened->prefetch = config->prefetch;
    return code;
}

/* Both streams must know the volume by one number; each has its first name. */
static int name_volume(const config *config, opened *opened, cz_error *error) {
    for (int k = 0; k < 2; k++) {
        int32_t number = opened->streams[k] ? cz_intern(opened->streams[k], CZ_VOLUME, config->volume) : 0;
        if (k == 0)
            opened->served.volume = number;
        if (number < 0 || number != opened->served.volume)
            return cz_fail(error, CZ_BAD_CALL, "cz-volume=%.64s: cannot be a volume's name", config->volume);
    }
    return CZ_OK;
}

static int open_cache(const config *config, opened *opened, cz_error *error) {
    served *served = &opened->served;
    bool model = config->mode == CZ_MODEL;
    served->unit_bytes = model ? opened->info.segment_bytes : config->unit_bytes ? config->unit_bytes : UNIT_BYTES;
    int64_t block = model ? opened->info.block_bytes : config->block_bytes ? config->block_bytes : BLOCK_BYTES;
    if (served->unit_bytes < 1 || served->unit_bytes % 512 || block % served->unit_bytes)
        return cz_fail(error, CZ_BAD_CALL,
                       "segments of %lld bytes in blocks of %lld: whole sectors of 512 bytes, and whole segments to a "
                       "block",
                       (long long)served->unit_bytes, (long long)block);
    served->per_block = block / served->unit_bytes;
    served->n_slots = config->size / served->unit_bytes;
    cz_cache_options options = {.mode = (enum cz_mode)config->mode,
                                .capacity = served->n_slots,
                                .unit_bytes = served->unit_bytes,
                                .block_bytes = block,
                                .window = config->window,
                                .max_misses = config->max_misses,
                                .prefetch = config->prefetch ? config->prefetch
                                            : model          ? NULL
                                                             : "none"};
    int code = cz_cache_new(&options, opened->streams, &served->cache, error);
    if (code != CZ_OK)
        return code;
    served->slots = calloc((size_t)served->n_slots, sizeof *served->slots);
    served->later = calloc((size_t)served->n_slots, sizeof *served->later);
    queue_new(served);
    if (served->slots && served->later)
        return CZ_OK;
    return cz_fail(error, CZ_NO_MEMORY, "no memory for %lld slots", (long long)served->n_slots);
}

/* The disk by its path, where that is known. A plugin's file= may be no path of this machine. */
static int open_disk(const config *config, opened *opened, cz_error *error) {
    struct stat found;
    bool known = config->file && stat(config->file, &found) == 0 && (S_ISREG(found.st_mode) || S_ISBLK(found.st_mode));
    return disk_open(config->disk ? config->disk
                     : known      ? config->file
                                  : NULL,
                     config->disk != NULL, &opened->disk, error);
}

static int open_tier(const config *config, opened *opened, cz_error *error) {
    served *served = &opened->served;
    tier_options options = {.path = config->ssd,
                            .disk = &opened->disk,
                            .format = config->format,
                            .slots = served->n_slots,
                            .unit_bytes = served->unit_bytes,
                            .volume = config->volume,
                            .digest = opened->bundles[0] ? opened->info.model_digest : "",
                            .label = config->label ? &opened->label : NULL};
    served->disk = &opened->disk;
    return tier_open(&options, &served->tier, error);
}

/* A log takes its names from a stream; without a model there is one that holds names alone. */
static int open_log(const config *config, opened *opened, cz_error *error) {
    cz_stream *names = opened->streams[0];
    if (!names) {
        names = &opened->names;
        int code = cz_names_new(1, &names->names);
        if (code != CZ_OK || cz_names_intern(names->names, CZ_VOLUME, config->volume) != 0)
            return cz_fail(error, CZ_BAD_CALL, "cz-volume=%.64s: cannot be a name in the log", config->volume);
    }
    return cz_log_open(config->log, names, &opened->served.log, error);
}

int open_all(const config *config, opened *opened) {
    cz_error error = {0};
    memset(opened, 0, sizeof *opened);
    opened->disk.fd = -1;
    opened->label.fd = -1;
    pthread_mutex_init(&opened->served.lock, NULL);
    pthread_mutex_init(&opened->served.presence, NULL);
    opened->served.start_us = now_ns() / 1000;
    int code = open_bundles(config, opened, &error);
    if (code == CZ_OK)
        code = name_volume(config, opened, &error);
    if (code == CZ_OK)
        code = open_cache(config, opened, &error);
    if (code == CZ_OK)
        code = open_disk(config, opened, &error);
    if (code == CZ_OK)
        code = label_open(config->label, &opened->label, &error);
    if (code == CZ_OK)
        code = open_tier(config, opened, &error);
    if (code == CZ_OK && config->log)
        code = open_log(config, opened, &error);
    if (code == CZ_OK)
        return 0;
    nbdkit_error("cachezoo: %s", error.text);
    close_all(opened);
    return -1;
}

void close_all(opened *opened) {
    served *served = &opened->served;
    cz_error error;
    if (served->log && cz_log_close(served->log, &error) != CZ_OK)
        nbdkit_error("cachezoo: %s", error.text);
    if (served->queue.last) {
        queue_close(served);
        queue_free(served);
    }
    if (served->tier)
        tier_close(served->tier, served_end(served));
    label_close(&opened->label);
    disk_close(&opened->disk);
    cz_cache_free(served->cache);
    cz_names_free(opened->names.names);
    free(served->slots);
    free(served->later);
    for (int k = 0; k < 2; k++) {
        cz_stream_free(opened->streams[k]);
        cz_close(opened->bundles[k]);
    }
    pthread_mutex_destroy(&served->lock);
    pthread_mutex_destroy(&served->presence);
    memset(opened, 0, sizeof *opened);
}
