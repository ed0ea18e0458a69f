#include "opened.h"

#include <stdlib.h>
#include <string.h>

#include <nbdkit-filter.h>

#include "back.h"
#include "fills.h"
#include "names.h"
#include "policy.h"

#define UNIT_BYTES 4096
#define BLOCK_BYTES 262144

static int open_bundle(const char *path, const char *key, cz_bundle **bundle, cz_info *info, cz_error *error) {
    int code = cz_open_signed(path, key, CZ_FP32, bundle, error);
    if (code == CZ_OK)
        cz_bundle_info(*bundle, info);
    return code;
}

static bool is_page_cache(int kind) {
    return kind == CZ_POLICY || kind == CZ_REUSE || kind == CZ_CACHING;
}

const char *kind_name(int kind) {
    return kind == CZ_ADMISSION ? "admission"
           : kind == CZ_POLICY  ? "policy"
           : kind == CZ_REUSE   ? "reuse"
           : kind == CZ_CACHING ? "caching"
                                : "";
}

static int open_first(const config *config, policy *policy, cz_error *error) {
    const choice *choice = &config->choice;
    if (choice->policy) {
        int code = cz_policy(choice->policy, &policy->bundle, error);
        if (code == CZ_OK)
            cz_bundle_info(policy->bundle, &policy->info);
        return code;
    }
    int code = open_bundle(choice->bundle, config->key, &policy->bundle, &policy->info, error);
    if (code != CZ_OK)
        return code;
    if (policy->info.kind != CZ_ADMISSION && !is_page_cache(policy->info.kind))
        return cz_fail(error, CZ_BAD_CALL, "%.200s: not a bundle of kind admission, policy, reuse or caching",
                       choice->bundle);
    if (is_page_cache(policy->info.kind) && choice->prefetch)
        return cz_fail(error, CZ_BAD_CALL, "cz-prefetch is for bundles of kind admission");
    if (!is_page_cache(policy->info.kind) && config->writes > CZ_AROUND)
        return cz_fail(error, CZ_BAD_CALL, "cz-writes=%s: a bundle of kind admission caches no writes",
                       config_writes(config));
    return CZ_OK;
}

/* The monitor and the models that take turns. */
static int open_turns(const config *config, policy *policy, cz_error *error) {
    const choice *choice = &config->choice;
    cz_info info;
    int code = open_bundle(choice->monitor, config->key, &policy->monitor, &info, error);
    if (code == CZ_OK && info.kind != CZ_WORKLOAD)
        code = cz_fail(error, CZ_BAD_CALL, "%.200s: not a bundle of kind workload", choice->monitor);
    for (int k = 0; code == CZ_OK && choice->models[k]; k++)
        code = open_bundle(choice->models[k], config->key, &policy->models[k], &info, error);
    if (code == CZ_OK)
        code = cz_stream_new(policy->monitor, NULL, &policy->watches, error);
    if (code == CZ_OK && choice->vote_every >= 0)
        code = cz_vote_every(policy->watches, choice->vote_every);
    if (code == CZ_OK && cz_intern(policy->watches, CZ_VOLUME, config->volume) != 0)
        code = cz_fail(error, CZ_BAD_CALL, "cz-volume=%.64s: cannot be a volume's name", config->volume);
    return code;
}

static int follow_turns(policy *policy, cz_error *error) {
    int32_t count = 0;
    while (count < CZ_MAX_OUTPUTS && policy->models[count])
        count++;
    return cz_cache_follow(policy->cache, policy->watches, (const cz_bundle *const *)policy->models, count, error);
}

/* The stream must know the volume by the number 0, its first name. */
static int open_stream(const config *config, policy *policy, int64_t units, cz_error *error) {
    cz_stream_options options = {.capacity = is_page_cache(policy->info.kind) ? units : 0};
    int code = cz_stream_new(policy->bundle, &options, &policy->stream, error);
    if (code != CZ_OK)
        return code;
    if (cz_intern(policy->stream, CZ_VOLUME, config->volume) != 0)
        return cz_fail(error, CZ_BAD_CALL, "cz-volume=%.64s: cannot be a volume's name", config->volume);
    return CZ_OK;
}

