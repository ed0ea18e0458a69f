/* cz: checks, shows and runs bundles from a shell. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const char HELP[] =
    "usage: cz verify PATH [--precision fp32|bf16|int8] [--key FILE]\n"
    "       cz inspect PATH [--key FILE]\n"
    "       cz run PATH TRACE.csv --capacity N [--mode lru|rejectx|model] [--window N] [--precision P] [--key FILE]\n"
    "       cz run PATH TRACE.csv [--key FILE], of a bundle of kind streams\n"
    "       cz --help | --version\n"
    "\n"
    "verify   check every file of a bundle and recompute its golden requests\n"
    "inspect  show what a bundle says of itself\n"
    "run      serve a trace (CSV: time_us,op,offset,size[,volume,namespace,user,flags]) through a cache of N units:\n"
    "         pages, or segments of a flash cache; without --mode the bundle's model decides; of kind streams, count\n"
    "         the writes and bytes that go to each stream\n"
    "\n"
    "With a public key (PEM) the bundle must be in the signed release beside it: FILE, else that of CACHEZOO_KEY, "
    "else\n"
    "/etc/cachezoo/key.pub where there is one.\n"
    "PATH is a bundle's folder or .zip. Exit status: 0 good, 1 the bundle or the trace is not, 2 wrong usage.\n";

int cz_usage(const char *problem, const char *what) {
    cz_print(stderr, "cz: %s%s; see cz --help", problem, what);
    return 2;
}

static int failed(const cz_error *error) {
    cz_print(stderr, "cz: %s", error->text);
    return 1;
}

static const char *const KINDS[] = {"",      "workload", "caching", "admission", "",
                                    "reuse", "streams",  "virtual", "policy"};

static int verify(const cz_arguments *given) {
    cz_bundle *bundle;
    cz_error error;
    cz_report report;
    cz_info info;
    int result = cz_open_signed(given->path, given->key, given->precision, &bundle, &error);
    if (result)
        return failed(&error);
    result = cz_verify(bundle, &report, &error);
    cz_bundle_info(bundle, &info);
    if (!result)
        cz_print(stdout,
                 "%s: verified: %s %s, %lld golden requests in %lld sets, outputs within %.3g, %.5g of decisions equal",
                 given->path, info.id, info.version, (long long)report.rows, (long long)report.cases,
                 report.output_difference, report.agreement);
    if (!result && cz_bundle_release(bundle))
        cz_print(stdout, "%s: of release %lld, signed", given->path, (long long)cz_bundle_release(bundle));
    cz_close(bundle);
    return result ? failed(&error) : 0;
}

static void bytes_line(const char *name, int64_t bytes) {
    if (bytes)
        printf("%-14s %lld\n", name, (long long)bytes);
}

static void text_line(const char *name, const char *text) {
    cz_print(stdout, "%-14s %s", name, text);
}

static int inspect(const cz_arguments *given) {
    cz_bundle *bundle;
    cz_error error;
    cz_info info;
    if (cz_open_signed(given->path, given->key, given->precision, &bundle, &error))
        return failed(&error);
    cz_bundle_info(bundle, &info);
    text_line("id", info.id);
    text_line("version", info.version);
    text_line("kind", KINDS[info.kind]);
    text_line("category", *info.category ? info.category : "all");
    printf("%-14s %d\n", "PROTOCOL", info.protocol);
    text_line("profile", info.profile);
    text_line("digest", info.digest);
    text_line("model_digest", info.model_digest);
    printf("%-14s %d\n%-14s %d\n", "features", (int)info.features, "outputs", (int)info.outputs);
    bytes_line("page_bytes", info.page_bytes);
    bytes_line("segment_bytes", info.segment_bytes);
    bytes_line("block_bytes", info.block_bytes);
    if (info.threshold == info.threshold)
        printf("%-14s %.17g\n", "threshold", info.threshold);
    text_line("prefetch", info.prefetch);
    cz_close(bundle);
    return 0;
}

static int choice(const char *text, const char *const *names, int *found) {
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], text) == 0) {
            *found = i;
            return 0;
        }
    return cz_usage("unknown choice ", text);
}

static int count(const char *text, int64_t *found) {
    char *end;
    long long value = strtoll(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || value < 1 || value > (long long)1 << 40)
        return cz_usage("not a whole number from 1 to 2^40: ", text);
    *found = value;
    return 0;
}

static int option(const char *name, const char *value, cz_arguments *given) {
    static const char *const precisions[] = {"fp32", "bf16", "int8", NULL}, *const modes[] = {"lru", "rejectx", "model",
                                                                                              NULL};
    int found = 0, result;
    if (!value)
        return cz_usage("no value after ", name);
    if (strcmp(name, "--precision") == 0) {
        result = choice(value, precisions, &found);
        given->precision = (enum cz_precision)found;
    } else if (strcmp(name, "--mode") == 0) {
        result = choice(value, modes, &found);
        given->mode = (enum cz_mode)found;
    } else if (strcmp(name, "--capacity") == 0) {
        result = count(value, &given->capacity);
    } else if (strcmp(name, "--window") == 0) {
        result = count(value, &given->window);
    } else if (strcmp(name, "--key") == 0) {
        given->key = value;
        result = 0;
    } else {
        result = cz_usage("unknown option ", name);
    }
    return result;
}

static int parse(int argc, char **argv, cz_arguments *given) {
    *given = (cz_arguments){.precision = CZ_FP32, .mode = CZ_MODEL};
    for (int i = 2; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) == 0) {
            int result = option(argv[i], i + 1 < argc ? argv[i + 1] : NULL, given);
            if (result)
                return result;
            i++;
        } else if (!given->path) {
            given->path = argv[i];
        } else if (!given->trace) {
            given->trace = argv[i];
        } else {
            return cz_usage("one argument too many: ", argv[i]);
        }
    }
    return given->path ? 0 : cz_usage("name a bundle", "");
}

static int run_command(int argc, char **argv) {
    const char *command = argc > 1 ? argv[1] : "";
    cz_arguments given;
    if (strcmp(command, "--help") == 0 || strcmp(command, "-h") == 0 || strcmp(command, "help") == 0)
        return fputs(HELP, stdout) < 0;
    if (strcmp(command, "--version") == 0)
        return printf("cz %s\n", cz_version()) < 0;
    bool runs = strcmp(command, "run") == 0;
    if (!runs && strcmp(command, "verify") != 0 && strcmp(command, "inspect") != 0)
        return cz_usage("unknown command ", command);
    int result = parse(argc, argv, &given);
    if (result)
        return result;
    if (runs)
        return given.trace ? cz_cli_run(&given) : cz_usage("run needs a trace", "");
    if (given.trace || given.capacity)
        return cz_usage("a trace and --capacity belong to run, not to ", command);
    return strcmp(command, "verify") == 0 ? verify(&given) : inspect(&given);
}

/* The output is lost where standard output cannot be written to, which shows when it is flushed. */
int main(int argc, char **argv) {
    int result = run_command(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "cz: standard output cannot be written to (%s)\n", strerror(errno));
        return result ? result : 1;
    }
    return result;
}
