/* One bundle shared by threads, each with a stream of its own: they see the same, and no data race is reported. */
#include <pthread.h>
#include <stdbool.h>

#include "cachezoo.h"
#include "test.h"

#define THREADS 4
#define REQUESTS 400

static const char *const BUNDLES[] = {"tests/golden/protocol2/admission.database.lgbm",
                                      "tests/golden/protocol2/caching.database.lstm1x8",
                                      "tests/golden/protocol2/workload.lstm8", "tests/golden/protocol2/reuse.follow"};

typedef struct job {
    const cz_bundle *bundle;
    double sum;
    bool failed;
} job;

static void *run(void *given) {
    job *own = given;
    cz_stream_options options = {.max_keys = 20000, .max_names = 16, .capacity = 64};
    cz_stream *stream;
    cz_ticket ticket;
    cz_decision decision = {0};
    cz_error error;
    cz_info info;
    cz_bundle_info(own->bundle, &info);
    own->failed = cz_stream_new(own->bundle, &options, &stream, &error) != CZ_OK;
    if (own->failed) {
        fprintf(stderr, "%s\n", error.text);
        return NULL;
    }
    for (int64_t i = 0; i < REQUESTS; i++) {
        cz_request request = {.time_us = 1000 * i,
                              .offset = i * i % 97 * 20480,
                              .size = 4096 + i * 811 % 30000,
                              .volume = cz_intern(stream, CZ_VOLUME, i % 5 ? "vda" : "vdb"),
                              .name_space = CZ_UNKNOWN,
                              .user = cz_intern(stream, CZ_USER, "postgres"),
                              .flags = CZ_UNKNOWN,
                              .op = i % 3 == 0};
        own->failed = own->failed || cz_observe(stream, &request, &ticket);
        /* A reuse model decides within its cache alone. */
        if (info.kind != CZ_REUSE)
            own->failed = own->failed || cz_decide(stream, &ticket, &decision);
        own->sum += ticket.row[4] + ticket.output[0] + decision.admit + decision.output[0];
    }
    cz_stream_free(stream);
    return NULL;
}

static void share(const char *path) {
    cz_bundle *bundle;
    cz_error error;
    pthread_t threads[THREADS];
    job jobs[THREADS];
    if (cz_open(path, CZ_FP32, &bundle, &error))
        fprintf(stderr, "%s\n", error.text);
    REQUIRE(bundle);
    for (int i = 0; i < THREADS; i++) {
        jobs[i] = (job){bundle, 0, false};
        REQUIRE(pthread_create(&threads[i], NULL, run, &jobs[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        REQUIRE(pthread_join(threads[i], NULL) == 0);
        CHECK(!jobs[i].failed);
        CHECK(jobs[i].sum == jobs[0].sum);
    }
    CHECK(jobs[0].sum != 0);
    cz_close(bundle);
}

int main(void) {
    for (size_t i = 0; i < sizeof BUNDLES / sizeof *BUNDLES; i++)
        share(BUNDLES[i]);
    return TEST_END();
}
