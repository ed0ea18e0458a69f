/* The virtual I/O cache: which positions of a replacement queue are in the cache. Frasca, Prabhakar, Raghavan and Kandemir,
 * "Virtual I/O caching: dynamic storage cache management for concurrent workloads", SC '11. */
#ifndef CZ_VIRTUAL_H
#define CZ_VIRTUAL_H

#include "queue.h"
#include "saved.h"

#define CZ_MOST_FRAGMENT (1 << 16)
#define CZ_MOST_QUANTUM ((int64_t)1 << 40)
#define CZ_MOST_COST 1e6
#define CZ_VIRTUAL_PAGE_BYTES 4096

/* ---- VPA: which fragments are mapped: virtual_map.c ---- */

/* Ids, the least rank first, then the least tie. */
typedef struct cz_ranked {
    double rank;
    int32_t tie, id;
} cz_ranked;
typedef struct cz_ranks {
    cz_ranked *entries;
    int32_t used;
} cz_ranks;

/* Room to choose in, for queues of at most so many fragments; nothing in it outlasts a call. */
typedef struct cz_work {
    int32_t fragments;
    uint8_t *mapped, *waiting,
        *grown;                  /* by fragment: in the cache, next to a run; by run: it grew since it was summed */
    int32_t *low, *high, *owner; /* fragments of each run, and at a run's first and last fragment the run */
    double *chosen;
    cz_ranks least, near;
} cz_work;

/* What is worth how much in a queue. */
typedef struct cz_worth_of {
    const double *value, *crossings;
    int32_t fragments, runs;
    double cost;
} cz_worth_of;

bool cz_work_new(cz_work *work, int32_t fragments);
void cz_work_free(cz_work *work);
size_t cz_work_bytes(const cz_work *work);
/* Choose k fragments, 1 <= k <= all; writes their runs, the nearest to the head first, and returns how many there are. */
int cz_allocate(const cz_worth_of *of, int32_t k, cz_work *work, cz_run runs[CZ_MOST_RUNS], double *worth);

/* ---- one queue and its cache: virtual_view.c ---- */

typedef struct cz_view {
    cz_virtual_settings settings; /* without the profile */
    cz_queue queue;
    int32_t fragments, n_runs;
    double *value, *crossings; /* by fragment: hits; pages that crossed its beginning, up to the last quantum */
    int64_t *change;           /* by how many this quantum's crossings differ from those of the fragment before */
    cz_run runs[CZ_MOST_RUNS]; /* positions in the cache */
} cz_view;

/* Refuse settings of a cache of at least so many pages; `who` begins the line. */
int cz_view_check(const cz_virtual_settings *settings, int64_t least, const char *who, cz_error *error);
int32_t cz_view_fragments(const cz_virtual_settings *settings);
bool cz_view_new(cz_view *view, const cz_virtual_settings *settings); /* checked; false without memory */
void cz_view_free(cz_view *view);
size_t cz_view_bytes(const cz_view *view);
cz_move cz_view_reference(cz_view *view, uint64_t key, cz_place *place);
/* Map k fragments and so many pages more; returns how many pages are read for it. */
int64_t cz_view_map(cz_view *view, int64_t capacity, cz_work *work);
double cz_view_worth(const cz_view *view, int32_t k, cz_work *work);
void cz_view_tally(cz_view *view); /* at a quantum's end, before mapping */
void cz_view_decay(cz_view *view); /* and after it */

/* ---- saved: virtual_state.c, queue_state.c ---- */

/* What a view remembers but for its profile: settings, pages in order, values and runs. NULL at asks how many bytes. */
void cz_view_put(const cz_view *view, cz_writer *out);
/* Into a view that is new and of the same settings; false where the bytes are none of such a view. */
bool cz_view_take(cz_view *view, cz_bytes *in);
int64_t cz_view_mapped(const cz_view *view); /* positions in the cache */
/* A state with its head and checksum: views, and so many whole numbers of the caller's. */
int cz_views_save(const cz_view *views, int32_t count, const int64_t *numbers, int32_t n_numbers, const char *path,
                  cz_error *error);
int cz_views_restore(cz_view *views, int32_t count, int64_t *numbers, int32_t n_numbers, const char *path,
                     cz_error *error);

/* ---- a cache alone: virtual.c ---- */

/* Serve a page; returns the position that it has afterwards. */
int32_t cz_virtual_page(cz_virtual *cache, uint64_t key, cz_place *place);
size_t cz_virtual_bytes(const cz_virtual *cache);
int32_t cz_virtual_length(const cz_virtual *cache); /* pages in the queue */

/* ---- kind virtual: kind_virtual.c ---- */

/* What became of a page of a request. */
typedef struct cz_virtual_access {
    cz_place place;
    bool kept; /* it is in the cache afterwards */
} cz_virtual_access;

/* Serve a request of a stream of kind virtual; `pages` is valid until its next call. */
int cz_virtual_serve(cz_stream *stream, const cz_request *request, const cz_virtual_access **pages, int64_t *n);

#endif
