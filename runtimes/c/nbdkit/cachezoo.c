/* nbdkit filter: a cache of reads, or of reads and writes, on a file or block device; a classic policy or a bundle of the
 * cachezoo model zoo decides what it holds. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <nbdkit-filter.h>

#include "back.h"
#include "control.h"
#include "fills.h"
#include "opened.h"

#define RATE_S 60 /* over which the rate of writes to the SSD is shown */

static opened all;
static config *const options = &all.config;
static pthread_t reporter;
static pthread_mutex_t report_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t report_end;
static bool is_open, reporting, ending;
static char *default_name; /* of the plugin's default export, as it was given first */

/* One connection. */
typedef struct handle {
    char *name; /* of the export */
    backend backend;
    bool bypass;  /* of another export than the tier's: its reads go to the plugin */
    bool flushes; /* the plugin can flush: what it has not flushed may be undone by a crash */
} handle;

static void cz_load(void) {
    config_start(options);
}

/* Texts of a report that are nobody else's. */
typedef struct texts {
    char policy[64], reason[sizeof all.served.reason];
} texts;

/* What decides, as it may be typed. */
static const char *policy_text(const config *config, texts *texts) {
    const choice *choice = &config->choice;
    if (choice->policy)
        return choice->policy;
    if (choice->bundle)
        return all.policy.info.id;
    if (choice->mode != CZ_REJECTX)
        return "lru";
    snprintf(texts->policy, sizeof texts->policy, "rejectx(window=%lld)", (long long)choice->window);
    return texts->policy;
}

/* The counters as they are now, without a word of text. */
static void count_now(stats *now, stats_about *about, texts *texts) {
    served *served = &all.served;
    cz_counters counters;
    cz_following following;
    uint64_t time = now_ns();
    pthread_mutex_lock(&served->lock);
    stats_copy(now, &served->stats);
    cz_cache_stats(served->cache, &counters);
    if (cz_cache_following(served->cache, &following) == CZ_OK) {
        about->category = cz_category(all.policy.monitor, following.category);
        about->decides = cz_category(all.policy.monitor, following.decides);
        about->takeovers = following.takeovers;
    }
    about->units = served->n_slots;
    about->unit_bytes = served->unit_bytes;
    about->resident = (int64_t)counters.keys;
    about->dirty = served->n_dirty;
    about->backend_bytes = served->backend_bytes;
    about->write_rate = (uint64_t)all.config.write_rate;
    about->ssd_write_rate = (double)budget_written(&served->budget, time, RATE_S) / RATE_S;
    about->uptime_s = (double)time / 1e9 - (double)served->start_us / 1e6;
    about->bypassed = served->failed;
    about->bypassed_at = served->failed ? (double)served->failed_ns / 1e9 - (double)served->start_us / 1e6 : -1;
    about->refuses = served->refuses || (served->back && back_refuses(served->back));
    memcpy(texts->reason, served->reason, sizeof texts->reason);
    pthread_mutex_unlock(&served->lock);
}

/* With all.changes, so that no text goes away meanwhile. */
static void about_now(stats *now, stats_about *about, texts *texts) {
    const config *config = &all.config;
    const policy *policy = &all.policy;
    *about = (stats_about){.version = cz_version(),
                           .writes = config_writes(config),
                           .mode = config_mode(config),
                           .policy = policy_text(config, texts),
                           .kind = policy->bundle ? kind_name(policy->info.kind) : "",
                           .prefetch = policy->prefetch,
                           .bundle = config->choice.bundle ? policy->info.id : "",
                           .digest = config->choice.bundle ? policy->info.model_digest : "",
                           .volume = config->volume,
                           .ssd = config->ssd,
                           .disk = config->disk ? config->disk : config->file,
                           .label = config->label,
                           .bypass_reason = texts->reason};
    count_now(now, about, texts);
}

