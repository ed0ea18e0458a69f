/* What lives as long as the filter, and how it is changed while it runs. */
#ifndef CZ_OPENED_H
#define CZ_OPENED_H

#include "config.h"
#include "internal.h"
#include "served.h"

/* What decides what is cached. */
typedef struct policy {
    cz_bundle *bundle;
    cz_stream *stream;
    cz_bundle *monitor, *models[CZ_MAX_OUTPUTS]; /* of models that take turns, or NULL */
    cz_stream *watches;                          /* of the monitor */
    cz_cache *cache;
    cz_info info;         /* of the bundle */
    const char *prefetch; /* the mode that runs */
    int64_t unit_bytes, per_block;
    bool keeps_rate; /* an admission that keeps cz-write-rate itself, over the horizon of its bundle */
} policy;

typedef struct opened {
    config config;
    pthread_mutex_t changes; /* held before served.lock by whoever changes or prints config, policy or label */
    policy policy;
    cz_stream names; /* of the log: holds names alone */
    disk disk;
    label *label; /* NULL: there is none */
    served served;
} opened;

/* Bundles, streams, policy, tier and log by opened->config; -1 after a message. */
int open_all(opened *opened);
void close_all(opened *opened);

/* As a manifest writes it; "" of a kind that decides nothing here. */
const char *kind_name(int kind);
/* For a cache of so many bytes. Nothing is left to close where it fails. */
int policy_open(const config *config, int64_t bytes, policy *policy, cz_error *error);
void policy_close(policy *policy);
/* Keep a rate of bytes a second from here on, 0: none; with the lock, once there are clients. */
void policy_rate(policy *policy, int64_t rate, served *served);
/* It decides from here on; with the lock, once there are clients. */
void policy_serve(const policy *policy, served *served);
int tier_of(const config *config, opened *opened, const policy *policy, label *label, tier **tier, cz_error *error);
int label_of(const char *path, label **label, cz_error *error);

/* Another policy, while clients read and write. What is resident goes over, in the order of its last use; `kept` counts
 * it. On failure nothing has changed. Takes what it needs out of `next`. */
int change_policy(opened *opened, config *next, int64_t *kept, cz_error *error);
/* Another SSD, which begins empty; what `next` does not name is as before. */
int change_tier(opened *opened, config *next, cz_error *error);

#endif
