/* Says which synthetic golden sets of a bundle each wrong runtime does not reproduce:
 *
 *     golden_sets [-r] [-t] [-1] BUNDLE < NUMBERS
 *
 * A line for each: the runtime's number and the set's name. With -1 a runtime is done with at its first such set. With -r
 * the real rows are the last set, with the name `real`. With -t the sets are requests of traces, and what they hold
 * besides is not looked at: what the right runtime makes of them is what a wrong one has to give.
 *
 * Each runtime is a process of its own, since a wrong one may crash, or not end; it has failed the set that it was at,
 * and another one goes on with the next. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "verify.c" /* its static functions: cz_verify ends at the first set that differs */

enum {
    LEAST_US = 250000,
    TIMES = 40
}; /* of a processor: a wrong runtime may take so many times what the right one does */
enum { TO_DO, PASSED, FAILED };
static const rlim_t MOST_BYTES = (rlim_t)4 << 30;
int cz_mutant; /* the sources say `extern`: see switched.py */

/* A set, read by the right runtime: its rules, and what has to come out. */
typedef struct set {
    const char *name;
    char folder[200], where[400];
    cz_changed changed;
    cz_values values;
    cz_golden golden;
    long limit_us;
} set;

static int read_real(const cz_bundle *bundle, set *of, cz_error *error) {
    of->name = "real";
    snprintf(of->folder, sizeof of->folder, "golden/");
    of->values = (cz_values){bundle->store.where, bundle->ops->name, &bundle->root};
    return cz_golden_read(bundle, &of->values, cz_json_get(&bundle->root, "golden"), of->folder, "", &of->golden,
                          error);
}

static int read_set(const cz_bundle *bundle, const cz_json *stated, set *of, cz_error *error) {
    of->name = cz_json_get(stated, "name")->text;
    snprintf(of->folder, sizeof of->folder, "golden/synthetic/%.160s/", of->name);
    snprintf(of->where, sizeof of->where, "%.200s: %.160s", bundle->store.where, of->folder);
    int result = cz_changed_new(cz_json_root(bundle->model_document), cz_json_get(stated, "changes"), of->where,
                                &of->changed, error);
    of->values = (cz_values){of->where, bundle->ops->name, &of->changed.root};
    if (!result)
        result = check_changed(&of->values, error);
    return result ? result : cz_golden_read(bundle, &of->values, stated, of->folder, of->name, &of->golden, error);
}

/* What the present runtime makes of a set. */
static int hold(tally *on, const set *of) {
    const cz_bundle *bundle = on->bundle;
    void *model = NULL;
    on->folder = of->folder;
    int result = bundle->ops->model_new(bundle, &of->values, bundle->precision, &model, on->error);
    if (!result)
        result = remake(on, model, &of->golden);
    if (model)
        bundle->ops->model_free(model);
    return result;
}

/* Put what the right runtime makes of a set in place of what the set has. */
static int learn(const cz_bundle *bundle, set *of, cz_error *error) {
    cz_golden *golden = &of->golden;
    void *model = NULL;
    cz_remade remade = {
        .features = (void *)(uintptr_t)golden->features,
        .outputs = (void *)(uintptr_t)golden->outputs,
        .decisions = (void *)(uintptr_t)golden->decisions,
    };
    int result = bundle->ops->model_new(bundle, &of->values, bundle->precision, &model, error);
    if (!result)
        result = bundle->ops->remake(bundle, model, golden, &remade, error);
    if (model)
        bundle->ops->model_free(model);
    return result;
}

static void run(const cz_bundle *bundle, const set *sets, size_t count, bool first, volatile char *outcome) {
    cz_report report = {0};
    cz_error error;
    tally on = {bundle, "", true, 0, 0, 0, &report, &error};
    for (size_t i = 0; i < count; i++) {
        if (outcome[i] != TO_DO)
            continue;
        const struct itimerval limit = {.it_value = {sets[i].limit_us / 1000000, sets[i].limit_us % 1000000}};
        outcome[i] = FAILED; /* until it has passed */
        setitimer(ITIMER_PROF, &limit, NULL);
        if (hold(&on, &sets[i]) == CZ_OK)
            outcome[i] = PASSED;
        else if (first)
            return;
    }
}

