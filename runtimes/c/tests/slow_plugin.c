/* An nbdkit plugin for tests of caches: a file whose reads and writes take time on both sides of the moment when they
 * happen. So what a read returns may be older than a write that ended before the read did.
 *
 *   nbdkit slow_plugin.so file=DISK slow-us=1000 broken=FILE
 *
 * While `broken` is there a flush fails. What was written before is still read, as from the page cache of Linux. */
#define NBDKIT_API_VERSION 2
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <nbdkit-plugin.h>

#define THREAD_MODEL NBDKIT_THREAD_MODEL_PARALLEL

static char *path, *broken;
static unsigned most_us = 1000;
static int fd = -1;

static void wait_a_little(void) {
    static _Thread_local unsigned seed;
    if (most_us == 0)
        return;
    struct timespec time = {.tv_nsec = 1000L * (rand_r(&seed) % most_us)};
    nanosleep(&time, NULL);
}

static int slow_config(const char *key, const char *value) {
    if (strcmp(key, "slow-us") == 0)
        return nbdkit_parse_unsigned(key, value, &most_us);
    char **text = strcmp(key, "file") == 0 ? &path : strcmp(key, "broken") == 0 ? &broken : NULL;
    if (!text) {
        nbdkit_error("unknown parameter %s", key);
        return -1;
    }
    *text = nbdkit_absolute_path(value);
    return *text ? 0 : -1;
}

static int slow_get_ready(void) {
    fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        nbdkit_error("file=%s: %m", path ? path : "");
    return fd < 0 ? -1 : 0;
}

static void slow_unload(void) {
    if (fd >= 0)
        close(fd);
    free(path);
    free(broken);
}

static void *slow_open(int readonly) {
    (void)readonly;
    return &fd;
}

static int64_t slow_get_size(void *handle) {
    struct stat found;
    (void)handle;
    return fstat(fd, &found) ? -1 : found.st_size;
}

static int slow_can_multi_conn(void *handle) {
    (void)handle;
    return 1;
}

static int slow_pread(void *handle, void *data, uint32_t count, uint64_t offset, uint32_t flags) {
    (void)handle, (void)flags;
    wait_a_little();
    ssize_t done = pread(fd, data, count, (off_t)offset);
    wait_a_little();
    return done == (ssize_t)count ? 0 : -1;
}

static int slow_pwrite(void *handle, const void *data, uint32_t count, uint64_t offset, uint32_t flags) {
    (void)handle, (void)flags;
    wait_a_little();
    ssize_t done = pwrite(fd, data, count, (off_t)offset);
    wait_a_little();
    return done == (ssize_t)count ? 0 : -1;
}

/* Of zeroes and trims alike: the range reads as zeros. */
static int slow_zero(void *handle, uint32_t count, uint64_t offset, uint32_t flags) {
    (void)handle, (void)flags;
    wait_a_little();
    int failed = fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, count);
    wait_a_little();
    return failed;
}

static int slow_flush(void *handle, uint32_t flags) {
    (void)handle, (void)flags;
    if (broken && access(broken, F_OK) == 0) {
        nbdkit_set_error(EIO);
        return -1;
    }
    return fdatasync(fd);
}

static struct nbdkit_plugin plugin = {
    .name = "slow",
    .unload = slow_unload,
    .config = slow_config,
    .get_ready = slow_get_ready,
    .open = slow_open,
    .get_size = slow_get_size,
    .can_multi_conn = slow_can_multi_conn,
    .pread = slow_pread,
    .pwrite = slow_pwrite,
    .flush = slow_flush,
    .zero = slow_zero,
    .trim = slow_zero,
};

NBDKIT_REGISTER_PLUGIN(plugin)
