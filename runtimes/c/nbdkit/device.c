#include "device.h"

#include <errno.h>
#include <unistd.h>

int device_read(int fd, void *data, size_t size, int64_t at) {
    unsigned char *next = data;
    while (size > 0) {
        ssize_t done = pread(fd, next, size, at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return -1;
        next += done;
        at += done;
        size -= (size_t)done;
    }
    return 0;
}

int device_write(int fd, const void *data, size_t size, int64_t at) {
    const unsigned char *next = data;
    while (size > 0) {
        ssize_t done = pwrite(fd, next, size, at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return -1;
        next += done;
        at += done;
        size -= (size_t)done;
    }
    return 0;
}
