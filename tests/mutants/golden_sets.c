/* Says which synthetic golden sets of a bundle each wrong runtime does not reproduce: golden_sets BUNDLE NUMBER...
 *
 * A line for each: the runtime's number and the set's name. Each runtime is a process of its own, since a wrong one may
 * crash, or not end; it has failed the set that it was at, and another one goes on with the next. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "verify.c" /* its static functions: cz_verify ends at the first set that differs */

enum { LONGEST_US = 250000 }; /* of a processor; a set takes a few milliseconds */
enum { TO_DO, PASSED, FAILED };
int cz_mutant; /* the sources say `extern`: see switched.py */

static void run(const cz_bundle *bundle, const cz_json *sets, volatile char *outcome) {
    cz_report report = {0};
    cz_error error;
    tally on = {bundle, "", true, 0, 0, 0, &report, &error};
    const struct itimerval limit = {.it_value = {.tv_usec = LONGEST_US}};
    for (size_t i = 0; i < sets->length; i++) {
        if (outcome[i] != TO_DO)
            continue;
        outcome[i] = FAILED; /* until it has passed */
        setitimer(ITIMER_PROF, &limit, NULL);
        if (verify_synthetic(&on, &sets->items[i]) == CZ_OK)
            outcome[i] = PASSED;
    }
}

static size_t left_to_do(const char *outcome, size_t count) {
    size_t left = 0;
    for (size_t i = 0; i < count; i++)
        left += outcome[i] == TO_DO;
    return left;
}

/* Run the present runtime until it has passed or failed every set. */
static int run_all(const cz_bundle *bundle, const cz_json *sets, char *outcome) {
    memset(outcome, TO_DO, sets->length);
    while (left_to_do(outcome, sets->length)) {
        pid_t child = fork();
        if (child == 0) {
            run(bundle, sets, outcome);
            _exit(0);
        }
        if (child < 0 || waitpid(child, NULL, 0) < 0)
            return -1;
    }
    return 0;
}

static int run_numbers(const cz_bundle *bundle, const cz_json *sets, char *const *numbers) {
    char *outcome = mmap(NULL, sets->length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (outcome == MAP_FAILED)
        return -1;
    for (; *numbers; numbers++) {
        cz_mutant = atoi(*numbers);
        if (run_all(bundle, sets, outcome))
            return -1;
        for (size_t i = 0; i < sets->length; i++)
            if (outcome[i] == FAILED)
                printf("%d %s\n", cz_mutant, cz_json_get(&sets->items[i], "name")->text);
        fflush(stdout); /* so that no child has it to write, too */
    }
    return 0;
}

int main(int argc, char **argv) {
    const struct rlimit no_core = {0, 0};
    cz_bundle *bundle;
    cz_error error;
    if (argc < 3 || cz_open(argv[1], CZ_FP32, &bundle, &error)) {
        fprintf(stderr, "%s\n", argc < 3 ? "usage: golden_sets BUNDLE NUMBER..." : error.text);
        return 2;
    }
    const cz_json *sets = cz_json_get(&bundle->root, "golden.synthetic");
    setrlimit(RLIMIT_CORE, &no_core);
    if (!sets || run_numbers(bundle, sets, argv + 2)) {
        perror("golden_sets");
        return 1;
    }
    return 0;
}
