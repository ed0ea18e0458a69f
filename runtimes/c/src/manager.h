/* The three-queue cache of kind caching, online: a page has a node, and the node is its slot.
 *
 * The same cache as src/cachezoo/kernels/manager.py, where queue 1 is soon, 2 mean and 3 late, and 0 no queue. */
#ifndef CZ_MANAGER_H
#define CZ_MANAGER_H

#include "internal.h"

#define CZ_QUEUES 3
#define CZ_N_TAGS 4

typedef struct cz_rules {
    int64_t capacity, period; /* pages; page accesses until a page is moved down */
    int64_t percent;          /* of a queue that is protected from moving down */
    bool fill, requeue, single;
} cz_rules;

typedef struct cz_manager cz_manager;

/* What became of a request. */
typedef struct cz_served {
    int64_t hits, admitted, victims, dirty_victims;
    int32_t queue;         /* the decision, -1 where it was not read */
    float tags[CZ_N_TAGS]; /* cached, soon, mean, late: what the model's next request is fed */
} cz_served;

int cz_manager_new(const cz_rules *rules, cz_manager **manager, cz_error *error);
void cz_manager_free(cz_manager *manager);

/* The queue for what a request misses: 0 below the threshold, else that of the likeliest stay. */
int32_t cz_manager_decide(const float outputs[CZ_N_TAGS], float threshold, bool single);

/* Serve pages [first, first + count) of a volume by a decision. `units` takes one entry a page, in their order;
 * `victims` has room for as many. What enters and leaves in one request has no slot; a hit keeps the one it had. */
void cz_manager_serve(cz_manager *manager, int32_t volume, int64_t first, int64_t count, bool write, int32_t queue,
                      cz_unit *units, cz_unit *victims, cz_served *served);

/* Take a page out that no longer holds what the disk does; false where it is not there. It counts as no eviction. */
bool cz_manager_drop(cz_manager *manager, int32_t volume, int64_t number, cz_unit *unit);

/* Another model's rules, for as many pages; its decisions are to follow by cz_manager_requeue. */
void cz_manager_set_rules(cz_manager *manager, const cz_rules *rules);
int64_t cz_manager_accesses(const cz_manager *manager); /* page accesses so far */
/* The queue of the page in a slot, 0 where there is none; and whether it is that page. */
int32_t cz_manager_queue(const cz_manager *manager, int32_t slot);
bool cz_manager_holds(const cz_manager *manager, int32_t slot, int32_t volume, int64_t number);
/* As if every page had entered at its last access by these decisions: the most recent at the head of its queue, its clock
 * begun then; a page that is not wanted goes to the tail of soon. `slots` are all resident pages, the least recently used
 * first; stamps, page accesses before the last request of each, never fall. Returns how many changed their queue. */
int64_t cz_manager_requeue(cz_manager *manager, const int32_t *slots, const uint8_t *queues, const int64_t *stamps,
                           int64_t n);

void cz_manager_stats(const cz_manager *manager, cz_counters *counters);

#endif
