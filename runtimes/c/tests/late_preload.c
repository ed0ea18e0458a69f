/* Preloaded: every thread has its first turn 0.3 s after it was made, as on a machine with much else to do. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

typedef int (*creator)(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument);

typedef struct late {
    void *(*run)(void *);
    void *argument;
} late;

static void *wait_and_run(void *given) {
    late late = *(struct late *)given;
    free(given);
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    return late.run(late.argument);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument) {
    creator next = (creator)dlsym(RTLD_NEXT, "pthread_create");
    late *made = malloc(sizeof *made);
    if (!made)
        abort();
    *made = (late){run, argument};
    return next(thread, attributes, wait_and_run, made);
}