static int find_sizes(const config *config, policy *policy, int64_t *block, cz_error *error) {
    bool flash = policy->bundle == NULL, pages = is_page_cache(policy->info.kind);
    policy->unit_bytes = flash   ? config->unit_bytes ? config->unit_bytes : UNIT_BYTES
                         : pages ? UNIT_BYTES
                                 : policy->info.segment_bytes;
    *block = flash   ? config->block_bytes ? config->block_bytes : BLOCK_BYTES
             : pages ? BLOCK_BYTES
                     : policy->info.block_bytes;
    int64_t unit = policy->unit_bytes;
    if (pages && config->unit_bytes && config->unit_bytes != unit)
        return cz_fail(error, CZ_BAD_CALL, "cz-unit: pages of cz-policy have %lld bytes; leave it out",
                       (long long)unit);
    if (unit < 1 || unit % 512 || *block % unit)
        return cz_fail(error, CZ_BAD_CALL,
                       "segments of %lld bytes in blocks of %lld: whole sectors of 512 bytes, and whole segments to a "
                       "block",
                       (long long)unit, (long long)*block);
    policy->per_block = *block / unit;
    return CZ_OK;
}

static int open_cache(const config *config, int64_t bytes, policy *policy, cz_error *error) {
    const choice *choice = &config->choice;
    int64_t block, units;
    int code = find_sizes(config, policy, &block, error);
    if (code != CZ_OK)
        return code;
    bool pages = is_page_cache(policy->info.kind), flash = policy->bundle == NULL;
    units = bytes / policy->unit_bytes;
    if (policy->bundle)
        code = open_stream(config, policy, units, error);
    cz_cache_options options = {.mode = (enum cz_mode)choice->mode,
                                .capacity = units,
                                .unit_bytes = policy->unit_bytes,
                                .block_bytes = pages ? 0 : block,
                                .window = choice->window,
                                .max_misses = choice->max_misses,
                                .prefetch = choice->prefetch ? choice->prefetch
                                            : flash          ? "none"
                                                             : NULL};
    if (code == CZ_OK && policy->info.kind == CZ_POLICY && cz_policy_ahead(policy->stream) > policy->per_block)
        policy->per_block = cz_policy_ahead(policy->stream); /* what a read may bring besides its own */
    if (code == CZ_OK)
        code = cz_cache_new_writes(&options, (enum cz_writes)(pages ? config->writes : CZ_WRITES_USUAL),
                                   (cz_stream *[2]){policy->stream, NULL}, &policy->cache, error);
    if (code == CZ_OK && policy->watches)
        code = follow_turns(policy, error);
    return code;
}

int policy_open(const config *config, int64_t bytes, policy *policy, cz_error *error) {
    *policy = (struct policy){.prefetch = "none"};
    int code = CZ_OK;
    if (config->choice.mode == CZ_MODEL) {
        code = open_first(config, policy, error);
        if (code == CZ_OK && policy->info.prefetch)
            policy->prefetch = policy->info.prefetch;
        if (code == CZ_OK && config->choice.monitor)
            code = open_turns(config, policy, error);
    }
    if (config->choice.prefetch)
        policy->prefetch = config->choice.prefetch;
    if (code == CZ_OK)
        code = open_cache(config, bytes, policy, error);
    if (code != CZ_OK)
        policy_close(policy);
    return code;
}

/* An admission of an earlier release keeps no rate, nor does another kind: then fills over it are not written. */
void policy_rate(policy *policy, int64_t rate, served *served) {
    cz_error error;
    policy->keeps_rate = policy->info.kind == CZ_ADMISSION && policy->stream &&
                         cz_write_rate(policy->stream, (double)rate, &error) == CZ_OK && rate > 0;
    served->budget.rate = policy->keeps_rate ? 0 : (uint64_t)rate;
}

void policy_close(policy *policy) {
    cz_cache_free(policy->cache);
    cz_stream_free(policy->stream);
    cz_close(policy->bundle);
    cz_stream_free(policy->watches);
    cz_close(policy->monitor);
    for (int k = 0; k < CZ_MAX_OUTPUTS; k++)
        cz_close(policy->models[k]);
    memset(policy, 0, sizeof *policy);
}

