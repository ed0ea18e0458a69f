/* nbdkit plug-in cachezoo-fdp: a namespace with Flexible Data Placement in memory or on a file, to try placements on.
 *
 * NBD requests have no field for a placement handle. So a handle is the name of an export: all exports are one namespace,
 * and what is written through `ruh=N` goes to handle N, through `` to handle 0. With alias=true there is one export
 * besides the statistics: the namespace comes again for each handle, handle N at N times its size, for hosts that attach
 * one device alone. The export `stats` holds the counters as JSON, blanks behind. */
#define NBDKIT_API_VERSION 2
#define THREAD_MODEL NBDKIT_THREAD_MODEL_SERIALIZE_ALL_REQUESTS /* the order of writes decides */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <nbdkit-plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drive.h"

#define STATS_BYTES 8192
#define MOST_PAGE (1 << 20)

static struct {
    int64_t size, page_bytes, unit_pages, units, handles, keep_free;
    double spare; /* share of the flash that has no address; where no units are given */
    enum fdp_victim victim;
    enum fdp_copies copies;
    bool alias, fill;
    char *file, *stats;
} config = {.page_bytes = 8192, .unit_pages = 63, .handles = 16, .keep_free = 8, .spare = 0.11, .fill = true};

static fdp_drive *drive;
static int data = -1;

typedef struct connection {
    int64_t handle; /* -1: the statistics */
} connection;

/* ---- options ---- */

static int number(const char *key, const char *value, int64_t least, int64_t most, int64_t *found) {
    int64_t parsed = nbdkit_parse_size(value);
    if (parsed < least || parsed > most) {
        nbdkit_error("%s=%s: it is a number from %" PRId64 " to %" PRId64, key, value, least, most);
        return -1;
    }
    *found = parsed;
    return 0;
}

static int choice(const char *key, const char *value, const char *const *names, int *found) {
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], value) == 0) {
            *found = i;
            return 0;
        }
    nbdkit_error("%s=%s: it is one of %s, %s%s%s", key, value, names[0], names[1], names[2] ? ", " : "",
                 names[2] ? names[2] : "");
    return -1;
}

static int fdp_config(const char *key, const char *value) {
    static const char *const victims[] = {"greedy", "cost-benefit", NULL}, *const isolations[] = {"keep", "initially",
                                                                                                  "persistently", NULL};
    static const struct {
        const char *key;
        int64_t *place, least, most;
    } numbers[] = {
        {"size", &config.size, 1, (int64_t)1 << 50},       {"page", &config.page_bytes, 512, MOST_PAGE},
        {"unit-pages", &config.unit_pages, 1, 1 << 24},    {"units", &config.units, 2, UINT32_MAX - 1},
        {"handles", &config.handles, 1, FDP_MOST_HANDLES}, {"keep-free", &config.keep_free, 1, UINT32_MAX - 1},
    };
    int chosen = 0, flag;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(key, numbers[i].key) == 0)
            return number(key, value, numbers[i].least, numbers[i].most, numbers[i].place);
    if (strcmp(key, "victim") == 0) {
        if (choice(key, value, victims, &chosen))
            return -1;
        config.victim = (enum fdp_victim)chosen;
        return 0;
    }
    if (strcmp(key, "isolation") == 0) {
        if (choice(key, value, isolations, &chosen))
            return -1;
        config.copies = (enum fdp_copies)chosen;
        return 0;
    }
    if (strcmp(key, "over-provisioning") == 0) {
        char *end;
        config.spare = strtod(value, &end);
        if (*end || end == value || !(config.spare > 0 && config.spare < 1)) {
            nbdkit_error("over-provisioning=%s: it is a share above 0 and below 1", value);
            return -1;
        }
        return 0;
    }
    if (strcmp(key, "alias") == 0 || strcmp(key, "fill") == 0) {
        if ((flag = nbdkit_parse_bool(value)) < 0)
            return -1;
        *(*key == 'a' ? &config.alias : &config.fill) = flag;
        return 0;
    }
    if (strcmp(key, "file") == 0 || strcmp(key, "stats") == 0) {
        char **place = *key == 'f' ? &config.file : &config.stats;
        free(*place);
        return (*place = nbdkit_absolute_path(value)) ? 0 : -1;
    }
    nbdkit_error("%s: no such option of the plug-in cachezoo-fdp", key);
    return -1;
}

