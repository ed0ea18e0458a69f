/* The whole page cache of a reuse model: its parts, and the model that it runs. */
#ifndef CZ_REUSE_CACHE_H
#define CZ_REUSE_CACHE_H

#include "reuse.h"
#include "reuse_parts.h"

enum { CZ_MOST_SHADOWS = 3, CZ_MOST_QUANTILES = 255, CZ_MOST_CLASSES = 256 };

typedef struct cz_reuse_model {
    cz_forest *forest;
    float quantiles[CZ_MOST_QUANTILES];
    double *counts; /* [2][classes][CZ_AGES]: events, risks */
    struct {        /* what a stream keeps to: a model that takes over has to have the same */
        int32_t quantiles, classes, shadows, experts;
        int32_t shadow[CZ_MOST_SHADOWS], expert[CZ_MOST_EXPERTS - 1]; /* enum cz_classic_name */
        int64_t candidates, own_trees, own_rows, own_pace, seed;
        double half_life, lead, price, head_start;
    } plan;
} cz_reuse_model;

int cz_reuse_model_new(const cz_bundle *bundle, const cz_values *values, enum cz_precision precision, void **model,
                       cz_error *error);
void cz_reuse_model_free(void *model);

typedef struct cz_reuse {
    cz_memory memory;
    cz_table table;
    cz_page *pages;
    cz_past past;
    cz_own own;
    cz_worth worth;
    cz_classic shadows[CZ_MOST_SHADOWS], experts[CZ_MOST_EXPERTS - 1];
    cz_follow follow;
    int n_shadows, n_experts;
    cz_seen_access *accesses; /* of the present request, with its rows and what became of its pages */
    float *rows, *scores;
    cz_reuse_page *served;
    struct {
        uint64_t requests, hits, admitted, bypassed, evicted, dirty_evicted;
        int64_t accesses, end; /* page accesses so far; the byte at which the last request ended */
        uint32_t ids;
        int32_t volume;
    } n;
} cz_reuse;

/* Pages that must be remembered at least: the caches and their ghosts, and a request's. */
int64_t cz_reuse_least_keys(const cz_reuse_model *model, int64_t capacity);
/* NULL without memory; where `limit` is not 0, also where it takes more bytes than that, which `large` then says. */
cz_reuse *cz_reuse_new(const cz_reuse_model *model, int64_t capacity, int64_t most_keys, int32_t processes,
                       size_t limit, bool *large);
void cz_reuse_free(cz_reuse *cache);
bool cz_reuse_sound(const cz_reuse *cache); /* as restored */
/* Serve a request, whose flags are bits of reuse_parts.h; `given` are scores in place of the forest's, or NULL. */
int cz_reuse_serve(cz_reuse *cache, const cz_reuse_model *model, const cz_request *request, int flags,
                   const float *given, int64_t *pages);
int cz_reuse_flags(const char *text); /* bits of a request's flags as block traces write them; NULL: unknown */

#endif
