#include "label.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crc32c.h"
#include "device.h"
#include "internal.h"

#define MAGIC "CZLABEL\n"
#define SECTOR 512

typedef struct content {
    char magic[8];
    unsigned char uuid[16];
    uint64_t generation;
    uint32_t crc; /* of all above */
} content;

/* The file's name is as durable as its content. */
static int sync_folder(const char *path) {
    char *copy = strdup(path);
    int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    int failed = fd < 0 || fsync(fd);
    if (fd >= 0)
        close(fd);
    free(copy);
    return failed ? -1 : 0;
}

static int read_label(const char *path, label *label, int64_t bytes, cz_error *error) {
    content found = {0};
    if (bytes == 0)
        return CZ_OK;
    if (bytes != SECTOR || device_read(label->fd, &found, sizeof found, 0) ||
        memcmp(found.magic, MAGIC, sizeof found.magic) != 0)
        return cz_fail(error, CZ_BAD_CALL, "%s: it holds something, and that is no label", path);
    label->sound = found.crc == crc32c(0, &found, offsetof(content, crc));
    memcpy(label->uuid, found.uuid, sizeof label->uuid);
    label->generation = found.generation;
    return CZ_OK;
}

int label_open(const char *path, label *label, cz_error *error) {
    struct stat found;
    *label = (struct label){.fd = -1};
    if (!path)
        return CZ_OK;
    if (stat(path, &found) == 0 && !S_ISREG(found.st_mode))
        return cz_fail(error, CZ_BAD_CALL, "%s: not a file", path);
    label->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (label->fd < 0 || fstat(label->fd, &found) || sync_folder(path))
        return cz_fail(error, CZ_IO, "%s: %s", path, strerror(errno));
    if (flock(label->fd, LOCK_EX | LOCK_NB))
        return cz_fail(error, CZ_IO, "%s: %s", path,
                       errno == EWOULDBLOCK ? "another cache uses this label" : strerror(errno));
    return read_label(path, label, found.st_size, error);
}

void label_close(label *label) {
    if (label->fd >= 0)
        close(label->fd);
    *label = (struct label){.fd = -1};
}

bool label_is(const label *label, const unsigned char uuid[16], uint64_t generation) {
    return label->sound && generation > 0 && label->generation == generation &&
           memcmp(label->uuid, uuid, sizeof label->uuid) == 0;
}

int label_write(label *label, const unsigned char uuid[16], uint64_t generation) {
    unsigned char sector[SECTOR] = {0};
    content made = {.magic = MAGIC, .generation = generation};
    memcpy(made.uuid, uuid, sizeof made.uuid);
    made.crc = crc32c(0, &made, offsetof(content, crc));
    memcpy(sector, &made, sizeof made);
    return device_write(label->fd, sector, SECTOR, 0) || fdatasync(label->fd) ? -1 : 0;
}

int label_void(label *label) {
    static const unsigned char none[16];
    return label_write(label, none, 0);
}
