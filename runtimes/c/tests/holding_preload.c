/* Holds back a process's writes to the data of a file, for tests of what goes on meanwhile.
 *
 * LD_PRELOAD=holding_preload.so HOLD_FILE=PATH HOLD_FROM=OFFSET HOLD_WHILE=FILE HOLD_SAID=FILE program
 * Calls of pwrite and pwritev at HOLD_FROM and behind wait while HOLD_WHILE is there. HOLD_SAID gets a byte for each that
 * waits, as it begins to. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* By name, since the file may be made while the program runs. */
static int is_named(int fd, off_t offset) {
    struct stat found, named;
    return offset >= atoll(getenv("HOLD_FROM")) && fstat(fd, &found) == 0 && stat(getenv("HOLD_FILE"), &named) == 0 &&
           named.st_ino == found.st_ino && named.st_dev == found.st_dev;
}

static void hold(int fd, off_t offset) {
    if (!is_named(fd, offset) || access(getenv("HOLD_WHILE"), F_OK) != 0)
        return;
    int said = open(getenv("HOLD_SAID"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (said < 0 || write(said, "x", 1) != 1)
        abort();
    close(said);
    while (access(getenv("HOLD_WHILE"), F_OK) == 0)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) {
    static ssize_t (*next)(int, const void *, size_t, off_t);
    if (!next)
        next = (ssize_t (*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite");
    hold(fd, offset);
    return next(fd, data, size, offset);
}

ssize_t pwritev(int fd, const struct iovec *parts, int n, off_t offset) {
    static ssize_t (*next)(int, const struct iovec *, int, off_t);
    if (!next)
        next = (ssize_t (*)(int, const struct iovec *, int, off_t))dlsym(RTLD_NEXT, "pwritev");
    hold(fd, offset);
    return next(fd, parts, n, offset);
}
