/* One cache for several tenants: shared under one policy, split for good, or split anew by what each size would save. */
#ifndef CZ_TENANTS_H
#define CZ_TENANTS_H

#include "bytes.h"
#include "queue.h"
#include "reuse_parts.h"

/* ---- a part of fixed size under a classic: tenants_part.c ---- */

typedef struct cz_part {
    cz_memory memory;
    cz_table table; /* keys by tenant */
    cz_classic classic;
    uint32_t *ids; /* by slot: the page's number by first appearance, which W-TinyLFU hashes */
    struct {
        int64_t accesses, ids;
    } n;
} cz_part;

cz_part *cz_part_new(enum cz_classic_name policy, int64_t pages, int64_t remembered); /* NULL without memory */
void cz_part_free(cz_part *part);
/* Serve a tenant's page; returns the outcome, and the page that leaves, if `victim->tenant` is not negative. */
int cz_part_serve(cz_part *part, int32_t tenant, uint64_t key, cz_tenant_page *victim);
/* Whether a restored part is one that pages can have made; adds its pages to those of each tenant. */
bool cz_part_sound(const cz_part *part, int32_t tenants, int64_t *resident);

/* ---- UCP: tenants_ucp.c. Qureshi and Patt, "Utility-based cache partitioning", MICRO 2006 ---- */

typedef struct cz_ucp {
    int32_t count, fragment;
    int64_t total;     /* fragments of the cache */
    cz_queue *queues;  /* of each tenant: its last pages, as many as the cache has */
    cz_link **lists;   /* and those of them that the cache holds: page + CZ_FIRST_SLOT */
    int64_t *split;    /* fragments */
    int64_t *found;    /* [count][total + 1]: references of this window that hit with one fragment more than so many */
    int64_t *misses;   /* [count][total + 1]: with so many fragments; halved after each window */
    int64_t *resident; /* the tenants', which are counted by the caller */
} cz_ucp;

bool cz_ucp_new(cz_ucp *ucp, int32_t count, int32_t fragment, int64_t total, int64_t *resident);
void cz_ucp_free(cz_ucp *ucp);
/* Serve a tenant's page; returns the outcome, and the page that leaves, if `victim->tenant` is not negative. */
int cz_ucp_serve(cz_ucp *ucp, int32_t tenant, uint64_t key, cz_tenant_page *victim);
/* Split anew; writes the pages that leave, and returns how many they are. */
int64_t cz_ucp_split(cz_ucp *ucp, cz_tenant_page *victims);
void cz_ucp_put(const cz_ucp *ucp, cz_writer *out);
/* Into one that is new, of the same sizes; `since` references of its window were counted. */
bool cz_ucp_take(cz_ucp *ucp, int64_t since, cz_bytes *in);

#endif
