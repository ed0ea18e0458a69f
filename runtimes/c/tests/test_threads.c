/* Threads share a bundle: each has a stream of its own, and all get the same answers. */
#include <pthread.h>

#include "cachezoo.h"
#include "stored.h"

#define THREADS 4
#define REQUESTS 2000

typedef struct worker {
    const cz_bundle *bundle;
    uint64_t sum;
    int bad;
} worker;

static void *serve(void *given) {
    worker *own = given;
    cz_stream_options options = {.capacity = 100};
    cz_stream *stream = NULL;
    cz_ticket ticket;
    cz_decision decision;
    if (cz_verify(own->bundle, NULL, NULL) || cz_stream_new(own->bundle, &options, &stream, NULL)) {
        own->bad = 1;
        return NULL;
    }
    int32_t volume = cz_intern(stream, CZ_VOLUME, "v");
    for (int64_t i = 0; i < REQUESTS && !own->bad; i++) {
        cz_request request = {.time_us = i, .offset = (i * 7919 % 997) * 4096, .size = 8192, .volume = volume,
                              .name_space = CZ_UNKNOWN, .user = CZ_UNKNOWN, .flags = CZ_UNKNOWN, .op = i % 5 == 0};
        own->bad = cz_observe(stream, &request, &ticket) || cz_decide(stream, &ticket, &decision);
        own->sum = own->sum * 31 + (uint64_t)(decision.admit + 2 * decision.queue + 3 * decision.low + decision.fetch);
    }
    cz_stream_free(stream);
    return NULL;
}

static void share(const char *path) {
    pthread_t threads[THREADS];
    worker workers[THREADS] = {{NULL, 0, 0}};
    cz_bundle *bundle;
    REQUIRE(cz_open(path, CZ_FP32, &bundle, NULL) == CZ_OK);
    for (int i = 0; i < THREADS; i++) {
        workers[i].bundle = bundle;
        REQUIRE(pthread_create(&threads[i], NULL, serve, &workers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        if (workers[i].bad)
            fprintf(stderr, "%s: a thread failed\n", path);
        CHECK(!workers[i].bad && workers[i].sum == workers[0].sum);
    }
    cz_close(bundle);
}

int main(void) {
    find_stored();
    for (size_t i = 0; i < n_stored; i++)
        share(stored[i]);
    return TEST_END();
}
