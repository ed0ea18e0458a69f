/* Another policy or another SSD, while clients read and write. Everything that takes time is done outside of the lock. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "controller.h"
#include "fills.h"
#include "opened.h"

#define CHUNK 65536 /* slots that are looked at under one hold of the lock */

/* ---- the policy ---- */

/* A unit that is in the tier, as it was when it was looked at. */
typedef struct held {
    int64_t number;
    uint64_t stamp;
    uint32_t turn;
    int32_t slot;
} held;

static int by_stamp(const void *left, const void *right) {
    const held *a = left, *b = right;
    return a->stamp < b->stamp ? -1 : a->stamp > b->stamp;
}

/* A unit's data is on the SSD, or on its way there. */
static bool is_held(const slot_state *state) {
    return state->ready || state->waiting;
}

/* What is held now, oldest first; clients go on meanwhile. */
static held *look(served *served, int64_t *count) {
    held *found = malloc((size_t)served->n_slots * sizeof *found + 1);
    *count = 0;
    for (int64_t first = 0; found && first < served->n_slots; first += CHUNK) {
        pthread_mutex_lock(&served->lock);
        for (int64_t slot = first; slot < first + CHUNK && slot < served->n_slots; slot++) {
            const slot_state *state = &served->slots[slot];
            if (is_held(state) && !served->failed)
                found[(*count)++] = (held){.number = state->number,
                                           .stamp = tier_at(served->tier, slot)->stamp,
                                           .turn = state->turn,
                                           .slot = (int32_t)slot};
        }
        pthread_mutex_unlock(&served->lock);
    }
    if (found)
        qsort(found, (size_t)*count, sizeof *found, by_stamp);
    return found;
}

static bool is_still(const served *served, const held *held) {
    const slot_state *state = &served->slots[held->slot];
    return is_held(state) && state->turn == held->turn;
}

/* What has left since then leaves the new cache, and what has come enters it: under the lock. `taken` has a bit for each
 * slot whose unit the new cache holds. */
static void follow(served *served, cz_cache *cache, const held *before, int64_t count, unsigned char *taken) {
    cz_access access;
    for (int64_t k = 0; k < count; k++) {
        if (taken[before[k].slot] && !is_still(served, &before[k])) {
            taken[before[k].slot] = 0;
            (void)cz_cache_drop(cache, served->volume, before[k].number * served->unit_bytes, served->unit_bytes,
                                &access);
        }
    }
    for (int32_t slot = 0; slot < served->n_slots; slot++) {
        const slot_state *state = &served->slots[slot];
        if (is_held(state) && !taken[slot] && !served->failed)
            taken[slot] = cz_cache_put(cache, served->volume, state->number, slot) == CZ_OK;
    }
}

/* The tier keeps what the new cache holds; a fill whose data is still being read comes too late. */
static int64_t keep_taken(served *served, const unsigned char *taken) {
    int64_t kept = 0;
    for (int32_t slot = 0; slot < served->n_slots; slot++) {
        kept += taken[slot];
        if (!taken[slot])
            served_retire(served, slot);
    }
    return kept;
}

static void swap_texts(char **one, char **other) {
    char *text = *one;
    *one = *other;
    *other = text;
}

/* Another policy decides, and keeps the rate; what was written under it before counts. */
static void take_over(opened *opened, policy *made) {
    const policy before = opened->policy;
    opened->policy = *made;
    policy_serve(&opened->policy, &opened->served);
    policy_rate(&opened->policy, opened->config.write_rate, &opened->served);
    if (before.keeps_rate && opened->policy.keeps_rate)
        cz_controller_carry(opened->policy.stream->controller, before.stream->controller);
    *made = before;
}

static void swap_policy(opened *opened, config *asked, policy *made) {
    choice chosen = opened->config.choice;
    take_over(opened, made);
    opened->config.choice = asked->choice;
    asked->choice = chosen;
}

static int hand_over(opened *opened, config *asked, policy *made, int64_t *kept, cz_error *error) {
    served *served = &opened->served;
    int64_t count;
    held *before = look(served, &count);
    unsigned char *taken = calloc((size_t)served->n_slots, 1);
    if (!before || !taken) {
        free(before);
        free(taken);
        return cz_fail(error, CZ_NO_MEMORY, "no memory to hand over %lld units", (long long)served->n_slots);
    }
    for (int64_t k = 0; k < count; k++)
        taken[before[k].slot] = cz_cache_put(made->cache, served->volume, before[k].number, before[k].slot) == CZ_OK;
    pthread_mutex_lock(&opened->changes);
    pthread_mutex_lock(&served->lock);
    follow(served, made->cache, before, count, taken);
    *kept = keep_taken(served, taken);
    swap_policy(opened, asked, made);
    served->stats.reloads++;
    pthread_mutex_unlock(&served->lock);
    pthread_mutex_unlock(&opened->changes);
    free(before);
    free(taken);
    return CZ_OK;
}

