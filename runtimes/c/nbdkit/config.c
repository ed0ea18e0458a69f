#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <nbdkit-filter.h>

const char config_help[] =
    "cz-ssd=FILE           (required) File or block device of the cache, of this disk alone.\n"
    "cz-size=SIZE          (required) Bytes of cached data on it.\n"
    "cz-format=NAME        What lies on cz-ssd may be overwritten; the refusal to do so says its NAME.\n"
    "cz-disk=PATH          File or block device behind the cache (the plugin's file=); it is locked.\n"
    "cz-policy=TEXT        A classic, such as s3fifo or rejectx(x=1)+lirs+next(n=4); instead of cz-mode.\n"
    "cz-mode=MODE          lru, rejectx or model; model is the default with cz-bundle, else lru.\n"
    "cz-bundle=PATH        Bundle of kind admission, policy, reuse or caching, a folder or a .zip.\n"
    "cz-monitor=PATH       Bundle of kind workload, by whose category the models of cz-models take turns.\n"
    "cz-models=PATH:PATH   Bundles of kind caching, each of one of its categories; cz-bundle's begins.\n"
    "cz-vote-every=SECONDS  A vote of cz-monitor begins at most once in so many; 0: they follow on one another (the\n"
    "                      bundle says).\n"
    "cz-key=FILE           Public key (PEM) of the release that the bundles must be in; else CACHEZOO_KEY's, else\n"
    "                      /etc/cachezoo/key.pub where there is one.\n"
    "cz-prefetch=MODE      none, all_on_miss, all_on_partial or next(n);\n"
    "                      the default is the bundle's, or none.\n"
    "cz-writes=MODE        around (the default), through or back; the last two with cz-policy and its kin.\n"
    "cz-dirty=PERCENT      back: how much of the cache may hold what the disk does not, 1 to 100 (50).\n"
    "cz-delay=SECONDS      back: how long a unit may, before it is written to the disk (30).\n"
    "cz-write-rate=RATE    What is written to cz-ssd at most, as 10MB/s or 500GiB/day (no limit): over any 10 "
    "seconds;\n"
    "                      a bundle of kind admission keeps it over half an hour, by admitting less.\n"
    "cz-window=N           rejectx: requests within which a second miss is admitted (100000).\n"
    "cz-misses=N           rejectx: misses remembered at most (1048576).\n"
    "cz-unit=SIZE, cz-block=SIZE  lru, rejectx: bytes of a segment and a block (4096, 262144).\n"
    "cz-volume=NAME        The disk's name, for the model, the log and the tier (disk).\n"
    "cz-export=NAME        The export that is cached; others are passed through (the default export).\n"
    "cz-label=FILE         A small file off the SSD, of this disk alone: the tier outlasts kills and crashes.\n"
    "cz-control=SOCKET     A Unix socket, made here: status, reload, attach.\n"
    "cz-log=FILE           Requests, as a trace.\n"
    "cz-stats=FILE         Counters as JSON, at the end and every cz-stats-interval=SECONDS (10).";

#define MOST ((int64_t)1 << 30) /* of a count */
#define DIRTY_PERCENT 50
#define DELAY_S 30
#define WINDOW 100000 /* what recommend --for nbdkit tries first */

static void start_choice(choice *choice) {
    *choice = (struct choice){.mode = -1, .window = -1, .vote_every = -1};
}

void config_start(config *config) {
    *config = (struct config){.writes = -1, .write_rate = -1, .dirty_percent = -1, .delay_s = -1, .stats_s = 10};
    start_choice(&config->choice);
}

static void choice_free(choice *choice) {
    free(choice->policy);
    free(choice->bundle);
    free(choice->prefetch);
    free(choice->monitor);
    for (int k = 0; choice->models[k]; k++)
        free(choice->models[k]);
    start_choice(choice);
}

void config_free(config *config) {
    char *texts[] = {config->ssd,  config->log,    config->stats, config->control, config->volume, config->export,
                     config->disk, config->format, config->file,  config->label,   config->key};
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++)
        free(texts[k]);
    choice_free(&config->choice);
    config_start(config);
}

