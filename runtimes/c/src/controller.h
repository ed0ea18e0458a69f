/* A write rate that is kept: the threshold of an admission follows what was written and what could have been.
 * Source: src/cachezoo/kernels/write_budget.py, which it equals bit for bit. */
#ifndef CZ_CONTROLLER_H
#define CZ_CONTROLLER_H

#include "internal.h"

#define CZ_MOST_BINS 4096

/* calibration.controller of a bundle; `there` is false of bundles that have none. */
typedef struct cz_control_rules {
    bool there, follows_load;
    int64_t bins;
    double low, width, step, keep, keep_recent, hold, horizon_us, credit;
} cz_control_rules;

int cz_control_read(const cz_values *values, cz_control_rules *rules, cz_error *error);

struct cz_controller {
    cz_control_rules rules;
    double bytes_s, rate; /* that are kept; segments a microsecond */
    bool begun;           /* a read has missed since the threshold to begin with was set */
    double threshold, start, last, written, misses, since, count, span, recent, recent_span, promised, wrote, ahead;
    double mass[CZ_MOST_BINS]; /* missed segments by score */
};

/* It begins with a threshold; NULL where there is no memory. */
cz_controller *cz_controller_new(const cz_control_rules *rules, double threshold);
/* Keep a rate from here on: the balance is even. */
void cz_controller_rate(cz_controller *controller, double bytes_s, int64_t segment_bytes);
/* Another threshold to begin with, where it has not begun. */
void cz_controller_begin(cz_controller *controller, double threshold);
/* What was written under another one's rate, the same, counts here. */
void cz_controller_carry(cz_controller *controller, const cz_controller *from);
/* Another model's scores come: what is known of scores goes, the balance stays. */
void cz_controller_follow(cz_controller *controller, const cz_control_rules *rules, double threshold);
/* A read of that score has missed so many segments, for which so many were written, prefetched ones included. */
void cz_controller_missed(cz_controller *controller, int64_t time_us, double score, int64_t missing, int64_t written);

#endif
