#include "held.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crc32c.h"
#include "device.h"

#define PIECE 4096
#define EDGE ((int64_t)4 << 20)
#define PIECES 1024

/* libblkid's, which every Linux with mount(8) has; it is opened when it is needed, so that the filter starts without
 * it. Values and calls are of its stable interface. */
/* UUID, type, and superblocks with a wrong sum too; a GPT without its MBR too. */
enum { SUPERBLOCKS = (1 << 3) | (1 << 5) | (1 << 10), PARTITIONS = 1 << 1 };
typedef struct blkid {
    void *library;
    void *(*new_probe)(void);
    void (*free_probe)(void *);
    int (*set_device)(void *, int, int64_t, int64_t);
    int (*superblocks)(void *, int), (*superblocks_flags)(void *, int);
    int (*partitions)(void *, int), (*partitions_flags)(void *, int);
    int (*probe)(void *);
    int (*value)(void *, const char *, const char **, size_t *);
} blkid;

static int blkid_open(blkid *found) {
    found->library = dlopen("libblkid.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!found->library)
        return -1;
    const struct {
        const char *name;
        void *to;
    } calls[] = {{"blkid_new_probe", &found->new_probe},
                 {"blkid_free_probe", &found->free_probe},
                 {"blkid_probe_set_device", &found->set_device},
                 {"blkid_probe_enable_superblocks", &found->superblocks},
                 {"blkid_probe_set_superblocks_flags", &found->superblocks_flags},
                 {"blkid_probe_enable_partitions", &found->partitions},
                 {"blkid_probe_set_partitions_flags", &found->partitions_flags},
                 {"blkid_do_safeprobe", &found->probe},
                 {"blkid_probe_lookup_value", &found->value}};
    for (size_t k = 0; k < sizeof calls / sizeof calls[0]; k++) {
        void *call = dlsym(found->library, calls[k].name);
        if (!call) {
            dlclose(found->library);
            return -1;
        }
        memcpy(calls[k].to, &call, sizeof call);
    }
    return 0;
}

static void describe(const blkid *library, void *probe, char name[HELD_NAME]) {
    const char *type = NULL, *uuid = NULL;
    if (library->value(probe, "TYPE", &type, NULL) == 0)
        (void)library->value(probe, "UUID", &uuid, NULL);
    else if (library->value(probe, "PTTYPE", &type, NULL) == 0)
        (void)library->value(probe, "PTUUID", &uuid, NULL);
    snprintf(name, HELD_NAME, "%s%s%s", type ? type : "signature", uuid ? ":" : "", uuid ? uuid : "");
}

int held_signature(int fd, char name[HELD_NAME]) {
    blkid library;
    name[0] = 0;
    if (blkid_open(&library))
        return 0;
    void *probe = library.new_probe();
    int found = -1;
    if (probe && library.set_device(probe, fd, 0, 0) == 0) {
        library.superblocks(probe, 1);
        library.superblocks_flags(probe, SUPERBLOCKS);
        library.partitions(probe, 1);
        library.partitions_flags(probe, PARTITIONS);
        found = library.probe(probe);
    }
    if (found == 0)
        describe(&library, probe, name);
    else if (found == -2) /* more than one: it does not say which */
        snprintf(name, HELD_NAME, "signatures");
    if (probe)
        library.free_probe(probe);
    dlclose(library.library);
    return found == -1 ? -1 : 0;
}

/* The first piece that is not all zeros of a range names it: 1 where there is one, 0, or -1. */
static int find_data(int fd, int64_t from, int64_t to, char name[HELD_NAME]) {
    static const unsigned char zeros[PIECE];
    unsigned char piece[PIECE];
    for (int64_t at = from; at < to; at += PIECE) {
        size_t size = to - at < PIECE ? (size_t)(to - at) : PIECE;
        if (device_read(fd, piece, size, at))
            return -1;
        if (memcmp(piece, zeros, size) != 0) {
            snprintf(name, HELD_NAME, "data:%08x", (unsigned)crc32c(0, piece, size));
            return 1;
        }
    }
    return 0;
}

static int find_in_file(int fd, char name[HELD_NAME]) {
    int found = 0;
    for (off_t end = 0; found == 0;) {
        off_t from = lseek(fd, end, SEEK_DATA);
        if (from < 0)
            return errno == ENXIO ? 0 : -1;
        end = lseek(fd, from, SEEK_HOLE);
        if (end < 0)
            return -1;
        found = find_data(fd, from, end, name);
    }
    return found;
}

static int find_on_device(int fd, int64_t bytes, char name[HELD_NAME]) {
    int found = find_data(fd, 0, bytes < EDGE ? bytes : EDGE, name);
    for (int64_t k = 1; found == 0 && bytes > 2 * EDGE && k < PIECES; k++) {
        int64_t at = bytes / PIECES * k / PIECE * PIECE;
        found = find_data(fd, at, at + PIECE, name);
    }
    return found ? found : find_data(fd, bytes > EDGE ? (bytes - EDGE) / PIECE * PIECE : 0, bytes, name);
}

int held_name(int fd, int64_t bytes, char name[HELD_NAME]) {
    struct stat found;
    if (held_signature(fd, name) || fstat(fd, &found))
        return -1;
    if (name[0])
        return 0;
    int data = S_ISREG(found.st_mode) ? find_in_file(fd, name) : find_on_device(fd, bytes, name);
    return data < 0 ? -1 : 0;
}
