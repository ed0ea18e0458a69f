#include "controller.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_MISSES ((int64_t)1 << 30)
#define PLACE "calibration.controller"
#define LEAST_RATIO 0.25
#define LEAST_LOAD 0.5
#define MOST_LOAD 2.0
#define MOST_DEBT 4.0 /* horizons */

static int unfit(const char *what, cz_error *error) {
    return cz_fail(error, CZ_BAD_BUNDLE, PLACE ": %s; export the bundle again", what);
}

int cz_control_read(const cz_values *values, cz_control_rules *rules, cz_error *error) {
    static const char *const counts[] = {PLACE ".step_misses", PLACE ".window_misses", PLACE ".recent_misses"};
    const cz_json *follows = cz_values_get(values, PLACE ".follows_load");
    int64_t misses[3] = {0}, hold = 0;
    double horizon_s = 0;
    *rules = (cz_control_rules){0};
    if (!cz_values_get(values, PLACE)) /* bundles of earlier releases */
        return CZ_OK;
    int code = cz_values_whole(values, PLACE ".bins", 1, CZ_MOST_BINS, &rules->bins, error);
    for (int k = 0; code == CZ_OK && k < 3; k++)
        code = cz_values_whole(values, counts[k], 1, MOST_MISSES, &misses[k], error);
    if (code == CZ_OK)
        code = cz_values_whole(values, PLACE ".hold_misses", 0, MOST_MISSES, &hold, error);
    if (code == CZ_OK)
        code = cz_values_number(values, PLACE ".low", &rules->low, error);
    if (code == CZ_OK)
        code = cz_values_number(values, PLACE ".width", &rules->width, error);
    if (code == CZ_OK)
        code = cz_values_number(values, PLACE ".horizon_s", &horizon_s, error);
    if (code == CZ_OK)
        code = cz_values_number(values, PLACE ".credit_horizons", &rules->credit, error);
    if (code != CZ_OK)
        return code;
    if (!follows || follows->type != CZ_JSON_BOOL)
        return unfit("follows_load is neither true nor false", error);
    if (!(rules->width > 0 && horizon_s > 0 && rules->credit > 0))
        return unfit("width, horizon_s and credit_horizons must be above 0", error);
    if (misses[0] > misses[1] || misses[0] > misses[2])
        return unfit("a step is longer than what it remembers", error);
    rules->there = true;
    rules->follows_load = follows->truth;
    rules->step = (double)misses[0];
    rules->keep = 1.0 - (double)misses[0] / (double)misses[1];
    rules->keep_recent = 1.0 - (double)misses[0] / (double)misses[2];
    rules->hold = (double)hold;
    rules->horizon_us = horizon_s * 1e6;
    return CZ_OK;
}

cz_controller *cz_controller_new(const cz_control_rules *rules, double threshold) {
    cz_controller *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->rules = *rules;
    made->threshold = threshold;
    return made;
}

void cz_controller_rate(cz_controller *own, double bytes_s, int64_t segment_bytes) {
    own->bytes_s = bytes_s;
    own->rate = bytes_s / (double)segment_bytes / 1e6;
    own->written = own->rate * (own->last - own->start);
}

void cz_controller_begin(cz_controller *own, double threshold) {
    if (!own->begun)
        own->threshold = threshold;
}

void cz_controller_carry(cz_controller *own, const cz_controller *from) {
    own->start = from->start;
    own->last = from->last;
    own->written = from->rate > 0 ? from->written / from->rate * own->rate : 0;
    own->misses = from->misses > 0;
}

void cz_controller_follow(cz_controller *own, const cz_control_rules *rules, double threshold) {
    if (rules->there)
        own->rules = *rules;
    memset(own->mass, 0, sizeof own->mass);
    own->begun = false;
    own->threshold = threshold;
    own->since = own->count = own->span = own->recent = own->recent_span = 0;
    own->promised = own->wrote = own->ahead = 0;
    own->misses = own->misses > 0; /* the start is known; the first threshold is held once more */
}

static double allowed(const cz_controller *own, double balance) {
    const cz_control_rules *rules = &own->rules;
    double load = 1.0, ratio = 1.0, share = own->recent_span / own->recent / rules->horizon_us;
    if (rules->follows_load && own->recent_span > 0.0) {
        load = sqrt((own->span * own->recent) / (own->count * own->recent_span));
        load = load < LEAST_LOAD ? LEAST_LOAD : load > MOST_LOAD ? MOST_LOAD : load;
    }
    if (share > 1.0)
        share = 1.0;
    if (own->promised > 0.0) {
        ratio = own->wrote / own->promised;
        ratio = ratio < LEAST_RATIO ? LEAST_RATIO : ratio;
    }
    double each = own->rate * own->span / own->count * load + balance * share;
    return each * own->count / ratio;
}

static void set_threshold(cz_controller *own, double allowed) {
    const cz_control_rules *rules = &own->rules;
    double left = allowed;
    own->threshold = INFINITY;
    own->ahead = 0.0;
    if (!(left > 0.0))
        return;
    own->threshold = -INFINITY;
    for (int64_t b = rules->bins - 1; b >= 0; b--) {
        if (own->mass[b] > left) {
            own->threshold = rules->low + rules->width * (double)(b + 1) - rules->width * (left / own->mass[b]);
            left = 0.0;
            break;
        }
        left -= own->mass[b];
    }
    own->ahead = (allowed - left) / own->count * rules->step;
}

static void step(cz_controller *own, double now) {
    const cz_control_rules *rules = &own->rules;
    double elapsed = now - own->last;
    own->last = now;
    own->since = 0.0;
    own->count += rules->step;
    own->span += elapsed;
    own->recent += rules->step;
    own->recent_span += elapsed;
    own->promised += own->ahead;
    double balance = own->rate * (now - own->start) - own->written;
    double most = own->rate * rules->horizon_us * rules->credit;
    if (balance > most) {
        own->written += balance - most;
        balance = most;
    }
    if (own->misses >= rules->hold) {
        bool overdrawn = balance < -own->rate * rules->horizon_us * MOST_DEBT;
        set_threshold(own, overdrawn ? 0.0 : allowed(own, balance));
    }
    for (int64_t b = 0; b < rules->bins; b++)
        own->mass[b] *= rules->keep;
    own->count *= rules->keep;
    own->span *= rules->keep;
    own->promised *= rules->keep;
    own->wrote *= rules->keep;
    own->recent *= rules->keep_recent;
    own->recent_span *= rules->keep_recent;
}

void cz_controller_missed(cz_controller *own, int64_t time_us, double score, int64_t missing, int64_t written) {
    const cz_control_rules *rules = &own->rules;
    double now = (double)time_us, place = (score - rules->low) / rules->width;
    if (own->misses == 0.0) {
        own->start = now;
        own->last = now;
    }
    own->begun = true;
    int64_t b = place >= (double)rules->bins ? rules->bins - 1 : place > 0.0 ? (int64_t)place : 0;
    own->mass[b] += (double)missing;
    if (own->misses < rules->hold && score >= own->threshold)
        own->promised += (double)missing;
    own->misses += 1.0;
    own->since += 1.0;
    own->written += (double)written;
    own->wrote += (double)written;
    if (own->since >= rules->step)
        step(own, now);
}