static int take_text(char **text, const char *key, char *value, cz_error *error) {
    const char *wrong = !value ? "no memory, or no path" : *text ? "given twice" : !*value ? "empty" : NULL;
    if (!wrong) {
        *text = value;
        return 0;
    }
    free(value);
    cz_fail(error, CZ_BAD_CALL, "%s: %s", key, wrong);
    return -1;
}

/* Paths with colons between them. */
static int take_models(char **models, const char *key, const char *value, cz_error *error) {
    char *all = models[0] ? NULL : strdup(value), *rest = all;
    const char *wrong = models[0] ? "given twice" : all ? NULL : "no memory";
    for (int n = 0; !wrong && rest; n++) {
        const char *one = strsep(&rest, ":");
        if (!*one)
            wrong = "empty, or a path of it is";
        else if (n == CZ_MAX_OUTPUTS)
            wrong = "more bundles than a monitor has categories";
        else if (!(models[n] = nbdkit_absolute_path(one)))
            wrong = "no memory, or no path";
    }
    free(all);
    if (!wrong)
        return 0;
    cz_fail(error, CZ_BAD_CALL, "%s: %s", key, wrong);
    return -1;
}

/* Bytes, or with a binary suffix. */
static int take_size(int64_t *size, const char *key, const char *value, int64_t least, cz_error *error) {
    static const char suffixes[] = "KMGTP";
    char *end;
    errno = 0;
    long long number = strtoll(value, &end, 10);
    const char *suffix = *end ? strchr(suffixes, *end >= 'a' ? *end - 'a' + 'A' : *end) : NULL;
    int shift = suffix ? 10 * (int)(suffix - suffixes + 1) : 0;
    end += suffix != NULL;
    if (end == value || *end || errno || number < 0 || number > INT64_MAX >> shift) {
        cz_fail(error, CZ_BAD_CALL, "%s=%.64s: not a size; write bytes, or 4K, 64M, 64G", key, value);
        return -1;
    }
    if (number < least) {
        cz_fail(error, CZ_BAD_CALL, "%s is 0", key);
        return -1;
    }
    *size = (int64_t)number << shift;
    return 0;
}

/* Bytes a second, as a size, or as 10MB/s and 500GiB/day. */
static int take_rate(int64_t *rate, const char *key, const char *value, cz_error *error) {
    static const struct {
        const char *name;
        double scale;
    } sizes[] = {{"B", 1},        {"kB", 1e3},     {"MB", 1e6},     {"GB", 1e9},    {"TB", 1e12},
                 {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}},
      times[] = {{"s", 1}, {"min", 60}, {"h", 3600}, {"day", 86400}};
    const char *end, *slash = strchr(value, '/');
    double found = 0, size = 0, seconds = 0;
    if (!slash)
        return take_size(rate, key, value, 0, error);
    if (*value >= '0' && *value <= '9' && cz_decimal(value, &end, &found)) {
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            size_t length = strlen(sizes[k].name);
            if (length == (size_t)(slash - end) && strncasecmp(end, sizes[k].name, length) == 0)
                size = sizes[k].scale;
        }
        for (size_t k = 0; k < sizeof times / sizeof *times; k++)
            seconds = strcmp(slash + 1, times[k].name) == 0 ? times[k].scale : seconds;
    }
    found = seconds > 0 ? found * size / seconds : 0;
    if (!(found >= 1 && found <= 1e15)) {
        cz_fail(error, CZ_BAD_CALL, "%s=%.64s: not a rate; write 10MB/s or 500GiB/day, at least 1B/s", key, value);
        return -1;
    }
    *rate = (int64_t)found;
    return 0;
}

static int take_count(int64_t *count, const char *key, const char *value, int64_t least, int64_t most,
                      cz_error *error) {
    char *end;
    errno = 0;
    long long number = strtoll(value, &end, 10);
    if (end != value && !*end && !errno && number >= least && number <= most) {
        *count = number;
        return 0;
    }
    cz_fail(error, CZ_BAD_CALL, "%s=%.64s: it must be a whole number from %lld to %lld", key, value, (long long)least,
            (long long)most);
    return -1;
}

static const char *const modes[] = {[CZ_LRU] = "lru", [CZ_REJECTX] = "rejectx", [CZ_MODEL] = "model"};
static const char *const writes[] = {[CZ_AROUND] = "around", [CZ_THROUGH] = "through", [CZ_BACK] = "back"};

