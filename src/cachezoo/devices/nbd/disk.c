/* An nbdkit plugin: a disk that keeps nothing, but takes as long for each request as the analytic models say.
 *
 * Reads give zeros and writes are swallowed. The formulas are those of cachezoo's analytic models; here real time
 * passes. There is one actuator: nbdkit hands over one request at a time, in the order in which they arrived.
 */
#define _GNU_SOURCE /* beside -std=c11: clock_nanosleep, getppid */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#define THREAD_MODEL NBDKIT_THREAD_MODEL_SERIALIZE_ALL_REQUESTS

/* A sleep ends some 30 µs late on a virtual machine, seldom more than 60; the rest until the deadline is spun. */
enum { SPIN_NS = 60000 };

enum { HDD = 1, SSD = 2 };

static int mode;
static bool position, overlap; /* rotation by the clock, else its mean; media and interface at once, else in turn */
static int64_t size, capacity, slow_start, slow_end, zones;
static double rotation_us = NAN, seek_base_us, seek_root_us, seek_linear_us, write_settle_us;
static double cylinder_bytes, switch_us; /* no further than this takes a switch of heads, not a seek */
static double outer_mb_s = NAN, inner_mb_s = NAN, interface_mb_s = NAN; /* 1 MB/s is 1 byte/µs */
static double read_mb_s = NAN, write_mb_s = NAN, read_us, write_us, slow_us;
static FILE *intended; /* what the model wants of each request */

static int64_t head; /* where the last request ended */

/* Numbers by name; what `needed` names must be given in the modes it says, and be above 0. */
static const struct number {
    const char *key;
    double *value;
    double least;
    int modes, needed;
} numbers[] = {
    {"rotation_us", &rotation_us, 0, HDD, HDD},
    {"seek_base_us", &seek_base_us, -HUGE_VAL, HDD, 0},
    {"seek_root_us", &seek_root_us, -HUGE_VAL, HDD, 0},
    {"seek_linear_us", &seek_linear_us, -HUGE_VAL, HDD, 0},
    {"cylinder_bytes", &cylinder_bytes, 0, HDD, 0},
    {"switch_us", &switch_us, 0, HDD, 0},
    {"write_settle_us", &write_settle_us, 0, HDD, 0},
    {"outer_mb_s", &outer_mb_s, 0, HDD, HDD},
    {"inner_mb_s", &inner_mb_s, 0, HDD, HDD},
    {"interface_mb_s", &interface_mb_s, 0, HDD, HDD},
    {"read_mb_s", &read_mb_s, 0, SSD, SSD},
    {"write_mb_s", &write_mb_s, 0, SSD, SSD},
    {"read_us", &read_us, 0, HDD | SSD, 0},
    {"write_us", &write_us, 0, HDD | SSD, 0},
};
enum { NUMBERS = sizeof numbers / sizeof *numbers };
static bool given[NUMBERS];

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void wait_until(int64_t deadline) {
    int64_t wake = deadline - SPIN_NS;
    struct timespec t = {.tv_sec = wake / 1000000000, .tv_nsec = wake % 1000000000};
    if (wake > now_ns())
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
            ;
    while (now_ns() < deadline)
        ;
}

static double fraction(double x) {
    return x - floor(x);
}

/* Which zone an address lies in, and the media rate there. */
static int64_t zone_of(int64_t start) {
    int64_t zone = (int64_t)((double)start / (double)capacity * (double)zones);
    return zone < zones ? zone : zones - 1;
}

static double zone_rate(int64_t zone) {
    return zones == 1 ? outer_mb_s : outer_mb_s + (inner_mb_s - outer_mb_s) * (double)zone / (double)(zones - 1);
}

static double rate_at(int64_t start) {
    if (zones > 0)
        return zone_rate(zone_of(start));
    return outer_mb_s + (inner_mb_s - outer_mb_s) * ((double)start / (double)capacity);
}

/* Revolutions laid out before an address: the integral of 1 / (rate(x) * rotation_us). */
static double revolutions(int64_t start) {
    double slope = (inner_mb_s - outer_mb_s) / (double)capacity, width = (double)capacity / (double)zones, bytes_us = 0;
    if (zones > 0) {
        int64_t zone = zone_of(start);
        for (int64_t k = 0; k < zone; k++)
            bytes_us += width / zone_rate(k);
        bytes_us += ((double)start - width * (double)zone) / zone_rate(zone);
    } else if (slope != 0)
        bytes_us = log1p(slope * (double)start / outer_mb_s) / slope;
    else
        bytes_us = (double)start / outer_mb_s;
    return bytes_us / rotation_us;
}

