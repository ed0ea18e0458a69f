#include "monitor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* numpy's pairwise sum. */
static double sum_of(const double *values, int32_t count) {
    if (count < 8) {
        double sum = 0.0;
        for (int32_t i = 0; i < count; i++)
            sum += values[i];
        return sum;
    }
    if (count > 128) {
        int32_t half = count / 2 - count / 2 % 8;
        return sum_of(values, half) + sum_of(values + half, count - half);
    }
    double r[8];
    int32_t i = 8;
    memcpy(r, values, sizeof r);
    for (; i < count - count % 8; i += 8)
        for (int k = 0; k < 8; k++)
            r[k] += values[i + k];
    double sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    for (; i < count; i++)
        sum += values[i];
    return sum;
}

/* ---- what is known ---- */

static bool numbers(const cz_json *list, size_t count, double *found) {
    if (!list || list->type != CZ_JSON_LIST || list->length != count)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (list->items[i].type != CZ_JSON_NUMBER)
            return false;
        found[i] = list->items[i].number;
    }
    return true;
}

static bool trace_of(const cz_json *entry, size_t moments, double *found) {
    const cz_json *rows = cz_json_get(entry, "whitening");
    bool whole = numbers(cz_json_get(entry, "mean"), moments, found) && rows && rows->type == CZ_JSON_LIST &&
                 rows->length == moments;
    for (size_t k = 0; whole && k < moments; k++)
        whole = numbers(&rows->items[k], k + 1, found + moments * (k + 1));
    return whole;
}

int cz_known_read(const cz_values *values, const char *where, int32_t inputs, cz_known *known, cz_error *error) {
    const cz_json *list = cz_values_get(values, "calibration.known");
    *known = (cz_known){.moments = 2 * inputs};
    if (!list)
        return CZ_OK;
    if (list->type != CZ_JSON_LIST || list->length > CZ_MOST_VOTES)
        return cz_fail(error, CZ_BAD_BUNDLE, "%s: calibration.known is no list; export the bundle again", where);
    size_t moments = (size_t)known->moments, each = moments * (moments + 1);
    known->numbers = calloc(list->length * each + 1, sizeof *known->numbers);
    if (!known->numbers)
        return cz_fail(error, CZ_NO_MEMORY, "%s: no memory for calibration.known", where);
    known->traces = (int32_t)list->length;
    for (size_t i = 0; i < list->length; i++)
        if (!trace_of(&list->items[i], moments, known->numbers + i * each)) {
            cz_known_free(known);
            return cz_fail(error, CZ_BAD_BUNDLE,
                           "%s: calibration.known[%zu] is not %zu moments of %d inputs; export the bundle again", where,
                           i, moments, (int)inputs);
        }
    return CZ_OK;
}

void cz_known_free(cz_known *known) {
    free(known->numbers);
    *known = (cz_known){0};
}

/* Mean and standard deviation of each input. */
static void moments_of(const float *rows, int32_t count, int32_t inputs, double *found) {
    for (int32_t k = 0; k < inputs; k++) {
        double sum = 0.0, squares = 0.0;
        for (int32_t i = 0; i < count; i++)
            sum += (double)rows[(int64_t)i * inputs + k];
        double mean = sum / (double)count;
        for (int32_t i = 0; i < count; i++) {
            double off = (double)rows[(int64_t)i * inputs + k] - mean;
            squares += off * off;
        }
        found[k] = mean;
        found[inputs + k] = sqrt(squares / (double)count);
    }
}

double cz_strangeness(const cz_known *known, const float *rows, int32_t count) {
    double moments[CZ_MOST_MOMENTS], left[CZ_MOST_MOMENTS], product[CZ_MOST_MOMENTS], least = 0.0;
    int32_t n = known->moments;
    moments_of(rows, count, n / 2, moments);
    for (int32_t trace = 0; trace < known->traces; trace++) {
        const double *mean = known->numbers + (int64_t)trace * n * (n + 1), *row = mean + n;
        double total = 0.0;
        for (int32_t k = 0; k < n; k++)
            left[k] = moments[k] - mean[k];
        for (int32_t k = 0; k < n; k++, row += n) {
            for (int32_t j = 0; j < n; j++)
                product[j] = left[j] * row[j];
            double sum = sum_of(product, n);
            total += sum * sum;
        }
        double found = total / (double)n;
        if (trace == 0 || found < least)
            least = found;
    }
    return least;
}

/* ---- votes ---- */

int cz_monitor_new(const cz_rule *rule, cz_monitor *monitor) {
    size_t windows = (size_t)rule->vote_windows;
    *monitor = (cz_monitor){.current = CZ_NO_VOTE, .candidate = CZ_NO_VOTE, .began_us = -1, .every_us = -1};
    monitor->likeliest = calloc(windows, sizeof *monitor->likeliest);
    monitor->strange = calloc(windows, sizeof *monitor->strange);
    monitor->counts = calloc((size_t)rule->classes, sizeof *monitor->counts);
    return monitor->likeliest && monitor->strange && monitor->counts ? CZ_OK : CZ_NO_MEMORY;
}

