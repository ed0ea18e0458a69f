/* Inputs of windows of requests, from each window's own requests alone; bit for bit those of
 * src/cachezoo/kernels/window.py. */
#ifndef CZ_WINDOW_H
#define CZ_WINDOW_H

#include "bytes.h"
#include "sequence.h"

enum cz_window_column {
    CZ_W_DELTA = 0,
    CZ_W_NEAREST,
    CZ_W_PLACE,
    CZ_W_RUN,
    CZ_W_CONTINUES,
    CZ_W_REPEATS,
    CZ_W_AGE,
    CZ_W_GAP,
    CZ_W_SIZE,
    CZ_W_OP
};

/* A request of the window, and what is known of it so far. */
typedef struct cz_seen {
    cz_request request;
    int32_t before; /* the last earlier one to its volume, -1 for none */
    int64_t run, middle;
    float raw[CZ_N_RAW];
} cz_seen;

/* The window that fills. */
typedef struct cz_window {
    int32_t length, count;
    cz_seen *seen;
    int64_t *starts; /* of a volume's requests, to sort */
} cz_window;

int cz_window_new(int32_t length, cz_window *window); /* CZ_NO_MEMORY */
void cz_window_free(cz_window *window);
/* Add a request, and fill what compares it with earlier ones. */
void cz_window_add(cz_window *window, const cz_request *request);
/* Fill what only the whole window tells. */
void cz_window_close(cz_window *window);

#endif
