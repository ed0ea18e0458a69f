#include "stats.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bins 0 to 7 are of 0 to 7 ns; each power of two above has eight. */
static unsigned bin_of(uint64_t ns) {
    if (ns < 8)
        return (unsigned)ns;
    unsigned power = 63u - (unsigned)__builtin_clzll(ns);
    unsigned bin = (power - 2) * 8 + (unsigned)((ns >> (power - 3)) & 7);
    return bin < STATS_BINS ? bin : STATS_BINS - 1;
}

static uint64_t end_of(unsigned bin) {
    if (bin < 8)
        return bin;
    unsigned power = bin / 8 + 2;
    return ((UINT64_C(8) + bin % 8 + 1) << (power - 3)) - 1;
}

void stats_decision(stats *stats, uint64_t ns) {
    stats->decisions++;
    stats->bins[bin_of(ns)]++;
    if (ns > stats->decision_max_ns)
        stats->decision_max_ns = ns;
}

uint64_t stats_decision_ns(const stats *stats, double share) {
    uint64_t seen = 0;
    double wanted = share * (double)stats->decisions;
    for (unsigned bin = 0; bin < STATS_BINS && stats->decisions > 0; bin++) {
        seen += stats->bins[bin];
        if (stats->bins[bin] > 0 && (double)seen >= wanted)
            return end_of(bin) < stats->decision_max_ns ? end_of(bin) : stats->decision_max_ns;
    }
    return stats->decision_max_ns;
}

static void write_text(FILE *file, const char *key, const char *text) {
    fprintf(file, "  \"%s\": \"", key);
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        if (*at == '"' || *at == '\\' || *at < ' ')
            fprintf(file, "\\u%04x", (unsigned)*at);
        else
            fputc(*at, file);
    }
    fprintf(file, "\",\n");
}

static void write_counts(FILE *file, const stats *stats) {
    const struct {
        const char *key;
        uint64_t value;
    } counts[] = {
        {"reads", stats->reads},
        {"writes", stats->writes},
        {"zeroes", stats->zeroes},
        {"trims", stats->trims},
        {"read_bytes", stats->read_bytes},
        {"write_bytes", stats->write_bytes},
        {"hits", stats->hits},
        {"misses", stats->misses},
        {"late_hits", stats->late},
        {"ssd_read_bytes", stats->ssd_read_bytes},
        {"backend_read_bytes", stats->backend_read_bytes},
        {"backend_reads", stats->backend_reads},
        {"io_units", stats->io_units},
        {"admitted", stats->admitted},
        {"prefetched", stats->prefetched},
        {"evicted", stats->evicted},
        {"fills", stats->fills},
        {"fill_bytes", stats->fill_bytes},
        {"abandoned_fills", stats->abandoned},
        {"skipped_fills", stats->skipped},
        {"invalidated", stats->invalidated},
        {"settled_writes", stats->settled},
        {"corrupt", stats->corrupt},
        {"ssd_errors", stats->ssd_errors},
        {"failures", stats->failures},
        {"recovered", stats->recovered},
        {"destaged", stats->destaged},
        {"write_waits", stats->write_waits},
        {"lost_blocks", stats->lost_blocks},
        {"decisions", stats->decisions},
        {"decision_p50_ns", stats_decision_ns(stats, 0.5)},
        {"decision_p90_ns", stats_decision_ns(stats, 0.9)},
        {"decision_p99_ns", stats_decision_ns(stats, 0.99)},
        {"decision_max_ns", stats->decision_max_ns},
    };
    for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++)
        fprintf(file, "  \"%s\": %llu,\n", counts[k].key, (unsigned long long)counts[k].value);
}

static void write_all(FILE *file, const stats *stats, const stats_about *about) {
    fprintf(file, "{\n");
    write_text(file, "mode", about->mode);
    write_text(file, "prefetch", about->prefetch);
    write_text(file, "bundle", about->bundle);
    write_text(file, "model_digest", about->digest);
    write_text(file, "volume", about->volume);
    fprintf(file, "  \"units\": %lld,\n  \"resident\": %lld,\n  \"unit_bytes\": %lld,\n  \"backend_bytes\": %lld,\n",
            (long long)about->units, (long long)about->resident, (long long)about->unit_bytes,
            (long long)about->backend_bytes);
    write_counts(file, stats);
    fprintf(file, "  \"bypassed\": %s\n}\n", about->bypassed ? "true" : "false");
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
        write_all(file, stats, about);
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