static int take_word(int *found, const char *const *words, int first, int last, const char *key, const char *value,
                     cz_error *error) {
    for (int word = first; word <= last; word++) {
        if (strcmp(value, words[word]) == 0) {
            *found = word;
            return 0;
        }
    }
    cz_fail(error, CZ_BAD_CALL, "%s=%.64s: there are %s, %s and %s", key, value, words[first], words[first + 1],
            words[last]);
    return -1;
}

static int take_number(config *config, const char *key, const char *value, cz_error *error) {
    choice *choice = &config->choice;
    if (strcmp(key, "cz-size") == 0)
        return take_size(&config->size, key, value, 1, error);
    if (strcmp(key, "cz-unit") == 0)
        return take_size(&config->unit_bytes, key, value, 1, error);
    if (strcmp(key, "cz-block") == 0)
        return take_size(&config->block_bytes, key, value, 1, error);
    if (strcmp(key, "cz-write-rate") == 0)
        return take_rate(&config->write_rate, key, value, error);
    if (strcmp(key, "cz-window") == 0)
        return take_count(&choice->window, key, value, 0, MOST, error);
    if (strcmp(key, "cz-misses") == 0)
        return take_count(&choice->max_misses, key, value, 1, MOST, error);
    if (strcmp(key, "cz-vote-every") == 0)
        return take_count(&choice->vote_every, key, value, 0, CZ_MOST_EVERY, error);
    if (strcmp(key, "cz-delay") == 0)
        return take_count(&config->delay_s, key, value, 0, MOST, error);
    if (strcmp(key, "cz-dirty") == 0)
        return take_count(&config->dirty_percent, key, value, 1, 100, error);
    if (strcmp(key, "cz-stats-interval") == 0) {
        int64_t seconds = 0;
        int failed = take_count(&seconds, key, value, 1, MOST, error);
        config->stats_s = (int)seconds;
        return failed;
    }
    cz_fail(error, CZ_BAD_CALL, "%.64s is no option of this filter", key);
    return -1;
}

/* The plugin's own option: it passes on. Of several files none is the disk. */
static int note_file(config *config, const char *value, cz_error *error) {
    free(config->file);
    config->file = config->files++ == 0 ? nbdkit_absolute_path(value) : NULL;
    if (config->files != 1 || config->file)
        return 1;
    cz_fail(error, CZ_BAD_CALL, "file=%.256s: no memory, or no path", value);
    return -1;
}

int config_take(config *config, const char *key, const char *value, cz_error *error) {
    choice *choice = &config->choice;
    const struct {
        const char *key;
        char **text;
        bool path;
    } texts[] = {{"cz-policy", &choice->policy, false},  {"cz-bundle", &choice->bundle, true},
                 {"cz-monitor", &choice->monitor, true}, {"cz-prefetch", &choice->prefetch, false},
                 {"cz-ssd", &config->ssd, true},         {"cz-log", &config->log, true},
                 {"cz-stats", &config->stats, true},     {"cz-control", &config->control, true},
                 {"cz-volume", &config->volume, false},  {"cz-export", &config->export, false},
                 {"cz-disk", &config->disk, true},       {"cz-format", &config->format, false},
                 {"cz-label", &config->label, true},     {"cz-key", &config->key, true}};
    if (strcmp(key, "file") == 0)
        return note_file(config, value, error);
    if (strncmp(key, "cz-", 3) != 0)
        return 1;
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
        if (strcmp(key, texts[k].key) == 0)
            return take_text(texts[k].text, key, texts[k].path ? nbdkit_absolute_path(value) : strdup(value), error);
    }
    if (strcmp(key, "cz-prefetch-bundle") == 0) {
        cz_fail(error, CZ_BAD_CALL, "cz-prefetch-bundle: models of kind prefetch are no longer run; leave it out");
        return -1;
    }
    if (strcmp(key, "cz-models") == 0)
        return take_models(choice->models, key, value, error);
    if (strcmp(key, "cz-mode") == 0)
        return take_word(&choice->mode, modes, CZ_LRU, CZ_MODEL, key, value, error);
    if (strcmp(key, "cz-writes") == 0)
        return take_word(&config->writes, writes, CZ_AROUND, CZ_BACK, key, value, error);
    return take_number(config, key, value, error);
}