void policy_serve(const policy *policy, served *served) {
    served->cache = policy->cache;
    served->holds = is_page_cache(policy->info.kind);
    served->queues = policy->info.kind == CZ_CACHING;
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

int label_of(const char *path, label **label, cz_error *error) {
    *label = NULL;
    if (!path)
        return CZ_OK;
    struct label *made = malloc(sizeof *made);
    if (!made)
        return cz_fail(error, CZ_NO_MEMORY, "%.200s: no memory", path);
    int code = label_open(path, made, error);
    if (code == CZ_OK) {
        *label = made;
        return CZ_OK;
    }
    label_close(made);
    free(made);
    return code;
}

int tier_of(const config *config, opened *opened, const policy *policy, label *label, tier **tier, cz_error *error) {
    int64_t units = config->size / policy->unit_bytes;
    tier_options options = {.path = config->ssd,
                            .disk = &opened->disk,
                            .format = config->format,
                            .slots = config->writes == CZ_BACK ? back_slots(units) : units,
                            .back = config->writes == CZ_BACK,
                            .unit_bytes = policy->unit_bytes,
                            .volume = config->volume,
                            .digest = policy->bundle ? policy->info.model_digest : "",
                            .label = label};
    return tier_open(&options, tier, error);
}

/* The policy's cache, and what is known of each slot. */
static int open_slots(opened *opened, cz_error *error) {
    served *served = &opened->served;
    policy *policy = &opened->policy;
    served->disk = &opened->disk;
    policy_serve(policy, served);
    policy_rate(policy, opened->config.write_rate, served);
    served->through = opened->config.writes == CZ_THROUGH;
    served->unit_bytes = policy->unit_bytes;
    served->per_block = policy->per_block;
    served->n_slots = opened->config.size / policy->unit_bytes;
    served->slots = calloc((size_t)served->n_slots, sizeof *served->slots);
    served->later = calloc((size_t)served->n_slots, sizeof *served->later);
    pthread_cond_init(&served->resumed, NULL);
    queue_new(served);
    if (served->slots && served->later)
        return CZ_OK;
    return cz_fail(error, CZ_NO_MEMORY, "no memory for %lld slots", (long long)served->n_slots);
}

static int open_back(opened *opened, cz_error *error) {
    served *served = &opened->served;
    const config *config = &opened->config;
    back_options options = {.capacity = served->n_slots,
                            .slots = back_slots(served->n_slots),
                            .dirty_percent = config->dirty_percent,
                            .delay_s = config->delay_s};
    if (config->writes != CZ_BACK || back_open(served, &options) == 0)
        return CZ_OK;
    return cz_fail(error, CZ_NO_MEMORY, "no memory for %lld slots", (long long)options.slots);
}

/* A log has names of its own: another policy's streams may come. */
static int open_log(const config *config, opened *opened, cz_error *error) {
    int code = cz_names_new(1, &opened->names.names);
    if (code != CZ_OK || cz_names_intern(opened->names.names, CZ_VOLUME, config->volume) != 0)
        return cz_fail(error, CZ_BAD_CALL, "cz-volume=%.64s: cannot be a name in the log", config->volume);
    return cz_log_open(config->log, &opened->names, &opened->served.log, error);
}

int open_all(opened *opened) {
    cz_error error = {0};
    const config *config = &opened->config;
    opened->disk.fd = -1;
    pthread_mutex_init(&opened->changes, NULL);
    pthread_mutex_init(&opened->served.lock, NULL);
    pthread_mutex_init(&opened->served.presence, NULL);
    opened->served.start_us = now_ns() / 1000;
    int code = policy_open(config, config->size, &opened->policy, &error);
    if (code == CZ_OK)
        code = open_slots(opened, &error);
    if (code == CZ_OK)
        code = open_disk(config, opened, &error);
    if (code == CZ_OK)
        code = label_of(config->label, &opened->label, &error);
    if (code == CZ_OK)
        code = tier_of(config, opened, &opened->policy, opened->label, &opened->served.tier, &error);
    if (code == CZ_OK)
        code = open_back(opened, &error);
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
    back_close(served);
    if (opened->label)
        label_close(opened->label);
    free(opened->label);
    disk_close(&opened->disk);
    policy_close(&opened->policy);
    cz_names_free(opened->names.names);
    free(served->slots);
    free(served->later);
    pthread_mutex_destroy(&served->lock);
    pthread_mutex_destroy(&served->presence);
    pthread_mutex_destroy(&opened->changes);
    memset(&opened->served, 0, sizeof opened->served);
    memset(&opened->names, 0, sizeof opened->names);
    opened->disk = (disk){.fd = -1};
    opened->label = NULL;
}