/* Time in µs for the arm to get from address to address. */
static double seek_us(int64_t distance, bool write) {
    double part = (double)distance / (double)capacity, us = switch_us;
    if (distance == 0)
        return 0;
    if ((double)distance > cylinder_bytes)
        us = seek_base_us + seek_root_us * sqrt(part) + seek_linear_us * part;
    return us + (write ? write_settle_us : 0);
}

/* What is read goes through the interface too, while it comes from the media or afterwards. */
static double interface_us(uint32_t count, double media_us) {
    double us = count / interface_mb_s;
    if (!overlap)
        return us;
    return us > media_us ? us - media_us : 0;
}

/* Service time in µs of a request that the disk takes up at `entry`; the head moves. */
static double disk_us(uint32_t count, int64_t start, bool write, int64_t entry) {
    int64_t distance = start > head ? start - head : head - start;
    double us = (write ? write_us : read_us) + seek_us(distance, write), media_us = count / rate_at(start);
    if (position)
        us += fraction(revolutions(start) - fraction(((double)entry / 1000 + us) / rotation_us)) * rotation_us;
    else if (distance > 0)
        us += rotation_us / 2;
    head = (start + count) % capacity;
    return us + media_us + (write ? 0 : interface_us(count, media_us));
}

static double flash_us(uint32_t count, bool write) {
    return (write ? write_us : read_us) + count / (write ? write_mb_s : read_mb_s);
}

/* Let the request last from `entry` as long as the model wants. */
static void serve(uint32_t count, uint64_t offset, bool write, int64_t entry) {
    double us = mode == HDD ? disk_us(count, (int64_t)offset % capacity, write, entry) : flash_us(count, write);
    if ((int64_t)offset >= slow_start && (int64_t)offset < slow_end)
        us += slow_us;
    if (intended)
        fprintf(intended, "%" PRId64 ",%" PRIu64 ",%" PRIu32 ",%c,%.3f\n", entry, offset, count, write ? 'w' : 'r', us);
    wait_until(entry + (int64_t)(us * 1000));
}

static int disk_pread(void *handle, void *buffer, uint32_t count, uint64_t offset, uint32_t flags) {
    int64_t entry = now_ns();
    (void)handle, (void)flags;
    memset(buffer, 0, count);
    serve(count, offset, false, entry);
    return 0;
}

static int disk_pwrite(void *handle, const void *buffer, uint32_t count, uint64_t offset, uint32_t flags) {
    (void)handle, (void)buffer, (void)flags;
    serve(count, offset, true, now_ns());
    return 0;
}

static int disk_flush(void *handle, uint32_t flags) {
    (void)handle, (void)flags;
    return 0;
}

static int parse_number(const char *key, const char *text, double least, double *value) {
    char *end;
    *value = strtod(text, &end);
    if (end == text || *end || !isfinite(*value)) {
        nbdkit_error("%s=%s: not a number", key, text);
        return -1;
    }
    if (*value < least) {
        nbdkit_error("%s=%s: must be at least %g", key, text, least);
        return -1;
    }
    return 0;
}

static int parse_bytes(const char *key, const char *text, int64_t *value) {
    *value = nbdkit_parse_size(text);
    if (*value == 0)
        nbdkit_error("%s=%s: must be above 0", key, text);
    return *value > 0 ? 0 : -1;
}

/* Which of two words, 0 or 1; -1: neither. */
static int parse_choice(const char *key, const char *text, const char *first, const char *second) {
    if (!strcmp(text, first) || !strcmp(text, second))
        return strcmp(text, first) ? 1 : 0;
    nbdkit_error("%s=%s: %s or %s", key, text, first, second);
    return -1;
}

static int parse_zones(const char *text) {
    int steps;
    if (nbdkit_parse_int("zones", text, &steps) == -1)
        return -1;
    if (steps < 0) {
        nbdkit_error("zones=%s: must be at least 0", text);
        return -1;
    }
    zones = steps;
    return 0;
}

static int parse_slow(const char *text) {
    int used = 0;
    if (sscanf(text, "%" SCNd64 "-%" SCNd64 ":%n", &slow_start, &slow_end, &used) != 2 || !used || slow_start < 0 ||
        slow_end <= slow_start) {
        nbdkit_error("slow=%s: must be START-END:MICROSECONDS, END above START", text);
        return -1;
    }
    return parse_number("slow", text + used, 0, &slow_us);
}

