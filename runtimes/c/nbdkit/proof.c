#include "proof.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "device.h"
#include "held.h"
#include "internal.h"

#define END_BYTES ((int64_t)1 << 20)
#define PIECE 65536
#define TICK_NS INT64_C(20000000) /* of a filesystem's clock, at most: two writes within one have the same time */

void proof_boot(char boot[40]) {
    memset(boot, 0, 40);
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t got = read(fd, boot, 36);
    close(fd);
    if (got != 36)
        memset(boot, 0, 40);
}

void proof_begin(disk *disk, const view *view) {
    unsigned char here[4096] = {0}, there[sizeof here] = {0};
    size_t size = view->bytes < (int64_t)sizeof here ? (size_t)view->bytes : sizeof here;
    int err;
    if (disk->fd >= 0 && !disk->shown)
        disk->shown = disk_bytes(disk) == view->bytes && device_read(disk->fd, here, size, 0) == 0 &&
                      view->read(view->next, there, (uint32_t)size, 0, &err) == 0 && memcmp(here, there, size) == 0;
}

static int64_t ns_of(struct timespec time) {
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* False where nothing identifies it. `synced`: what was written has reached the disk. `newest` is the time of the last write that has one. */
static bool account_of(const disk *disk, char text[512], int64_t *newest, bool *synced) {
    struct stat found;
    *newest = 0;
    *synced = fdatasync(disk->fd) == 0;
    if (!*synced || fstat(disk->fd, &found))
        return false;
    int length = 0;
    if (S_ISBLK(found.st_mode)) {
        length = disk_counts(found.st_rdev, text, 256);
        if (length <= 0)
            return false;
        if (!disk_backing(&found, &found)) /* a loop device's file has its own account */
            return true;
    }
    int64_t written = ns_of(found.st_mtim), changed = ns_of(found.st_ctim);
    *newest = written > changed ? written : changed;
    snprintf(text + length, 256, " file %u:%u %llu %lld %lld %lld", major(found.st_dev), minor(found.st_dev),
             (unsigned long long)found.st_ino, (long long)found.st_size, (long long)written, (long long)changed);
    return true;
}

int proof_witness(const disk *disk, char witness[65]) {
    static _Atomic int64_t sequence;
    char text[600], boot[40];
    int64_t newest = 0;
    bool synced = true;
    witness[0] = 0;
    proof_boot(boot);
    if (!disk->shown || !boot[0])
        return 0;
    for (int tries = 0; tries < 2; tries++) {
        struct timespec now, tick = {.tv_nsec = TICK_NS};
        if (!account_of(disk, text, &newest, &synced))
            return synced ? 0 : -1;
        clock_gettime(CLOCK_REALTIME, &now);
        if (newest == 0 || ns_of(now) - newest > TICK_NS) {
            cz_sha256 sum;
            cz_sha256_start(&sum);
            cz_sha256_add(&sum, boot, sizeof boot);
            cz_sha256_add(&sum, text, strlen(text));
            cz_sha256_end(&sum, witness);
            return 0;
        }
        nanosleep(&tick, NULL);
        nanosleep(&tick, NULL);
    }
    snprintf(witness, 65, "changing %lld", (long long)newest + sequence++); /* equal to none */
    return 0;
}

static int read_end(const view *view, unsigned char *data, int64_t from, int64_t to) {
    int err;
    for (int64_t at = from; at < to; at += PIECE) {
        int64_t count = to - at < PIECE ? to - at : PIECE;
        if (view->read(view->next, data + (at - from), (uint32_t)count, (uint64_t)at, &err))
            return -1;
    }
    return 0;
}

/* What libblkid says of the ends, laid into a file of the disk's size that holds nothing else. */
static void signature_of(const view *view, const unsigned char *first, int64_t head, const unsigned char *last,
                         int64_t tail, char name[HELD_NAME]) {
    name[0] = 0;
    int fd = memfd_create("cachezoo", MFD_CLOEXEC);
    if (fd < 0)
        return;
    if (ftruncate(fd, view->bytes) || device_write(fd, first, (size_t)head, 0) ||
        device_write(fd, last, (size_t)(view->bytes - tail), tail) || held_signature(fd, name))
        name[0] = 0;
    close(fd);
}

void proof_content(const disk *disk, const view *view, proof *proof) {
    char name[HELD_NAME], known[512];
    int64_t head = view->bytes < END_BYTES ? view->bytes : END_BYTES;
    int64_t tail = view->bytes > END_BYTES ? (view->bytes - END_BYTES) / PIECE * PIECE : 0;
    unsigned char *first = malloc((size_t)head + 1), *last = malloc((size_t)(view->bytes - tail) + 1);
    proof->identity[0] = proof->ends[0] = 0;
    if (first && last && !read_end(view, first, 0, head) && !read_end(view, last, tail, view->bytes)) {
        cz_sha256 sum;
        cz_sha256_start(&sum);
        cz_sha256_add(&sum, first, (size_t)head);
        cz_sha256_add(&sum, last, (size_t)(view->bytes - tail));
        cz_sha256_end(&sum, proof->ends);
        signature_of(view, first, head, last, tail, name);
        disk_identity(disk, known, sizeof known);
        if (strchr(name, ':') || known[0]) {
            cz_sha256_start(&sum);
            cz_sha256_add(&sum, known, strlen(known) + 1);
            cz_sha256_add(&sum, name, strlen(name));
            cz_sha256_end(&sum, proof->identity);
        }
    }
    free(first);
    free(last);
}

bool proof_alone(const disk *disk, proof *proof) {
    char known[512];
    disk_identity(disk, known, sizeof known);
    if (known[0])
        cz_sha256_of(known, strlen(known), proof->identity);
    return known[0];
}

static int read_here(void *next, void *data, uint32_t count, uint64_t offset, int *err) {
    const disk *disk = next;
    *err = EIO;
    return device_read(disk->fd, data, count, (int64_t)offset);
}

view proof_view(disk *disk) {
    return (view){.bytes = disk->shown ? disk_bytes(disk) : -1, .next = disk, .read = read_here};
}
