/* What the workload classifier knows, and the votes of its windows; as src/cachezoo/zoo/workload/known.py and
 * serve.py compute them, numpy's order of sums included. */
#ifndef CZ_MONITOR_H
#define CZ_MONITOR_H

#include "bytes.h"
#include "internal.h"

#define CZ_NO_VOTE (-1)
#define CZ_STRANGE (-2)
#define CZ_MOST_WINDOW (1 << 12) /* requests: each is compared with all before it in its window */
#define CZ_MOST_VOTES (1 << 20)
#define CZ_SECOND_US INT64_C(1000000)
#define CZ_MOST_EVERY ((int64_t)1 << 20) /* s from the beginning of a vote to that of the next */
#define CZ_MOST_MOMENTS (2 * CZ_MAX_FEATURES)

/* Means, and lower triangles that whiten moments, of the windows of each train trace. */
typedef struct cz_known {
    int32_t traces, moments;
    double *numbers; /* of each trace: moments means, then moments * moments of rows, 0 above the diagonal */
} cz_known;

int cz_known_read(const cz_values *values, const char *where, int32_t inputs, cz_known *known, cz_error *error);
void cz_known_free(cz_known *known);
/* How unlike those of every train trace the window is; 0 where nothing is known. rows: [count, moments / 2]. */
double cz_strangeness(const cz_known *known, const float *rows, int32_t count);

typedef struct cz_rule {
    int32_t classes, vote_windows, switch_votes;
    int64_t every_us;                /* from the beginning of a vote to that of the next, at least; 0: they follow */
    double window_above, vote_above; /* strangeness from which a window or a vote is unknown */
} cz_rule;

/* The votes so far. */
typedef struct cz_monitor {
    int32_t windows;  /* of the vote that fills */
    int64_t began_us; /* the latest vote; -1 before the first */
    int64_t every_us; /* in place of the rule's; -1: that */
    int32_t current, candidate, streak;
    int32_t *likeliest, *counts;
    double *strange;
} cz_monitor;

int cz_monitor_new(const cz_rule *rule, cz_monitor *monitor); /* CZ_NO_MEMORY */
void cz_monitor_free(cz_monitor *monitor);
/* Whether the monitor looks at a request: it is one of the vote that fills, or begins one. */
bool cz_monitor_looks(const cz_rule *rule, cz_monitor *monitor, bool fills, int64_t time_us);
/* How many of the requests, from the first on, are looked at where so many make a vote. */
int64_t cz_looked_at(const cz_request *requests, int64_t count, int64_t length, int64_t every_us);
/* What a window is named (-2: unknown), and the vote that it completes (-1: none, -2: unknown). */
void cz_monitor_window(const cz_rule *rule, cz_monitor *monitor, int32_t likeliest, double strange, int32_t *named,
                       int32_t *vote);
void cz_monitor_save(const cz_monitor *monitor, cz_writer *out);
bool cz_monitor_restore(const cz_rule *rule, cz_monitor *monitor, cz_bytes *in);

#endif