/* The disk must not outlive the program that started it, however that ends. */
static int parse_parent(const char *text) {
    int parent;
    if (nbdkit_parse_int("parent", text, &parent) == -1)
        return -1;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1 || getppid() != parent) {
        nbdkit_error("parent=%s: not the parent of this process", text);
        return -1;
    }
    return 0;
}

static int open_log(const char *path) {
    intended = fopen(path, "we");
    if (!intended) {
        nbdkit_error("log=%s: %s", path, strerror(errno));
        return -1;
    }
    setvbuf(intended, NULL, _IOLBF, 0);
    return 0;
}

static int disk_config(const char *key, const char *text) {
    int chosen;
    for (int i = 0; i < NUMBERS; i++)
        if (!strcmp(key, numbers[i].key)) {
            given[i] = true;
            return parse_number(key, text, numbers[i].least, numbers[i].value);
        }
    if (!strcmp(key, "mode")) {
        chosen = parse_choice(key, text, "hdd", "ssd");
        mode = chosen ? SSD : HDD;
        return chosen < 0 ? -1 : 0;
    }
    if (!strcmp(key, "rotation")) {
        chosen = parse_choice(key, text, "mean", "position");
        position = chosen == 1;
        return chosen < 0 ? -1 : 0;
    }
    if (!strcmp(key, "overlap")) {
        chosen = nbdkit_parse_bool(text);
        overlap = chosen == 1;
        return chosen < 0 ? -1 : 0;
    }
    if (!strcmp(key, "zones"))
        return parse_zones(text);
    if (!strcmp(key, "size"))
        return parse_bytes(key, text, &size);
    if (!strcmp(key, "capacity_bytes"))
        return parse_bytes(key, text, &capacity);
    if (!strcmp(key, "slow"))
        return parse_slow(text);
    if (!strcmp(key, "parent"))
        return parse_parent(text);
    if (!strcmp(key, "log"))
        return open_log(text);
    nbdkit_error("%s=%s: no such parameter", key, text);
    return -1;
}

static int check_numbers(void) {
    for (int i = 0; i < NUMBERS; i++) {
        const struct number *number = &numbers[i];
        if (given[i] && !(number->modes & mode)) {
            nbdkit_error("%s: not a parameter of mode=%s", number->key, mode == HDD ? "hdd" : "ssd");
            return -1;
        }
        if (number->needed & mode && !(*number->value > 0)) {
            nbdkit_error("%s: must be given, above 0", number->key);
            return -1;
        }
    }
    return 0;
}

static int disk_config_complete(void) {
    const char *missing = !mode ? "mode" : !size ? "size" : mode == HDD && !capacity ? "capacity_bytes" : NULL;
    if (missing) {
        nbdkit_error("%s: must be given", missing);
        return -1;
    }
    return check_numbers();
}

/* The threads that serve inherit the slack of their timers; its default makes each sleep 50 µs longer. */
static int disk_get_ready(void) {
    if (prctl(PR_SET_TIMERSLACK, 1) == -1) {
        nbdkit_error("prctl: %s", strerror(errno));
        return -1;
    }
    return 0;
}

/* Whoever connects finds the head at address 0, as the analytic models have it. */
static void *disk_open(int readonly) {
    (void)readonly;
    head = 0;
    return NBDKIT_HANDLE_NOT_NEEDED;
}

static int64_t disk_get_size(void *handle) {
    (void)handle;
    return size;
}

static int disk_is_rotational(void *handle) {
    (void)handle;
    return mode == HDD;
}

static void disk_unload(void) {
    if (intended)
        fclose(intended);
}

static struct nbdkit_plugin plugin = {
    .name = "cachezoo-disk",
    .longname = "cachezoo's emulated disk",
    .config = disk_config,
    .config_complete = disk_config_complete,
    .config_help = "mode=hdd|ssd size=BYTES and the keys of the model; slow=START-END:US, log=FILE, parent=PID",
    .get_ready = disk_get_ready,
    .open = disk_open,
    .get_size = disk_get_size,
    .is_rotational = disk_is_rotational,
    .pread = disk_pread,
    .pwrite = disk_pwrite,
    .flush = disk_flush,
    .unload = disk_unload,
};

NBDKIT_REGISTER_PLUGIN(plugin)