static void print_status(FILE *file) {
    texts texts;
    stats now;
    stats_about about;
    pthread_mutex_lock(&all.changes);
    about_now(&now, &about, &texts);
    stats_print(file, &now, &about);
    pthread_mutex_unlock(&all.changes);
}

static void report(void) {
    texts texts;
    stats now;
    stats_about about;
    pthread_mutex_lock(&all.changes);
    about_now(&now, &about, &texts);
    int failed = stats_write(&now, &about, options->stats);
    pthread_mutex_unlock(&all.changes);
    if (failed)
        nbdkit_error("cachezoo: %s: %s", options->stats, strerror(failed));
}

static void *report_now_and_then(void *nothing) {
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    pthread_mutex_lock(&report_lock);
    while (!ending) {
        next.tv_sec += options->stats_s;
        int woken = 0;
        while (!ending && woken != ETIMEDOUT)
            woken = pthread_cond_timedwait(&report_end, &report_lock, &next);
        if (ending)
            break;
        pthread_mutex_unlock(&report_lock);
        report();
        pthread_mutex_lock(&report_lock);
    }
    pthread_mutex_unlock(&report_lock);
    return nothing;
}

static int cz_config(nbdkit_next_config *next, nbdkit_backend *nxdata, const char *key, const char *value) {
    cz_error error;
    int taken = config_take(options, key, value, &error);
    if (taken < 0)
        nbdkit_error("cachezoo: %s", error.text);
    return taken == 1 ? next(nxdata, key, value) : taken;
}

static int cz_config_complete(nbdkit_next_config_complete *next, nbdkit_backend *nxdata) {
    cz_error error;
    if (config_check(options, &error) == CZ_OK)
        return next(nxdata);
    nbdkit_error("cachezoo: %s", error.text);
    return -1;
}

/* Before nbdkit goes to the background, so that errors reach the terminal. */
static int cz_get_ready(int thread_model) {
    (void)thread_model;
    int failed = options->stats ? stats_check(options->stats) : 0;
    if (failed) {
        nbdkit_error("cachezoo: %s: %s; cz-stats needs a folder that it may write to", options->stats,
                     strerror(failed));
        return -1;
    }
    if (options->control && control_check(options->control))
        return -1;
    if (open_all(&all))
        return -1;
    is_open = true;
    return 0;
}

static int begin_reports(void) {
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&report_end, &monotonic);
    pthread_condattr_destroy(&monotonic);
    int failed = pthread_create(&reporter, NULL, report_now_and_then, NULL);
    if (failed)
        nbdkit_error("cachezoo: %s", strerror(failed));
    reporting = !failed;
    return failed ? -1 : 0;
}

static int cz_after_fork(nbdkit_backend *backend) {
    if (all.served.back && back_start(all.served.back, backend)) {
        nbdkit_error("cachezoo: the cleaner cannot be started");
        return -1;
    }
    if (options->stats && begin_reports())
        return -1;
    return options->control ? control_begin(options->control, &all, print_status) : 0;
}

static void end_all(void) {
    control_end();
    if (is_open)
        queue_close(&all.served); /* before the last report */
    if (is_open && all.served.back)
        back_stop(all.served.back);
    if (reporting) {
        pthread_mutex_lock(&report_lock);
        ending = true;
        pthread_cond_signal(&report_end);
        pthread_mutex_unlock(&report_lock);
        pthread_join(reporter, NULL);
        report(); /* the last: the thread may have had no turn before its end */
        reporting = false;
    }
    if (is_open)
        close_all(&all);
    is_open = false;
}

static void cz_cleanup(nbdkit_backend *backend) {
    (void)backend;
    end_all();
}

static void cz_unload(void) {
    end_all();
    config_free(options);
    free(default_name);
}

static int cz_thread_model(void) {
    return NBDKIT_THREAD_MODEL_PARALLEL;
}