static fdp_settings settings_of(void) {
    double blocks = (double)(config.size / config.page_bytes) / (1 - config.spare) / (double)config.unit_pages;
    int64_t units = (int64_t)blocks;
    units += (double)units < blocks;
    return (fdp_settings){
        .units = (uint32_t)(config.units         ? config.units
                            : units < UINT32_MAX ? units
                                                 : UINT32_MAX - 1),
        .unit_pages = (uint32_t)config.unit_pages,
        .pages = (uint32_t)(config.size / config.page_bytes),
        .keep_free = (uint32_t)config.keep_free,
        .handles = (uint32_t)config.handles,
        .victim = config.victim,
        .copies = config.copies,
    };
}

static int fdp_config_complete(void) {
    if (!config.size) {
        nbdkit_error("give size=, the bytes of the namespace");
        return -1;
    }
    if (config.size % config.page_bytes || config.size / config.page_bytes >= UINT32_MAX) {
        nbdkit_error("size=%" PRId64 ": it is a multiple of page=%" PRId64 ", of less than 2^32 pages", config.size,
                     config.page_bytes);
        return -1;
    }
    fdp_settings settings = settings_of();
    const char *wrong = fdp_wrong(&settings);
    if (wrong) {
        nbdkit_error("no such drive: %s; give more over-provisioning or units, or fewer handles", wrong);
        return -1;
    }
    return 0;
}

/* ---- the namespace ---- */