/* A bundle must do here what it did where it was made. */
static int check_bundles(const config *asked, const policy *made, cz_error *error) {
    int code = CZ_OK;
    cz_report report;
    if (made->bundle && !asked->choice.policy)
        code = cz_verify(made->bundle, &report, error);
    if (code == CZ_OK && made->monitor)
        code = cz_verify(made->monitor, &report, error);
    for (int k = 0; k < CZ_MAX_OUTPUTS && code == CZ_OK && made->models[k]; k++)
        code = cz_verify(made->models[k], &report, error);
    return code;
}

static int check_geometry(const served *served, const policy *made, cz_error *error) {
    if (made->unit_bytes != served->unit_bytes)
        return cz_fail(error, CZ_BAD_CALL,
                       "its segments have %lld bytes and those of the tier %lld; it needs a start of its own",
                       (long long)made->unit_bytes, (long long)served->unit_bytes);
    if (made->per_block > served->per_block)
        return cz_fail(
            error, CZ_BAD_CALL,
            "its blocks have %lld segments, and this cache was started for %lld; it needs a start of its own",
            (long long)made->per_block, (long long)served->per_block);
    return CZ_OK;
}

/* LRU and RejectX have the segments and blocks that are there; a bundle has its own, and so has a page cache. */
static void take_geometry(config *asked, const served *served) {
    bool flash = !asked->choice.bundle && !asked->choice.policy;
    asked->unit_bytes = flash ? served->unit_bytes : 0;
    asked->block_bytes = flash ? served->per_block * served->unit_bytes : 0;
}

int change_policy(opened *opened, config *next, int64_t *kept, cz_error *error) {
    const served *served = &opened->served;
    config asked = opened->config;
    policy made;
    if (served->back)
        return cz_fail(error, CZ_BAD_CALL, "with cz-writes=back the policy stays until the next start");
    asked.choice = next->choice;
    asked.key = next->key ? next->key : opened->config.key;
    take_geometry(&asked, served);
    int code = choice_check(&asked, error);
    next->choice = asked.choice;
    if (code == CZ_OK)
        code = policy_open(&asked, served->n_slots * served->unit_bytes, &made, error);
    if (code != CZ_OK)
        return code;
    code = check_geometry(served, &made, error);
    if (code == CZ_OK)
        code = check_bundles(&asked, &made, error);
    if (code == CZ_OK)
        code = hand_over(opened, &asked, &made, kept, error);
    next->choice = asked.choice; /* now that of before, to be freed */
    if (code == CZ_OK && next->key)
        swap_texts(&opened->config.key, &next->key);
    policy_close(&made);
    return code;
}

/* ---- the SSD ---- */

/* What takes the place of the tier, made before anybody waits. */
typedef struct replacement {
    tier *tier;
    label *label; /* that of before where none was given */
    policy policy;
    slot_state *slots;
    int32_t *later;
    int64_t n_slots;
    proof disk; /* what identifies the disk, where the label needs it */
} replacement;

static void close_replacement(replacement *replacement, const opened *opened) {
    tier_close(replacement->tier, NULL);
    if (replacement->label && replacement->label != opened->label) {
        label_close(replacement->label);
        free(replacement->label);
    }
    policy_close(&replacement->policy);
    free(replacement->slots);
    free(replacement->later);
}

static int open_replacement(opened *opened, const config *asked, bool own_label, replacement *replacement,
                            cz_error *error) {
    int code = own_label ? label_of(asked->label, &replacement->label, error) : CZ_OK;
    if (!own_label)
        replacement->label = opened->label;
    if (code == CZ_OK)
        code = policy_open(asked, asked->size, &replacement->policy, error);
    if (code == CZ_OK)
        code = check_geometry(&opened->served, &replacement->policy, error);
    if (code == CZ_OK)
        code = tier_of(asked, opened, &replacement->policy, replacement->label, &replacement->tier, error);
    if (code != CZ_OK)
        return code;
    replacement->n_slots = asked->size / replacement->policy.unit_bytes;
    replacement->slots = calloc((size_t)replacement->n_slots, sizeof *replacement->slots);
    replacement->later = calloc((size_t)replacement->n_slots, sizeof *replacement->later);
    if (!replacement->slots || !replacement->later)
        return cz_fail(error, CZ_NO_MEMORY, "no memory for %lld slots", (long long)replacement->n_slots);
    pthread_mutex_lock(&opened->served.lock); /* the first client may be finding out whether the disk is shown */
    view view = proof_view(&opened->disk);
    bool attached = opened->served.attached;
    pthread_mutex_unlock(&opened->served.lock);
    if (own_label && view.bytes >= 0)
        proof_content(&opened->disk, &view, &replacement->disk);
    if (attached && tier_clean(replacement->tier))
        return cz_fail(error, CZ_IO, "the new SSD cannot be written");
    return CZ_OK;
}

