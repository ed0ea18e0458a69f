#include "stats.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEAST_POWER 7 /* the histograms' first bound is 128 ns, the last 17 s */
#define MOST_POWER 34

/* Bins 0 to 7 are of 1 to 8 ns, 0 in the first; each power of two above has eight. A bin has its upper end. */
static unsigned bin_of(uint64_t ns) {
    uint64_t below = ns ? ns - 1 : 0;
    if (below < 8)
        return (unsigned)below;
    unsigned power = 63u - (unsigned)__builtin_clzll(below);
    unsigned bin = (power - 2) * 8 + (unsigned)((below >> (power - 3)) & 7);
    return bin < STATS_BINS ? bin : STATS_BINS - 1;
}

static uint64_t end_of(unsigned bin) {
    if (bin < 8)
        return bin + 1;
    unsigned power = bin / 8 + 2;
    return (UINT64_C(8) + bin % 8 + 1) << (power - 3);
}

static void add(uint64_t *to, uint64_t what) {
    __atomic_fetch_add(to, what, __ATOMIC_RELAXED);
}

static uint64_t look(const uint64_t *at) {
    return __atomic_load_n(at, __ATOMIC_RELAXED);
}

void stats_took(stats *stats, enum took what, uint64_t ns) {
    histogram *to = &stats->took[what];
    uint64_t most = look(&to->max_ns);
    add(&to->bins[bin_of(ns)], 1);
    add(&to->sum_ns, ns);
    while (ns > most && !__atomic_compare_exchange_n(&to->max_ns, &most, ns, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

void stats_decision(stats *stats, uint64_t ns, const cz_access *access, bool queues) {
    stats_took(stats, TOOK_DECISION, ns);
    if (!access->asked)
        return;
    int32_t queue = access->decision.queue;
    if (!queues)
        *(access->decision.admit ? &stats->asked_admit : &stats->asked_refuse) += 1;
    else if (queue >= 0 && queue < 4)
        stats->asked_queues[queue]++;
}

void stats_copy(stats *copy, const stats *stats) {
    memcpy(copy, stats, offsetof(struct stats, took));
    for (int what = 0; what < TOOKS; what++) {
        const histogram *from = &stats->took[what];
        histogram *to = &copy->took[what];
        to->sum_ns = look(&from->sum_ns);
        to->max_ns = look(&from->max_ns);
        for (unsigned bin = 0; bin < STATS_BINS; bin++)
            to->bins[bin] = look(&from->bins[bin]);
    }
}

static uint64_t count_of(const histogram *histogram) {
    uint64_t count = 0;
    for (unsigned bin = 0; bin < STATS_BINS; bin++)
        count += histogram->bins[bin];
    return count;
}

uint64_t stats_share_ns(const histogram *histogram, double share) {
    uint64_t seen = 0;
    double wanted = share * (double)count_of(histogram);
    for (unsigned bin = 0; bin < STATS_BINS; bin++) {
        seen += histogram->bins[bin];
        if (histogram->bins[bin] > 0 && (double)seen >= wanted)
            return end_of(bin) < histogram->max_ns ? end_of(bin) : histogram->max_ns;
    }
    return histogram->max_ns;
}

/* Bytes of the letter that a text begins with, in UTF-8; 0 where it begins with none. */
static int letter(const unsigned char *at) {
    int more = *at < 0x80 ? 0 : *at < 0xc2 ? -1 : *at < 0xe0 ? 1 : *at < 0xf0 ? 2 : *at < 0xf5 ? 3 : -1;
    if (more >= 2 && ((*at == 0xe0 && at[1] < 0xa0) || (*at == 0xed && at[1] >= 0xa0) ||
                      (*at == 0xf0 && at[1] < 0x90) || (*at == 0xf4 && at[1] >= 0x90)))
        return 0; /* too long, half of a pair, or past the last letter */
    for (int k = 1; k <= more; k++) {
        if ((at[k] & 0xc0) != 0x80)
            return 0;
    }
    return more + 1;
}

/* Paths may have any bytes, and messages cut them: what is no letter is printed as U+FFFD. */
void stats_text(FILE *file, const char *key, const char *text) {
    fprintf(file, "\"%s\": \"", key);
    for (const unsigned char *at = (const unsigned char *)(text ? text : ""); *at;) {
        int bytes = letter(at);
        if (!bytes)
            fputs("\\ufffd", file);
        else if (*at == '"' || *at == '\\' || *at < ' ')
            fprintf(file, "\\u%04x", (unsigned)*at);
        else
            fwrite(at, 1, (size_t)bytes, file);
        at += bytes ? bytes : 1;
    }
    fputc('"', file);
}

static void print_texts(FILE *file, const stats_about *about) {
    const struct {
        const char *key, *text;
    } texts[] = {
        {"version", about->version},     {"writes", about->writes},     {"mode", about->mode},
        {"policy", about->policy},       {"kind", about->kind},         {"bundle", about->bundle},
        {"model_digest", about->digest}, {"prefetch", about->prefetch}, {"category", about->category},
        {"decides", about->decides},     {"volume", about->volume},     {"ssd", about->ssd},
        {"disk", about->disk},           {"label", about->label},       {"bypass_reason", about->bypass_reason},
    };
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
        fputs("  ", file);
        stats_text(file, texts[k].key, texts[k].text);
        fputs(",\n", file);
    }
}

static void print_counts(FILE *file, const stats *stats, const stats_about *about) {
    uint64_t units_missed = stats->misses + stats->write_misses;
    const struct {
        const char *key;
        uint64_t value;
    } counts[] = {
        {"unit_bytes", (uint64_t)about->unit_bytes},
        {"units", (uint64_t)about->units},
        {"cache_bytes", (uint64_t)(about->units * about->unit_bytes)},
        {"disk_bytes", (uint64_t)about->backend_bytes},
        {"resident", (uint64_t)about->resident},
        {"dirty", (uint64_t)about->dirty},
        {"read_requests", stats->reads},
        {"write_requests", stats->writes},
        {"zeroes", stats->zeroes},
        {"trims", stats->trims},
        {"read_bytes", stats->read_bytes},
        {"write_bytes", stats->write_bytes},
        {"read_hits", stats->hits},
        {"read_misses", stats->misses},
        {"write_hits", stats->write_hits},
        {"write_misses", stats->write_misses},
        {"hits_read_from_disk", stats->late},
        {"ssd_read_bytes", stats->ssd_read_bytes},
        {"disk_reads", stats->backend_reads},
        {"disk_read_bytes", stats->backend_read_bytes},
        {"disk_read_units", stats->io_units},
        {"admitted", stats->admitted},
        {"refused", units_missed > stats->admitted ? units_missed - stats->admitted : 0},
        {"prefetched", stats->prefetched},
        {"evicted", stats->evicted},
        {"invalidated", stats->invalidated},
        {"resident_at_start", stats->recovered},
        {"ssd_writes", stats->fills},
        {"ssd_write_bytes", stats->fill_bytes},
        {"ssd_writes_cancelled", stats->abandoned},
        {"ssd_writes_skipped", stats->skipped},
        {"ssd_writes_over_budget", stats->over_budget},
        {"write_rate", about->write_rate},
        {"writes_waited", stats->settled},
        {"ssd_errors", stats->ssd_errors},
        {"written_back", stats->destaged},
        {"writes_waited_for_room", stats->write_waits},
        {"lost_units", stats->lost_blocks},
        {"ssd_corrupt", stats->corrupt},
        {"policy_failures", stats->failures},
        {"decisions", count_of(&stats->took[TOOK_DECISION])},
        {"takeovers", about->takeovers},
        {"reloads", stats->reloads},
        {"attaches", stats->attaches},
    };
    for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++)
        fprintf(file, "  \"%s\": %llu,\n", counts[k].key, (unsigned long long)counts[k].value);
}

/* As OpenMetrics wants it: bounds belong to their bucket, counts are of all up to the bound, the last of all. */
static void print_histogram(FILE *file, const char *key, const histogram *histogram) {
    uint64_t count = count_of(histogram), seen = 0;
    unsigned bin = 0;
    fprintf(file, "    \"%s\": {\"bounds\": [", key);
    for (int power = LEAST_POWER; power <= MOST_POWER; power++)
        fprintf(file, "%s%.12g", power > LEAST_POWER ? ", " : "", (double)(UINT64_C(1) << power) / 1e9);
    fprintf(file, "], \"buckets\": [");
    for (int power = LEAST_POWER; power <= MOST_POWER; power++) {
        while (bin < STATS_BINS && end_of(bin) <= UINT64_C(1) << power)
            seen += histogram->bins[bin++];
        fprintf(file, "%llu, ", (unsigned long long)seen);
    }
    fprintf(file, "%llu], \"count\": %llu, \"sum\": %.9f, \"max\": %.9f", (unsigned long long)count,
            (unsigned long long)count, (double)histogram->sum_ns / 1e9, (double)histogram->max_ns / 1e9);
    fprintf(file, ", \"p50\": %.9f, \"p90\": %.9f, \"p99\": %.9f}", (double)stats_share_ns(histogram, 0.5) / 1e9,
            (double)stats_share_ns(histogram, 0.9) / 1e9, (double)stats_share_ns(histogram, 0.99) / 1e9);
}

static void print_asked(FILE *file, const stats *stats) {
    const uint64_t *queues = stats->asked_queues;
    fprintf(file, "  \"model_decisions\": {\"admit\": %llu, \"refuse\": %llu", (unsigned long long)stats->asked_admit,
            (unsigned long long)stats->asked_refuse);
    fprintf(file, ", \"bypass\": %llu, \"soon\": %llu, \"mean\": %llu, \"late\": %llu},\n",
            (unsigned long long)queues[0], (unsigned long long)queues[1], (unsigned long long)queues[2],
            (unsigned long long)queues[3]);
}

void stats_print(FILE *file, const stats *stats, const stats_about *about) {
    static const char *const names[TOOKS] = {[TOOK_DECISION] = "decision",
                                             [TOOK_SSD] = "read_ssd",
                                             [TOOK_DISK] = "read_disk",
                                             [TOOK_BOTH] = "read_both",
                                             [TOOK_WRITE] = "write"};
    fprintf(file, "{\n");
    print_texts(file, about);
    fprintf(file, "  \"uptime_s\": %.3f,\n  \"bypassed_at_s\": %.3f,\n  \"ssd_write_rate\": %.3f,\n", about->uptime_s,
            about->bypassed_at, about->ssd_write_rate);
    fprintf(file, "  \"bypassed\": %s,\n  \"writes_refused\": %s,\n", about->bypassed ? "true" : "false",
            about->refuses ? "true" : "false");
    print_counts(file, stats, about);
    print_asked(file, stats);
    fprintf(file, "  \"latency\": {\n");
    for (int what = 0; what < TOOKS; what++) {
        print_histogram(file, names[what], &stats->took[what]);
        fputs(what + 1 < TOOKS ? ",\n" : "\n", file);
    }
    fprintf(file, "  }\n}\n");
}

/* The pattern of a file next to another, for mkstemp; NULL without memory. */
static char *pattern_next_to(const char *path) {
    size_t length = strlen(path);
    char *temporary = malloc(length + 8);
    if (temporary) {
        memcpy(temporary, path, length);
        memcpy(temporary + length, ".XXXXXX", 8);
    }
    return temporary;
}

int stats_check(const char *path) {
    char *temporary = pattern_next_to(path);
    if (!temporary)
        return ENOMEM;
    int fd = mkstemp(temporary), failed = fd < 0 ? errno : 0;
    if (fd >= 0) {
        close(fd);
        unlink(temporary);
    }
    free(temporary);
    return failed;
}

int stats_write(const stats *stats, const stats_about *about, const char *path) {
    char *temporary = pattern_next_to(path);
    if (!temporary)
        return ENOMEM;
    int fd = mkstemp(temporary), failed = 0;
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file) {
        failed = errno;
        if (fd >= 0)
            close(fd);
    } else {
        stats_print(file, stats, about);
        if (fflush(file) || fdatasync(fd) || ferror(file))
            failed = errno ? errno : EIO;
        if (fclose(file) && !failed)
            failed = errno;
        if (!failed && rename(temporary, path))
            failed = errno;
    }
    if (failed && fd >= 0)
        unlink(temporary);
    free(temporary);
    return failed;
}