/* Asked for a client that names no export; it is opened by what is returned. */
static const char *cz_default_export(nbdkit_next_default_export *next, nbdkit_backend *nxdata, int readonly,
                                     int is_tls) {
    (void)is_tls;
    const char *name = next(nxdata, readonly);
    if (!name)
        return NULL;
    pthread_mutex_lock(&all.served.lock);
    if (!default_name)
        default_name = strdup(name);
    bool known = default_name;
    pthread_mutex_unlock(&all.served.lock);
    if (!known)
        nbdkit_error("cachezoo: no memory");
    return known ? name : NULL;
}

/* The tier is of one export by name, so that no restart mistakes one disk for another. */
static bool is_cached(const char *name) {
    pthread_mutex_lock(&all.served.lock);
    const char *cached = options->export ? options->export : default_name;
    bool same = cached && strcmp(cached, name) == 0;
    pthread_mutex_unlock(&all.served.lock);
    return same;
}

/* Counted before the plugin gives it a view of the disk. */
static int open_next(handle *self, nbdkit_next_open *next, nbdkit_context *context, int readonly, const char *name) {
    self->backend.alone = served_join(&all.served);
    int failed = next(context, readonly, name);
    if (failed)
        served_leave(&all.served);
    return failed;
}

/* In write-back mode the plugin alone does not hold what a client may read. */
static void *refuse_handle(handle *made) {
    served_leave(&all.served);
    free(made->name);
    free(made);
    return NULL;
}

static void *cz_open_handle(nbdkit_next_open *next, nbdkit_context *context, int readonly, const char *exportname,
                            int is_tls) {
    (void)is_tls;
    handle *made = calloc(1, sizeof *made);
    char *name = strdup(exportname);
    if (!made || !name) {
        nbdkit_error("cachezoo: no memory");
    } else if (open_next(made, next, context, readonly, exportname) == 0) {
        made->name = name;
        made->bypass = !is_cached(name);
        if (all.served.back && (made->bypass || *name)) { /* the cleaner opens the disk without a name */
            nbdkit_error(
                "cachezoo: export \"%s\" is not served: with cz-writes=back the plugin has one disk, without a "
                "name",
                name);
            return refuse_handle(made);
        }
        if (made->bypass)
            nbdkit_error("cachezoo: export \"%s\" is not cached; the tier is of %s", name,
                         options->export ? options->export : "the default export (cz-export chooses another)");
        return made;
    }
    free(name);
    free(made);
    return NULL;
}

/* A disk that is read in larger blocks than a segment's is not cached: segments are read one by one. */
static int check_blocks(nbdkit_next *next, handle *self) {
    uint32_t least, preferred, most;
    if (next->block_size(next, &least, &preferred, &most))
        return -1;
    int64_t unit = all.served.unit_bytes;
    if (self->bypass || least == 0 || unit % least == 0)
        return 0;
    self->bypass = true;
    nbdkit_error("cachezoo: the disk is read in blocks of %u bytes and a segment has %lld; it is not cached: cz-unit "
                 "must be a multiple",
                 (unsigned)least, (long long)unit);
    return 0;
}

static void end_flush(bool covers, bool done) {
    if (!done)
        served_lose(&all.served);
    served_flush_end(&all.served, covers, done);
}

/* With write-back a disk is served as it must be or not at all. */
static int prepare_back(nbdkit_next *next, const handle *self, int64_t size, bool able) {
    served *served = &all.served;
    view view = {.bytes = size, .next = next, .read = read_next};
    int err;
    const char *wrong = self->bypass ? "see above"
                        : !able      ? "cz-writes=back needs one that can be flushed, and whose connections see each "
                                       "other's writes"
                        : !served_attach(served, &view, self->name) ? "see above"
                        : size != served->backend_bytes             ? "it has changed its size"
                                                                    : NULL;
    if (wrong) {
        nbdkit_error("cachezoo: the disk is not served: %s", wrong);
        return -1;
    }
    if (back_flush(served->back, next, &err) == 0)
        return 0;
    pthread_mutex_lock(&served->lock);
    bool refuses = back_refuses(served->back); /* reads are right all the same */
    pthread_mutex_unlock(&served->lock);
    if (!refuses)
        nbdkit_error("cachezoo: the disk is not served: its first flush failed: %s", strerror(err));
    return refuses ? 0 : -1;
}