/* Until no request uses the tier and no fill waits; with the lock, which is given up meanwhile. Reads go to the disk,
 * writes wait. */
static void pause_tier(served *served) {
    const struct timespec moment = {.tv_nsec = 500000};
    served->paused = true;
    pthread_mutex_unlock(&served->lock);
    queue_close(served);
    pthread_mutex_lock(&served->lock);
    while (__atomic_load_n(&served->inside, __ATOMIC_ACQUIRE) > 0) {
        pthread_mutex_unlock(&served->lock);
        nanosleep(&moment, NULL);
        pthread_mutex_lock(&served->lock);
    }
}

static void go_on(served *served) {
    served->paused = served->queue.closed = false;
    pthread_cond_broadcast(&served->resumed);
}

/* The new tier is begun, and the old one is not to be believed; with the lock and nobody inside. Where that fails the
 * old one stays, if nothing on it or its label has changed. */
static int turn_over(opened *opened, replacement *replacement, cz_error *error) {
    served *served = &opened->served;
    bool own_label = replacement->label != opened->label;
    int code = 0;
    if (served->attached)
        code = tier_begin(replacement->tier, served->tier, served->backend_bytes, replacement->disk.identity,
                          served->lost.any);
    else if (served->blank)
        code = tier_blank(replacement->tier);
    if (code == TIER_LABEL_FAILED && !own_label)
        served_fail(served, "the label");
    if (code)
        return cz_fail(error, CZ_IO, "%s cannot be written", code == TIER_LABEL_FAILED ? "the label" : "the new SSD");
    bool kill = own_label || !served->attached;
    if (kill && tier_kill(served->tier)) {
        served_fail(served, "the mark of the old SSD");
        return cz_fail(error, CZ_IO,
                       "neither the old SSD nor its label could be marked as invalid; it stays, bypassed");
    }
    if (!kill)
        (void)tier_blank(served->tier); /* the label is of the new one: this is for whoever looks at it */
    return CZ_OK;
}

static void swap_replacement(opened *opened, config *asked, replacement *replacement) {
    served *served = &opened->served;
    struct replacement before = {
        .tier = served->tier, .label = opened->label, .slots = served->slots, .later = served->later};
    served->tier = replacement->tier;
    served->slots = replacement->slots;
    served->later = replacement->later;
    served->n_slots = replacement->n_slots;
    served->n_later = 0;
    take_over(opened, &replacement->policy);
    before.policy = replacement->policy;
    served->failed = served->refuses = false;
    served->errors = 0;
    served->reason[0] = 0;
    served->stats.attaches++;
    opened->label = replacement->label;
    opened->config.size = asked->size;
    *replacement = before;
}

int change_tier(opened *opened, config *next, cz_error *error) {
    served *served = &opened->served;
    config asked = opened->config;
    bool own_label = next->label != NULL;
    replacement replacement = {0};
    if (served->back)
        return cz_fail(
            error, CZ_BAD_CALL,
            "with cz-writes=back the SSD may hold what the disk does not; stop the cache, and start it with the "
            "other SSD");
    asked.ssd = next->ssd;
    asked.format = next->format;
    asked.size = next->size ? next->size : asked.size;
    asked.label = own_label ? next->label : asked.label;
    take_geometry(&asked, served);
    int code = CZ_OK;
    pthread_mutex_lock(&served->presence);
    pthread_mutex_lock(&served->lock);
    bool failed = served->failed;
    if (!failed && strcmp(asked.ssd, opened->config.ssd) == 0)
        code = cz_fail(error, CZ_BAD_CALL, "%.200s: it is the SSD in use", asked.ssd);
    if (failed) { /* the same device may come back */
        pause_tier(served);
        tier_release(served->tier);
        go_on(served);
    }
    pthread_mutex_unlock(&served->lock);
    pthread_mutex_unlock(&served->presence);
    if (code == CZ_OK)
        code = open_replacement(opened, &asked, own_label, &replacement, error);
    if (code == CZ_OK) {
        pthread_mutex_lock(&opened->changes);
        pthread_mutex_lock(&served->presence);
        pthread_mutex_lock(&served->lock);
        pause_tier(served);
        code = turn_over(opened, &replacement, error);
        if (code == CZ_OK) {
            swap_replacement(opened, &asked, &replacement);
            swap_texts(&opened->config.ssd, &next->ssd);
            if (own_label)
                swap_texts(&opened->config.label, &next->label);
        }
        go_on(served);
        pthread_mutex_unlock(&served->lock);
        pthread_mutex_unlock(&served->presence);
        pthread_mutex_unlock(&opened->changes);
    }
    close_replacement(&replacement, opened);
    return code;
}
