/* Records what a process writes to some files and when it syncs them, for tests of what a crash of the machine leaves.
 *
 * LD_PRELOAD=crash_preload.so CRASH_JOURNAL=FILE CRASH_FILES=PATH:PATH program
 * A record: int64 file (place in CRASH_FILES), kind (0 write, 1 sync begins, 2 sync ended), offset (of a sync: the
 * thread), size; then the bytes of a write. A write is recorded when it is done, before the program goes on. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WRITTEN, SYNC_BEGINS, SYNC_ENDED };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int journal = -1;
static struct stat files[8];
static int n_files = -1;

static void begin(void) {
    char *paths = strdup(getenv("CRASH_FILES")), *rest = paths;
    n_files = 0;
    for (char *path; n_files < 8 && (path = strsep(&rest, ":")) != NULL; n_files++) {
        if (stat(path, &files[n_files]) != 0)
            abort();
    }
    free(paths);
    journal = open(getenv("CRASH_JOURNAL"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (journal < 0)
        abort();
}

static int64_t file_of(int fd) {
    struct stat found;
    if (fstat(fd, &found) != 0)
        return -1;
    for (int k = 0; k < n_files; k++) {
        if (files[k].st_ino == found.st_ino && files[k].st_dev == found.st_dev)
            return k;
    }
    return -1;
}

static void record(int fd, int64_t kind, int64_t offset, int64_t size, const void *data) {
    pthread_mutex_lock(&lock);
    if (n_files < 0)
        begin();
    int64_t head[4] = {file_of(fd), kind, offset, size};
    struct iovec parts[2] = {{head, sizeof head}, {(void *)data, data ? (size_t)size : 0}};
    if (head[0] >= 0 && writev(journal, parts, 2) != (ssize_t)(sizeof head + parts[1].iov_len))
        abort();
    pthread_mutex_unlock(&lock);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) {
    static ssize_t (*next)(int, const void *, size_t, off_t);
    if (!next)
        next = (ssize_t (*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite");
    ssize_t done = next(fd, data, size, offset);
    if (done > 0)
        record(fd, WRITTEN, offset, done, data);
    return done;
}

ssize_t pwritev(int fd, const struct iovec *parts, int n, off_t offset) {
    static ssize_t (*next)(int, const struct iovec *, int, off_t);
    if (!next)
        next = (ssize_t (*)(int, const struct iovec *, int, off_t))dlsym(RTLD_NEXT, "pwritev");
    ssize_t done = next(fd, parts, n, offset), left = done;
    for (int k = 0; k < n && left > 0; k++) {
        ssize_t size = left < (ssize_t)parts[k].iov_len ? left : (ssize_t)parts[k].iov_len;
        record(fd, WRITTEN, offset + (done - left), size, parts[k].iov_base);
        left -= size;
    }
    return done;
}

/* Tests call it to punch holes alone. */
int fallocate(int fd, int mode, off_t offset, off_t size) {
    static int (*next)(int, int, off_t, off_t);
    if (!next)
        next = (int (*)(int, int, off_t, off_t))dlsym(RTLD_NEXT, "fallocate");
    int failed = next(fd, mode, offset, size);
    void *zeros = calloc(1, (size_t)size);
    if (!zeros)
        abort();
    if (!failed)
        record(fd, WRITTEN, offset, size, zeros);
    free(zeros);
    return failed;
}

int fdatasync(int fd) {
    static int (*next)(int);
    if (!next)
        next = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    record(fd, SYNC_BEGINS, gettid(), 0, NULL);
    int failed = next(fd);
    if (!failed)
        record(fd, SYNC_ENDED, gettid(), 0, NULL);
    return failed;
}