/* What was written before the tier is taken up is flushed, so that what is cached of it outlasts a crash. */
static int cz_prepare(nbdkit_next *next, void *data, int readonly) {
    (void)readonly;
    handle *self = data;
    int64_t size = next->get_size(next);
    int multi = next->can_multi_conn(next), flush = next->can_flush(next), err;
    if (size < 0 || multi < 0 || flush < 0 || check_blocks(next, self))
        return -1;
    self->backend.read = read_next;
    self->backend.sees_all = multi == 1;
    self->flushes = flush == 1;
    if (all.served.back)
        return prepare_back(next, self, size, multi == 1 && flush == 1);
    if (!self->bypass) {
        view view = {.bytes = size, .next = next, .read = read_next};
        (void)served_attach(&all.served, &view, self->name);
        bool covers = served_flush_begin(&all.served, self->backend.sees_all);
        bool done = flush != 1 || next->flush(next, 0, &err) == 0;
        end_flush(covers, done);
        self->bypass = size != all.served.backend_bytes;
        if (self->bypass)
            served_resized(&all.served);
    }
    return 0;
}

static int cz_flush(nbdkit_next *next, void *data, uint32_t flags, int *err) {
    const handle *self = data;
    if (all.served.back)
        return back_flush(all.served.back, next, err);
    /* Of another disk, perhaps: it covers nothing. Where it fails, it may have been of this one. */
    bool covers = !self->bypass && served_flush_begin(&all.served, self->backend.sees_all);
    int failed = next->flush(next, flags, err);
    end_flush(covers, failed == 0);
    return failed;
}

/* Whoever leaves flushes: a restart finds what was cached of its writes, and where connections do not see each other
 * nobody else can. */
static int cz_finalize(nbdkit_next *next, void *data) {
    handle *self = data;
    int err;
    if (self->flushes && cz_flush(next, data, 0, &err) < 0)
        nbdkit_error("cachezoo: the last flush failed: %s", strerror(err));
    view view = {.bytes = next->get_size(next), .next = next, .read = read_next};
    if (!self->bypass && view.bytes > 0)
        served_part(&all.served, &view);
    return 0;
}

static void cz_close_handle(void *data) {
    handle *self = data;
    served_leave(&all.served);
    free(self->name);
    free(self);
}

static int cz_pread(nbdkit_next *next, void *data, void *buffer, uint32_t count, uint64_t offset, uint32_t flags,
                    int *err) {
    handle *self = data;
    if (self->bypass && !all.served.back)
        return next->pread(next, buffer, count, offset, flags, err);
    static const enum took took[] = {
        [FROM_SSD] = TOOK_SSD, [FROM_DISK] = TOOK_DISK, [FROM_SSD | FROM_DISK] = TOOK_BOTH};
    uint64_t begin = now_ns();
    unsigned sources = 0;
    backend plugin = self->backend;
    plugin.next = next;
    plugin.sources = &sources;
    int failed = all.served.back ? back_read(all.served.back, next, buffer, count, offset, &sources, err)
                                 : served_read(&all.served, &plugin, buffer, count, offset, err);
    if (!failed && sources)
        stats_took(&all.served.stats, took[sources], now_ns() - begin);
    return failed;
}

/* The end of a change that must not reach the plugin. */
static int refuse(writing *now, int *err) {
    served_write_end(&all.served, now, true, NULL);
    *err = EIO;
    return -1;
}

