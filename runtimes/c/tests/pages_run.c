/* Parts of the kinds caching and workload on requests from stdin, for the tests that compare them with Python.
 *
 * pages_run manager: int64 capacity, period, percent, fill, requeue, single; then for each request int64 volume,
 *     first, count, write, queue. Out: int32 queue, hits, admitted, victims, dirty victims, bits of the tags, then the
 *     outcome of each page. It keeps a device of its own, and ends where a hit's slot does not hold its page.
 * pages_run sequence: int64 memory, window, region_bytes, region_bits, capacity, max_pages, save_every; then for each
 *     request int64 time_us, op, offset, size, volume. Out: float32[16]; at the end int64 keys and forgotten. Every
 *     `save_every` requests (0: never) a new sequence goes on from the saved state of the one before.
 * pages_run window: int64 length; then requests as above. Out: float32[10]. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "manager.h"
#include "window.h"

#define MOST 4096 /* pages of a request */

static void wrong(const char *what) {
    fprintf(stderr, "pages_run: %s\n", what);
    exit(1);
}

static bool take(int64_t *numbers, size_t count) {
    return fread(numbers, sizeof *numbers, count, stdin) == count;
}

static void give(const void *data, size_t size, size_t count) {
    if (fwrite(data, size, count, stdout) != count)
        wrong("stdout is closed");
}

/* ---- manager ---- */

static void follow(cz_unit *device, const cz_unit *units, int64_t count, const cz_unit *victims, int64_t gone) {
    for (int64_t k = 0; k < count; k++)
        if (units[k].outcome == 2 &&
            (device[units[k].slot].number != units[k].number || device[units[k].slot].volume != units[k].volume))
            wrong("a hit's slot holds another page");
    for (int64_t k = 0; k < gone; k++)
        device[victims[k].slot].volume = -1;
    for (int64_t k = 0; k < count; k++)
        if (units[k].outcome == 1 && units[k].slot >= 0) {
            if (device[units[k].slot].volume != -1)
                wrong("a slot was given away that holds a page");
            device[units[k].slot] = units[k];
        }
}

static void run_manager(void) {
    static cz_unit units[MOST], victims[MOST];
    int64_t head[6], row[5];
    cz_manager *manager;
    cz_error error;
    if (!take(head, 6))
        wrong("no rules");
    cz_rules rules = {head[0], head[1], head[2], head[3], head[4], head[5]};
    if (cz_manager_new(&rules, &manager, &error))
        wrong(error.text);
    cz_unit *device = calloc((size_t)head[0], sizeof *device);
    if (!device)
        wrong("no memory");
    for (int64_t slot = 0; slot < head[0]; slot++)
        device[slot].volume = -1;
    while (take(row, 5)) {
        cz_served served;
        cz_manager_serve(manager, (int32_t)row[0], row[1], row[2], row[3], (int32_t)row[4], units, victims, &served);
        follow(device, units, row[2], victims, served.victims);
        int32_t out[6] = {served.queue,
                          (int32_t)served.hits,
                          (int32_t)served.admitted,
                          (int32_t)served.victims,
                          (int32_t)served.dirty_victims,
                          0};
        for (int i = 0; i < CZ_N_TAGS; i++)
            out[5] |= (served.tags[i] != 0.0f) << i;
        give(out, sizeof *out, 6);
        for (int64_t k = 0; k < row[2]; k++)
            give(&(int32_t){units[k].outcome}, sizeof(int32_t), 1);
    }
    free(device);
    cz_manager_free(manager);
}

/* ---- sequence and window ---- */

static bool next(cz_request *request) {
    int64_t row[5];
    if (!take(row, 5))
        return false;
    *request = (cz_request){
        .time_us = row[0], .op = (uint8_t)row[1], .offset = row[2], .size = row[3], .volume = (int32_t)row[4]};
    if (!cz_request_fits(request))
        wrong("no request");
    return true;
}

static cz_sequence *sequence_of(const int64_t head[7]) {
    cz_horizons horizons = {head[0], head[1], head[2], head[4], (int)head[3]};
    cz_sequence *made;
    cz_error error;
    if (cz_sequence_new(&horizons, head[5], &made, &error))
        wrong(error.text);
    return made;
}

/* Go on with a new one from the saved state; a state cut short is refused. */
static cz_sequence *saved(cz_sequence *sequence, const int64_t head[7]) {
    size_t size = cz_sequence_save(sequence, NULL);
    unsigned char *state = malloc(size);
    cz_sequence *fresh = sequence_of(head);
    if (!state || cz_sequence_save(sequence, state) != size)
        wrong("no saved state");
    if (cz_sequence_restore(fresh, state, size - 1))
        wrong("a state cut short was taken");
    if (!cz_sequence_restore(fresh, state, size))
        wrong("a state was not taken");
    free(state);
    cz_sequence_free(sequence);
    return fresh;
}

static void run_sequence(void) {
    int64_t head[7], done = 0;
    cz_request request;
    if (!take(head, 7))
        wrong("no horizons");
    cz_sequence *sequence = sequence_of(head);
    for (; next(&request); done++) {
        float raw[CZ_N_RAW];
        if (head[6] && done && done % head[6] == 0)
            sequence = saved(sequence, head);
        cz_sequence_step(sequence, &request, raw);
        give(raw, sizeof *raw, CZ_N_RAW);
    }
    cz_counters counters = {0};
    cz_sequence_stats(sequence, &counters);
    give((int64_t[]){(int64_t)counters.keys, (int64_t)counters.forgotten}, sizeof(int64_t), 2);
    cz_sequence_free(sequence);
}

static void flush(cz_window *window) {
    cz_window_close(window);
    for (int32_t i = 0; i < window->count; i++)
        give(window->seen[i].raw, sizeof(float), CZ_W_OP + 1);
    window->count = 0;
}

static void run_window(void) {
    int64_t length;
    cz_window window;
    cz_request request;
    if (!take(&length, 1) || cz_window_new((int32_t)length, &window))
        wrong("no window");
    while (next(&request)) {
        cz_window_add(&window, &request);
        if (window.count == length)
            flush(&window);
    }
    flush(&window);
    cz_window_free(&window);
}

int main(int count, char **arguments) {
    const char *what = count == 2 ? arguments[1] : "";
    if (strcmp(what, "manager") == 0)
        run_manager();
    else if (strcmp(what, "sequence") == 0)
        run_sequence();
    else if (strcmp(what, "window") == 0)
        run_window();
    else
        wrong("manager, sequence or window?");
    return 0;
}
