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

/* Where the device takes less than all of it the rest goes piece by piece. */
int device_write_parts(int fd, const struct iovec *parts, int n, int64_t at) {
    ssize_t done = n > 1 ? pwritev(fd, parts, n, at) : 0;
    for (int k = 0; k < n; k++) {
        size_t size = parts[k].iov_len, there = done > 0 ? (size_t)done : 0;
        if (there < size && device_write(fd, (const char *)parts[k].iov_base + there, size - there, at + (int64_t)there))
            return -1;
        done = there > size ? (ssize_t)(there - size) : 0;
        at += (int64_t)size;
    }
    return 0;
}