/* The end of a change. One that was to be durable and failed is a flush that failed. */
static int end_change(const handle *self, writing *now, uint32_t flags, int failed, const written *written) {
    bool durable = (flags & NBDKIT_FLAG_FUA) || !self->flushes;
    if (failed && (flags & NBDKIT_FLAG_FUA))
        served_lose(&all.served);
    served_write_end(&all.served, now, durable && !failed, failed ? NULL : written);
    return failed;
}

/* A write of another export invalidates too: a plugin may show one disk under several names. */
static int cz_pwrite(nbdkit_next *next, void *data, const void *buffer, uint32_t count, uint64_t offset, uint32_t flags,
                     int *err) {
    handle *self = data;
    writing now;
    uint64_t begin = now_ns();
    if (all.served.back) {
        int lost = back_write(all.served.back, next, buffer, count, offset, flags, err);
        if (!lost)
            stats_took(&all.served.stats, TOOK_WRITE, now_ns() - begin);
        return lost;
    }
    if (!served_write_begin(&all.served, &now, count, offset, self->bypass ? BYPASSED : WRITTEN))
        return refuse(&now, err);
    written written = {.backend = &self->backend, .data = buffer, .count = count, .offset = offset};
    int failed = end_change(self, &now, flags, next->pwrite(next, buffer, count, offset, flags, err), &written);
    if (!failed)
        stats_took(&all.served.stats, TOOK_WRITE, now_ns() - begin);
    return failed;
}

static int cz_zero(nbdkit_next *next, void *data, uint32_t count, uint64_t offset, uint32_t flags, int *err) {
    writing now;
    if (all.served.back)
        return back_zero(all.served.back, next, count, offset, flags, false, err);
    if (!served_write_begin(&all.served, &now, count, offset, ZEROED))
        return refuse(&now, err);
    int failed = next->zero(next, count, offset, flags, err);
    return end_change(data, &now, flags, failed, NULL);
}

static int cz_trim(nbdkit_next *next, void *data, uint32_t count, uint64_t offset, uint32_t flags, int *err) {
    writing now;
    if (all.served.back)
        return back_zero(all.served.back, next, count, offset, flags, true, err);
    if (!served_write_begin(&all.served, &now, count, offset, TRIMMED))
        return refuse(&now, err);
    int failed = next->trim(next, count, offset, flags, err);
    return end_change(data, &now, flags, failed, NULL);
}

/* With write-back the plugin does not know what holds data; FUA is done here, and a zeroing is never fast. */
static int cz_can_extents(nbdkit_next *next, void *data) {
    (void)data;
    return all.served.back ? 0 : next->can_extents(next);
}

static int cz_can_fua(nbdkit_next *next, void *data) {
    (void)data;
    return all.served.back ? NBDKIT_FUA_NATIVE : next->can_fua(next);
}

static int cz_can_fast_zero(nbdkit_next *next, void *data) {
    (void)data;
    return all.served.back ? 0 : next->can_fast_zero(next);
}

static struct nbdkit_filter filter = {
    .name = "cachezoo",
    .longname = "cachezoo cache",
    .description = "A cache on flash, decided by a classic policy or a bundle of the cachezoo model zoo.",
    .load = cz_load,
    .unload = cz_unload,
    .config = cz_config,
    .config_complete = cz_config_complete,
    .config_help = config_help,
    .thread_model = cz_thread_model,
    .get_ready = cz_get_ready,
    .after_fork = cz_after_fork,
    .cleanup = cz_cleanup,
    .default_export = cz_default_export,
    .open = cz_open_handle,
    .close = cz_close_handle,
    .prepare = cz_prepare,
    .finalize = cz_finalize,
    .can_extents = cz_can_extents,
    .can_fua = cz_can_fua,
    .can_fast_zero = cz_can_fast_zero,
    .pread = cz_pread,
    .pwrite = cz_pwrite,
    .flush = cz_flush,
    .zero = cz_zero,
    .trim = cz_trim,
};

NBDKIT_REGISTER_FILTER(filter)
