#include "window.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SECTOR 512
#define NO_EARLIER (-1.0f)

int cz_window_new(int32_t length, cz_window *window) {
    *window = (cz_window){.length = length};
    window->seen = calloc((size_t)length, sizeof *window->seen);
    window->starts = calloc((size_t)length, sizeof *window->starts);
    return window->seen && window->starts ? CZ_OK : CZ_NO_MEMORY;
}

void cz_window_free(cz_window *window) {
    free(window->seen);
    free(window->starts);
}

/* log2(1 + sectors), with the distance's sign. */
static double steps(int64_t distance) {
    double of = log2(1.0 + (double)(distance < 0 ? -distance : distance) / SECTOR);
    return distance >= 0 ? of : -of;
}

static int64_t end_of(const cz_request *request) {
    return request->offset + request->size;
}

/* Bytes between two requests; below 0 where they overlap. */
static int64_t apart(const cz_request *one, const cz_request *other) {
    int64_t low = one->offset > other->offset ? one->offset : other->offset;
    int64_t high = end_of(one) < end_of(other) ? end_of(one) : end_of(other);
    return low - high;
}

/* Compare a request with the window's earlier ones to its volume. */
static void look_back(const cz_window *window, int32_t i) {
    cz_seen *own = &window->seen[i];
    int64_t nearest = -1;
    int32_t repeats = 0, age = 0;
    bool continues = false;
    own->before = -1;
    for (int32_t j = i - 1; j >= 0; j--) {
        const cz_request *other = &window->seen[j].request;
        if (other->volume != own->request.volume)
            continue;
        if (own->before < 0)
            own->before = j;
        int64_t between = apart(&own->request, other), distance = between > 0 ? between : 0;
        if (between < 0 && repeats++ == 0)
            age = i - j;
        continues = continues || own->request.offset == end_of(other);
        nearest = nearest < 0 || distance < nearest ? distance : nearest;
    }
    own->raw[CZ_W_NEAREST] = own->before >= 0 ? (float)steps(nearest) : NO_EARLIER;
    own->raw[CZ_W_CONTINUES] = continues;
    own->raw[CZ_W_REPEATS] = (float)log2(1.0 + repeats);
    own->raw[CZ_W_AGE] = (float)log2(1.0 + age);
}

void cz_window_add(cz_window *window, const cz_request *request) {
    cz_seen *own = &window->seen[window->count];
    own->request = *request;
    look_back(window, window->count++);
    const cz_seen *before = own->before >= 0 ? &window->seen[own->before] : NULL;
    int64_t delta = before ? request->offset - end_of(&before->request) : 0;
    own->run = before && delta == 0 ? before->run + 1 : 0;
    own->raw[CZ_W_DELTA] = (float)steps(delta);
    own->raw[CZ_W_RUN] = (float)log2(1.0 + (double)own->run);
    own->raw[CZ_W_SIZE] = (float)log2((double)request->size);
    own->raw[CZ_W_OP] = (float)request->op;
}

/* Let a value sink in a heap whose greatest is at the top. */
static void sink(int64_t *values, int32_t at, int32_t count) {
    for (int32_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && values[child + 1] > values[child])
            child++;
        if (values[at] >= values[child])
            return;
        int64_t kept = values[at];
        values[at] = values[child];
        values[child] = kept;
    }
}

/* The value at `place` in rising order; the values change their places. No memory is taken, unlike by qsort. */
static int64_t in_order(int64_t *values, int32_t count, int32_t place) {
    for (int32_t at = count / 2; at-- > 0;)
        sink(values, at, count);
    for (int32_t left = count; left - 1 > place; left--) {
        values[0] = values[left - 1];
        sink(values, 0, left - 1);
    }
    return values[0];
}

/* The middle start of the window's requests to a volume. */
static int64_t middle(const cz_window *window, int32_t volume) {
    int32_t count = 0;
    for (int32_t i = 0; i < window->count; i++)
        if (window->seen[i].request.volume == volume)
            window->starts[count++] = window->seen[i].request.offset;
    return in_order(window->starts, count, count / 2);
}

void cz_window_close(cz_window *window) {
    int32_t count = window->count;
    if (count < 1)
        return;
    int64_t first = window->seen[0].request.time_us, span = window->seen[count - 1].request.time_us - first;
    for (int32_t i = 0; i < count; i++) {
        cz_seen *own = &window->seen[i];
        int64_t gap = i ? own->request.time_us - window->seen[i - 1].request.time_us : 0;
        own->middle = own->before >= 0 ? window->seen[own->before].middle : middle(window, own->request.volume);
        own->raw[CZ_W_PLACE] = (float)steps(own->request.offset - own->middle);
        double gaps = (double)(int64_t)((uint64_t)gap * (uint64_t)(count - 1));
        own->raw[CZ_W_GAP] = span > 0 ? (float)log1p(gaps / (double)span) : 0.0f;
    }
}