static bool is_left(const char *outcome, size_t count, bool first) {
    bool failed = memchr(outcome, FAILED, count) != NULL;
    return memchr(outcome, TO_DO, count) != NULL && !(first && failed);
}

/* Run the present runtime until it has passed or failed every set. */
static int run_all(const cz_bundle *bundle, const set *sets, size_t count, bool first, char *outcome) {
    memset(outcome, TO_DO, count);
    while (is_left(outcome, count, first)) {
        pid_t child = fork();
        if (child == 0) {
            const struct rlimit room = {MOST_BYTES, MOST_BYTES};
            setrlimit(RLIMIT_AS, &room);
            run(bundle, sets, count, first, outcome);
            _exit(0);
        }
        if (child < 0 || waitpid(child, NULL, 0) < 0)
            return -1;
    }
    return 0;
}

/* How long the right runtime takes for each set. */
static void time_sets(const cz_bundle *bundle, set *sets, size_t count, cz_error *error) {
    cz_report report = {0};
    tally on = {bundle, "", true, 0, 0, 0, &report, error};
    for (size_t i = 0; i < count; i++) {
        clock_t before = clock();
        hold(&on, &sets[i]); /* it differs where it is wrong: runtime 0 says so */
        long taken = (long)((double)(clock() - before) / CLOCKS_PER_SEC * 1e6) * TIMES;
        sets[i].limit_us = taken > LEAST_US ? taken : LEAST_US;
    }
}

static int run_numbers(const cz_bundle *bundle, const set *sets, size_t count, bool first) {
    char *outcome = mmap(NULL, count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char line[32];
    if (outcome == MAP_FAILED)
        return -1;
    while (fgets(line, sizeof line, stdin)) {
        cz_mutant = atoi(line);
        if (run_all(bundle, sets, count, first, outcome))
            return -1;
        for (size_t i = 0; i < count; i++)
            if (outcome[i] == FAILED)
                printf("%d %s\n", cz_mutant, sets[i].name);
        fflush(stdout); /* so that no child has it to write, too */
    }
    return 0;
}

int main(int argc, char **argv) {
    const struct rlimit no_core = {0, 0};
    bool first = false, traces = false, real = false;
    cz_bundle *bundle;
    cz_error error;
    for (int letter; (letter = getopt(argc, argv, "1rt")) != -1;) {
        first |= letter == '1';
        traces |= letter == 't';
        real |= letter == 'r';
    }
    if (optind != argc - 1 || cz_open(argv[optind], CZ_FP32, &bundle, &error)) {
        fprintf(stderr, "%s\n", optind != argc - 1 ? "usage: golden_sets [-r] [-t] [-1] BUNDLE < NUMBERS" : error.text);
        return 2;
    }
    const cz_json *stated = cz_json_get(&bundle->root, "golden.synthetic");
    size_t count = stated ? stated->length : 0;
    set *sets = calloc(count + 1, sizeof *sets);
    int result = CZ_OK;
    for (size_t i = 0; i < count && !result; i++)
        result = read_set(bundle, &stated->items[i], &sets[i], &error);
    if (real && !result)
        result = read_real(bundle, &sets[count++], &error);
    for (size_t i = 0; traces && i < count && !result; i++)
        result = learn(bundle, &sets[i], &error);
    if (result) {
        fprintf(stderr, "%s\n", error.text);
        return 2;
    }
    setrlimit(RLIMIT_CORE, &no_core);
    time_sets(bundle, sets, count, &error);
    if (run_numbers(bundle, sets, count, first)) {
        perror("golden_sets");
        return 1;
    }
    return 0;
}
