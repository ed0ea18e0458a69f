/* The whole page cache of kind policy. */
#ifndef CZ_POLICY_CACHE_H
#define CZ_POLICY_CACHE_H

#include "policy_parts.h"

#define CZ_POLICY_MOST_CAPACITY (INT64_C(1) << 29)

/* Pages and ghosts that the eviction holds, and two. */
int64_t cz_policy_least(const cz_policy_plan *plan, int64_t capacity);
/* `keys`: pages known at once, 0: as many as it needs. */
int cz_policy_new(const cz_policy_plan *plan, int64_t capacity, int64_t keys, cz_composed **made, cz_error *error);
void cz_policy_free(cz_composed *p);
int cz_policy_serve(cz_composed *p, const cz_request *request,
                    int64_t *pages);                                     /* what became of them is in p->served */
int32_t cz_policy_other(cz_composed *p, int32_t volume, int64_t number); /* as cz_policy_turn */
bool cz_policy_fill(cz_composed *p, int32_t volume, int64_t number, int32_t slot);
void cz_policy_counters(const cz_composed *p, cz_counters *counters);

#endif
