/* Whole reads and writes at an offset: 0, or -1 where the device fails or ends. */
#ifndef CZ_DEVICE_H
#define CZ_DEVICE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

int device_read(int fd, void *data, size_t size, int64_t at);
int device_write(int fd, const void *data, size_t size, int64_t at);
/* One write of several pieces of memory, at most IOV_MAX. */
int device_write_parts(int fd, const struct iovec *parts, int n, int64_t at);

#endif