static const char *wrong_choice(const config *config) {
    const choice *choice = &config->choice;
    bool flash = choice->mode != CZ_MODEL;
    if (choice->policy && choice->bundle)
        return "cz-policy and cz-bundle are two ways to decide; give one";
    if (choice->policy && !(choice->mode == CZ_MODEL && choice->window < 0 && choice->max_misses == 0))
        return "cz-mode, cz-window and cz-misses are not for cz-policy, whose text says all: rejectx(x=1)+lru";
    if (choice->policy && choice->prefetch)
        return "cz-prefetch is not for cz-policy, whose text says all: lru+next(n=4)";
    if (choice->policy && config->block_bytes)
        return "cz-block is not for cz-policy";
    if (choice->mode == CZ_MODEL && !choice->bundle && !choice->policy)
        return "cz-mode=model needs cz-bundle";
    if (!choice->monitor != !choice->models[0] || (choice->monitor && !choice->bundle))
        return "cz-monitor and cz-models need each other, and cz-bundle, the model that begins";
    if (choice->vote_every >= 0 && !choice->monitor)
        return "cz-vote-every is for cz-monitor; give that too, or leave it out";
    if (flash && choice->bundle)
        return "cz-bundle is for cz-mode=model";
    if (choice->mode != CZ_REJECTX && (choice->window >= 0 || choice->max_misses))
        return "cz-window and cz-misses are for cz-mode=rejectx";
    if (flash && config->writes > CZ_AROUND)
        return "cz-writes=through and back need cz-policy (cz-policy=lru is one), or a bundle of a page cache; cz-mode "
               "caches no writes";
    return NULL;
}

int choice_check(config *config, cz_error *error) {
    choice *choice = &config->choice;
    if (choice->mode < 0)
        choice->mode = choice->bundle || choice->policy ? CZ_MODEL : CZ_LRU;
    else if (choice->policy)
        choice->mode = CZ_LRU; /* to be refused below, whatever it was */
    const char *wrong = wrong_choice(config);
    if (choice->mode == CZ_REJECTX && choice->window < 0)
        choice->window = WINDOW;
    return wrong ? cz_fail(error, CZ_BAD_CALL, "%s", wrong) : CZ_OK;
}

/* What only write-back has. */
static const char *wrong_back(config *config) {
    if (config->writes != CZ_BACK)
        return config->dirty_percent >= 0 || config->delay_s >= 0 ? "cz-dirty and cz-delay are for cz-writes=back"
                                                                  : NULL;
    config->dirty_percent = config->dirty_percent < 0 ? DIRTY_PERCENT : config->dirty_percent;
    config->delay_s = config->delay_s < 0 ? DELAY_S : config->delay_s;
    return config->label ? NULL : "cz-writes=back needs cz-label, a small file off the SSD";
}

int config_check(config *config, cz_error *error) {
    const char *wrong = NULL;
    if (config->writes < 0)
        config->writes = CZ_AROUND;
    if (config->write_rate < 0)
        config->write_rate = 0;
    if (!config->volume && !(config->volume = strdup("disk")))
        wrong = "no memory";
    else if (!config->ssd)
        wrong = "cz-ssd is missing: the file or block device of the cache";
    else if (config->size == 0)
        wrong = "cz-size is missing: the bytes of data that the cache holds";
    else if (config->key && !config->choice.bundle)
        wrong = "cz-key is of the release that cz-bundle is in; give that too, or leave it out";
    else if (config->choice.bundle && (config->unit_bytes || config->block_bytes))
        wrong = "cz-unit and cz-block are the bundle's; leave them out";
    else if (strlen(config->volume) > 255)
        wrong = "cz-volume is longer than 255 bytes";
    if (!wrong)
        wrong = wrong_back(config);
    return wrong ? cz_fail(error, CZ_BAD_CALL, "%s", wrong) : choice_check(config, error);
}

const char *config_mode(const config *config) {
    return config->choice.policy ? "policy" : modes[config->choice.mode];
}

const char *config_writes(const config *config) {
    return writes[config->writes];
}