static int fdp_get_ready(void) {
    fdp_settings settings = settings_of();
    drive = fdp_new(&settings);
    if (!drive) {
        nbdkit_error("no memory for a drive of %u pages", settings.pages);
        return -1;
    }
    if (config.fill)
        fdp_fill(drive);
    data = config.file ? open(config.file, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : memfd_create("fdp", MFD_CLOEXEC);
    struct stat found;
    if (data >= 0 && fstat(data, &found) == 0 && S_ISREG(found.st_mode) && found.st_size > config.size) {
        nbdkit_error("%s: it has %" PRId64 " bytes, more than the namespace, and would be cut; give another file",
                     config.file, (int64_t)found.st_size);
        return -1;
    }
    if (data < 0 || ftruncate(data, config.size)) {
        nbdkit_error("%s: cannot be made as large as the namespace (%m)", config.file ? config.file : "memory");
        return -1;
    }
    return 0;
}

/* The counters under the names of the FDP statistics log page (NVM Express base specification 2.1, log page 22h): host
 * bytes and media bytes written, media bytes erased. */
static int describe(char text[STATS_BYTES]) {
    const fdp_counts *own = fdp_counted(drive);
    uint64_t page = (uint64_t)config.page_bytes;
    double waf = own->host ? (double)(own->host + own->copied) / (double)own->host : 0;
    int size =
        snprintf(text, STATS_BYTES,
                 "{\"hbmw\": %" PRIu64 ", \"mbmw\": %" PRIu64 ", \"mbe\": %" PRIu64 ", \"waf\": %.17g, "
                 "\"host_pages\": %" PRIu64 ", \"copied_pages\": %" PRIu64 ", \"erased_units\": %" PRIu64
                 ", \"trimmed_pages\": %" PRIu64 ", \"host_pages_by_handle\": [",
                 own->host * page, (own->host + own->copied) * page, own->erased * (uint64_t)config.unit_pages * page,
                 waf, own->host, own->copied, own->erased, own->trimmed);
    for (int64_t i = 0; i < config.handles; i++)
        size += snprintf(text + size, (size_t)(STATS_BYTES - size), "%s%" PRIu64, i ? ", " : "", own->by_handle[i]);
    return size + snprintf(text + size, (size_t)(STATS_BYTES - size), "]}\n");
}

static void fdp_unload(void) {
    char text[STATS_BYTES];
    if (drive && config.stats) {
        int size = describe(text), file = open(config.stats, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (file < 0 || write(file, text, (size_t)size) != size || close(file))
            nbdkit_error("%s: the statistics cannot be written (%m)", config.stats);
    }
    fdp_free(drive);
    if (data >= 0)
        close(data);
    free(config.file);
    free(config.stats);
}

/* ---- exports ---- */

static int64_t handle_named(const char *name) {
    char text[16];
    if (strcmp(name, "stats") == 0)
        return -1;
    if (*name == 0)
        return 0;
    for (int64_t i = 0; i < config.handles && !config.alias; i++) {
        snprintf(text, sizeof text, "ruh=%d", (int)i);
        if (strcmp(name, text) == 0)
            return i;
    }
    return -2;
}

static int fdp_list_exports(int read_only, int is_tls, struct nbdkit_exports *exports) {
    char text[16];
    (void)read_only, (void)is_tls;
    if (nbdkit_add_export(exports, "", "handle 0") || nbdkit_add_export(exports, "stats", "counters, as JSON"))
        return -1;
    for (int64_t i = 0; i < config.handles && !config.alias; i++) {
        snprintf(text, sizeof text, "ruh=%d", (int)i);
        if (nbdkit_add_export(exports, text, "reclaim unit handle"))
            return -1;
    }
    return 0;
}

static void *fdp_open(int read_only) {
    (void)read_only;
    const char *name = nbdkit_export_name();
    int64_t handle = name ? handle_named(name) : -2;
    connection *made = handle == -2 ? NULL : malloc(sizeof *made);
    if (handle == -2 && config.alias)
        nbdkit_error("export %s: with alias=true there are stats, and one without a name", name ? name : "");
    else if (handle == -2)
        nbdkit_error("export %s: there are ruh=0 to ruh=%" PRId64 ", stats, and one without a name", name ? name : "",
                     config.handles - 1);
    if (made)
        made->handle = handle;
    return made;
}

static void fdp_close(void *given) {
    free(given);
}

static int64_t fdp_get_size(void *given) {
    const connection *own = given;
    return own->handle < 0 ? STATS_BYTES : config.size * (config.alias ? config.handles : 1);
}

static int fdp_can_write(void *given) {
    return ((const connection *)given)->handle >= 0;
}

/* What is smaller than a page writes all of it, so clients that ask are told the page. */
static int fdp_block_size(void *given, uint32_t *minimum, uint32_t *preferred, uint32_t *maximum) {
    (void)given;
    *minimum = 1;
    *preferred = (uint32_t)config.page_bytes & (uint32_t)(config.page_bytes - 1) ? 4096 : (uint32_t)config.page_bytes;
    *preferred = *preferred < 4096 ? 4096 : *preferred;
    *maximum = UINT32_MAX;
    return 0;
}

static int fdp_can_fua(void *given) {
    (void)given;
    return NBDKIT_FUA_EMULATE;
}

/* The handle of a request, and where it begins in the namespace; -1 where it belongs to two handles. */
static int64_t located(const connection *own, uint64_t *offset, uint32_t count) {
    if (!config.alias)
        return own->handle;
    uint64_t size = (uint64_t)config.size, handle = *offset / size;
    *offset %= size;
    if (count <= size - *offset)
        return (int64_t)handle;
    nbdkit_error("a request of %u bytes lies in the addresses of two handles", count);
    errno = EINVAL;
    return -1;
}

static int fdp_pread(void *given, void *buffer, uint32_t count, uint64_t offset, uint32_t flags) {
    const connection *own = given;
    (void)flags;
    if (own->handle < 0) {
        char text[STATS_BYTES];
        memset(text, ' ', sizeof text);
        text[describe(text)] = ' ';
        memcpy(buffer, text + offset, count);
        return 0;
    }
    if (located(own, &offset, count) < 0)
        return -1;
    for (uint32_t done = 0; done < count;) {
        ssize_t n = pread(data, (char *)buffer + done, count - done, (off_t)(offset + done));
        if (n <= 0) {
            errno = n ? errno : EIO;
            nbdkit_error("the namespace's data cannot be read (%m)");
            return -1;
        }
        done += (uint32_t)n;
    }
    return 0;
}

/* Every page that a write touches is written; the rest of it is read and merged, as drives do. */
static int fdp_pwrite(void *given, const void *buffer, uint32_t count, uint64_t offset, uint32_t flags) {
    (void)flags;
    int64_t handle = located(given, &offset, count);
    if (handle < 0)
        return -1;
    for (uint32_t done = 0; done < count;) {
        ssize_t n = pwrite(data, (const char *)buffer + done, count - done, (off_t)(offset + done));
        if (n <= 0) {
            errno = n ? errno : EIO;
            nbdkit_error("the namespace's data cannot be written (%m)");
            return -1;
        }
        done += (uint32_t)n;
    }
    uint64_t last = (offset + count - 1) / (uint64_t)config.page_bytes;
    for (uint64_t page = offset / (uint64_t)config.page_bytes; page <= last; page++)
        fdp_write(drive, (uint32_t)page, (uint32_t)handle);
    return 0;
}

/* Pages that lie in it whole are given up, and read as zeros where their room can be given back. */
static int fdp_trim_range(void *given, uint32_t count, uint64_t offset, uint32_t flags) {
    (void)flags;
    if (located(given, &offset, count) < 0)
        return -1;
    uint64_t bytes = (uint64_t)config.page_bytes, end = (offset + count) / bytes;
    uint64_t first = (offset + bytes - 1) / bytes;
    if (first < end && fallocate(data, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(first * bytes),
                                 (off_t)((end - first) * bytes)))
        nbdkit_debug("fallocate: %m"); /* a trim is a hint: the data may stay */
    for (uint64_t page = first; page < end; page++)
        fdp_trim(drive, (uint32_t)page);
    return 0;
}

static int fdp_flush(void *given, uint32_t flags) {
    (void)given, (void)flags;
    if (!config.file || fdatasync(data) == 0)
        return 0;
    nbdkit_error("%s: cannot be flushed (%m)", config.file);
    return -1;
}

static struct nbdkit_plugin plugin = {
    .name = "cachezoo-fdp",
    .longname = "cachezoo FDP namespace",
    .description = "a drive of flash with placement handles, garbage collection and its counters",
    .config = fdp_config,
    .config_complete = fdp_config_complete,
    .config_help = "size=BYTES (required), page=8192, unit-pages=63, units=N or over-provisioning=0.11, handles=16,\n"
                   "keep-free=8, victim=greedy|cost-benefit, isolation=keep|initially|persistently, fill=true,\n"
                   "alias=false, file=PATH (else memory), stats=PATH (written at the end)",
    .get_ready = fdp_get_ready,
    .unload = fdp_unload,
    .list_exports = fdp_list_exports,
    .open = fdp_open,
    .close = fdp_close,
    .get_size = fdp_get_size,
    .can_write = fdp_can_write,
    .block_size = fdp_block_size,
    .can_fua = fdp_can_fua,
    .errno_is_preserved = 1,
    .pread = fdp_pread,
    .pwrite = fdp_pwrite,
    .trim = fdp_trim_range,
    .flush = fdp_flush,
};

NBDKIT_REGISTER_PLUGIN(plugin)