void cz_monitor_free(cz_monitor *monitor) {
    free(monitor->likeliest);
    free(monitor->strange);
    free(monitor->counts);
}

/* Whether a vote may begin, however long the one before took; its time counts from its first request. */
static bool due(int64_t every_us, int64_t began_us, int64_t time_us) {
    return every_us == 0 || began_us < 0 || (time_us >= began_us && time_us - began_us >= every_us);
}

bool cz_monitor_looks(const cz_rule *rule, cz_monitor *monitor, bool fills, int64_t time_us) {
    if (fills)
        return true;
    if (!due(monitor->every_us < 0 ? rule->every_us : monitor->every_us, monitor->began_us, time_us))
        return false;
    monitor->began_us = time_us;
    return true;
}

int64_t cz_looked_at(const cz_request *requests, int64_t count, int64_t length, int64_t every_us) {
    int64_t looked_at = 0, began_us = -1;
    for (int64_t i = 0; i < count; i++) {
        bool begins = looked_at % length == 0;
        if (begins && !due(every_us, began_us, requests[i].time_us))
            continue;
        if (begins)
            began_us = requests[i].time_us;
        looked_at++;
    }
    return looked_at;
}

/* The most frequent class; a tie goes to the one in force if it is among them, else to the first. */
static int32_t winner(const cz_rule *rule, const cz_monitor *monitor) {
    int32_t most = 0;
    memset(monitor->counts, 0, (size_t)rule->classes * sizeof *monitor->counts);
    for (int32_t i = 0; i < monitor->windows; i++)
        monitor->counts[monitor->likeliest[i]]++;
    for (int32_t k = 0; k < rule->classes; k++)
        most = monitor->counts[k] > most ? monitor->counts[k] : most;
    if (monitor->current >= 0 && monitor->counts[monitor->current] == most)
        return monitor->current;
    int32_t first = 0;
    while (monitor->counts[first] < most)
        first++;
    return first;
}

void cz_monitor_window(const cz_rule *rule, cz_monitor *monitor, int32_t likeliest, double strange, int32_t *named,
                       int32_t *vote) {
    monitor->likeliest[monitor->windows] = likeliest;
    monitor->strange[monitor->windows++] = strange;
    *named = strange > rule->window_above ? CZ_STRANGE : likeliest;
    *vote = CZ_NO_VOTE;
    if (monitor->windows < rule->vote_windows)
        return;
    bool unsure = sum_of(monitor->strange, monitor->windows) / (double)monitor->windows > rule->vote_above;
    *vote = unsure ? CZ_STRANGE : winner(rule, monitor);
    monitor->streak = *vote == monitor->candidate ? monitor->streak + 1 : 1;
    monitor->candidate = *vote;
    if (monitor->current == CZ_NO_VOTE || monitor->streak >= rule->switch_votes)
        monitor->current = *vote;
    monitor->windows = 0;
}

void cz_monitor_save(const cz_monitor *monitor, cz_writer *out) {
    const int32_t numbers[] = {monitor->windows, monitor->current, monitor->candidate, monitor->streak};
    for (int i = 0; i < 4; i++)
        cz_put(out, (uint64_t)(uint32_t)numbers[i], 4);
    cz_put(out, (uint64_t)monitor->began_us, 8);
    cz_put(out, (uint64_t)monitor->every_us, 8);
    cz_put_bytes(out, monitor->likeliest, (size_t)monitor->windows * sizeof *monitor->likeliest);
    cz_put_bytes(out, monitor->strange, (size_t)monitor->windows * sizeof *monitor->strange);
}

bool cz_monitor_restore(const cz_rule *rule, cz_monitor *monitor, cz_bytes *in) {
    int32_t found[4];
    for (int i = 0; i < 4; i++)
        found[i] = (int32_t)(uint32_t)cz_take(in, 4);
    int64_t began_us = (int64_t)cz_take(in, 8), every_us = (int64_t)cz_take(in, 8);
    if (began_us < -1 || every_us < -1 || every_us > CZ_MOST_EVERY * CZ_SECOND_US)
        return false;
    if (in->failed || found[0] < 0 || found[0] >= rule->vote_windows || found[3] < 0)
        return false;
    for (int i = 1; i < 3; i++)
        if (found[i] < CZ_STRANGE || found[i] >= rule->classes)
            return false;
    size_t windows = (size_t)found[0];
    const unsigned char *likeliest = cz_take_bytes(in, windows * sizeof *monitor->likeliest);
    const unsigned char *strange = cz_take_bytes(in, windows * sizeof *monitor->strange);
    if (in->failed)
        return false;
    memcpy(monitor->likeliest, likeliest, windows * sizeof *monitor->likeliest);
    memcpy(monitor->strange, strange, windows * sizeof *monitor->strange);
    for (size_t i = 0; i < windows; i++)
        if (monitor->likeliest[i] < 0 || monitor->likeliest[i] >= rule->classes || !(monitor->strange[i] >= 0))
            return false;
    monitor->began_us = began_us, monitor->every_us = every_us;
    monitor->windows = found[0], monitor->current = found[1], monitor->candidate = found[2], monitor->streak = found[3];
    return true;
}
