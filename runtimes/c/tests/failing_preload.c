/* Lets some of a process's writes and syncs of some files fail with EIO, for tests of devices that fail for a while.
 *
 * LD_PRELOAD=failing_preload.so FAIL_FILES=PATH:PATH FAIL_FROM=N FAIL_COUNT=M FAIL_SAID=FILE program
 * Calls of pwrite, pwritev, fdatasync, fsync and ftruncate on the files count from 0, all files together; M calls from the N-th on
 * fail, and FAIL_SAID is made when the first does. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long calls;

/* By name, since a file may be made while the program runs. */
static bool is_named(int fd) {
    struct stat found, named;
    char paths[4096], *rest = paths;
    if (fstat(fd, &found))
        return false;
    strncpy(paths, getenv("FAIL_FILES"), sizeof paths - 1);
    paths[sizeof paths - 1] = 0;
    for (char *path; (path = strsep(&rest, ":")) != NULL;) {
        if (stat(path, &named) == 0 && named.st_ino == found.st_ino && named.st_dev == found.st_dev)
            return true;
    }
    return false;
}

static bool fails(int fd) {
    if (!is_named(fd))
        return false;
    pthread_mutex_lock(&lock);
    long call = calls++, from = atol(getenv("FAIL_FROM"));
    bool now = call >= from && call < from + atol(getenv("FAIL_COUNT"));
    pthread_mutex_unlock(&lock);
    if (now) {
        int said = open(getenv("FAIL_SAID"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (said >= 0)
            close(said);
        errno = EIO;
    }
    return now;
}

#define NEXT(name, type, ...)                                                                                          \
    static type (*next)(__VA_ARGS__);                                                                                  \
    if (!next)                                                                                                         \
        next = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name);

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) {
    NEXT("pwrite", ssize_t, int, const void *, size_t, off_t)
    return fails(fd) ? -1 : next(fd, data, size, offset);
}

ssize_t pwritev(int fd, const struct iovec *parts, int n, off_t offset) {
    NEXT("pwritev", ssize_t, int, const struct iovec *, int, off_t)
    return fails(fd) ? -1 : next(fd, parts, n, offset);
}

int fdatasync(int fd) {
    NEXT("fdatasync", int, int)
    return fails(fd) ? -1 : next(fd);
}

int fsync(int fd) {
    NEXT("fsync", int, int)
    return fails(fd) ? -1 : next(fd);
}

int ftruncate(int fd, off_t size) {
    NEXT("ftruncate", int, int, off_t)
    return fails(fd) ? -1 : next(fd, size);
}
