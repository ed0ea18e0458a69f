/* A stream in a file: written whole or not at all, and read back by a stream of the same model and options.
 *
 *     8 bytes   "CZSTATE1"
 *     64        model_digest
 *     4 x 8     max_keys, max_names, capacity, requests observed
 *     2 x 8     sizes of what follows
 *     …         names, state of the kind
 *     64        sha256 of all before
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "names.h"
#include "saved.h"

#define MAGIC "CZSTATE1"
#define DIGEST 64 /* of the model */
#define HEAD (8 + DIGEST + 6 * 8)
#define MOST_PATH 4096

/* ---- files ---- */

static int io_failed(const char *path, const char *what, cz_error *error) {
    return cz_fail(error, CZ_IO, "%s: %s (%s)", path, what, strerror(errno));
}

static bool write_all(int file, const unsigned char *data, size_t size) {
    while (size) {
        ssize_t n = write(file, data, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        data += n;
        size -= (size_t)n;
    }
    return true;
}

/* So that the name lasts too; a file system that cannot do this for folders is left alone. */
static bool sync_folder(const char *path) {
    char folder[MOST_PATH];
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path + 1) : 1, slash ? path : ".");
    int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0)
        return false;
    bool done = fsync(file) == 0 || errno == EINVAL;
    close(file);
    return done;
}

/* Where links at a path lead, which a file is renamed to; what is no file, as a device, is refused and stays. */
static int file_at(const char *path, char target[MOST_PATH], cz_error *error) {
    struct stat found;
    if (lstat(path, &found) != 0) { /* nothing is there, or what makes the file says why */
        if ((size_t)snprintf(target, MOST_PATH, "%s", path) >= MOST_PATH)
            return cz_fail(error, CZ_BAD_CALL, "%.80s…: the path is too long", path);
        return CZ_OK;
    }
    if (!realpath(path, target) || stat(target, &found) != 0)
        return io_failed(path, "cannot be written", error);
    if (!S_ISREG(found.st_mode))
        return cz_fail(error, CZ_IO, "%s: cannot be written (it is no file)", path);
    return CZ_OK;
}

int cz_write_file(const char *name, const unsigned char *data, size_t size, cz_error *error) {
    char path[MOST_PATH], temporary[MOST_PATH];
    int result = file_at(name, path, error);
    if (result)
        return result;
    int length = snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
    if (length < 0 || (size_t)length >= sizeof temporary)
        return cz_fail(error, CZ_BAD_CALL, "%.80s…: the path is too long", path);
    int file = mkostemp(temporary, O_CLOEXEC);
    if (file < 0)
        return io_failed(name, "cannot be written", error);
    bool done = write_all(file, data, size) && fsync(file) == 0;
    int failed = errno;
    if (close(file) != 0 && done) {
        done = false;
        failed = errno;
    }
    if (done && rename(temporary, path) != 0) {
        done = false;
        failed = errno;
    }
    if (!done) {
        unlink(temporary);
        errno = failed;
        return io_failed(name, "cannot be written", error);
    }
    return sync_folder(path) ? CZ_OK : io_failed(path, "its folder cannot be written", error);
}

int cz_read_file(const char *path, unsigned char **data, size_t *size, cz_error *error) {
    struct stat found;
    *data = NULL;
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a FIFO has no writer to wait for */
    if (file < 0)
        return io_failed(path, "cannot be read", error);
    int result = CZ_OK;
    if (fstat(file, &found) != 0 || !S_ISREG(found.st_mode))
        result = cz_fail(error, CZ_IO, "%s: cannot be read (it is no file)", path);
    *size = result ? 0 : (size_t)found.st_size;
    if (!result && !(*data = malloc(*size + 1)))
        result = cz_fail(error, CZ_NO_MEMORY, "%s: no memory for it", path);
    for (size_t at = 0; !result && at < *size;) {
        ssize_t n = read(file, *data + at, *size - at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            result = io_failed(path, "cannot be read", error);
        else if (n == 0)
            *size = at;
        else
            at += (size_t)n;
    }
    close(file);
    return result;
}

int cz_write_state(const char *path, unsigned char *data, size_t size, cz_error *error) {
    cz_sha256_of(data, size, (char *)data + size);
    return cz_write_file(path, data, size + CZ_CHECKSUM, error);
}

bool cz_is_state(const unsigned char *data, size_t size, const char *magic) {
    char sum[CZ_CHECKSUM + 1];
    if (size < 8 + CZ_CHECKSUM || memcmp(data, magic, 8) != 0)
        return false;
    cz_sha256_of(data, size - CZ_CHECKSUM, sum);
    return memcmp(sum, data + size - CZ_CHECKSUM, CZ_CHECKSUM) == 0;
}

/* ---- states ---- */

static void put_head(const cz_stream *stream, size_t names, size_t state, cz_writer *out) {
    cz_info info;
    cz_bundle_info(stream->bundle, &info);
    cz_put_bytes(out, MAGIC, 8);
    cz_put_bytes(out, info.model_digest, DIGEST);
    cz_put(out, (uint64_t)stream->options.max_keys, 8);
    cz_put(out, (uint64_t)stream->options.max_names, 8);
    cz_put(out, (uint64_t)stream->options.capacity, 8);
    cz_put(out, stream->observed, 8);
    cz_put(out, names, 8);
    cz_put(out, state, 8);
}

int cz_save(const cz_stream *stream, const char *path, cz_error *error) {
    if (!stream || !path)
        return cz_fail(error, CZ_BAD_CALL, "cz_save: no stream or no path; pass both");
    if (!stream->ops->save)
        return cz_fail(error, CZ_BAD_CALL, "%s: streams of kind %s are not saved", path, stream->ops->name);
    size_t names = cz_names_save(stream->names, NULL), state = stream->ops->save(stream, NULL);
    size_t size = HEAD + names + state;
    unsigned char *data = malloc(size + CZ_CHECKSUM + 1);
    if (!data)
        return cz_fail(error, CZ_NO_MEMORY, "%s: no memory for what is to be written", path);
    cz_writer out = {data, 0};
    put_head(stream, names, state, &out);
    cz_names_save(stream->names, data + HEAD);
    stream->ops->save(stream, data + HEAD + names);
    int result = cz_write_state(path, data, size, error);
    free(data);
    return result;
}

static int damaged(const char *path, cz_error *error) {
    return cz_fail(error, CZ_BAD_STATE, "%s: it is damaged or no saved state; begin with an empty one", path);
}

/* Check all but the state of the kind; `in` is then at the names. */
static int check_state(const cz_stream *stream, const char *path, cz_bytes *in, size_t size, uint64_t *observed,
                       size_t *names, cz_error *error) {
    unsigned char own[HEAD];
    const unsigned char *data = in->at;
    if (size < HEAD + CZ_CHECKSUM || !cz_is_state(data, size, MAGIC))
        return damaged(path, error);
    cz_writer out = {own, 0};
    put_head(stream, 0, 0, &out);
    if (memcmp(own + 8, data + 8, DIGEST) != 0)
        return cz_fail(error, CZ_BAD_STATE, "%s: it is of another model (%.12s…, here %.12s…); begin with an empty one",
                       path, (const char *)data + 8, (const char *)own + 8);
    if (memcmp(own + 8 + DIGEST, data + 8 + DIGEST, 3 * 8) != 0)
        return cz_fail(error, CZ_BAD_STATE, "%s: it was saved with other max_keys, max_names or capacity; give those",
                       path);
    *in = (cz_bytes){data + 8 + DIGEST + 3 * 8, size - CZ_CHECKSUM - 8 - DIGEST - 3 * 8, false};
    *observed = cz_take(in, 8);
    uint64_t name_bytes = cz_take(in, 8), state_bytes = cz_take(in, 8);
    if (name_bytes > in->left || state_bytes != in->left - name_bytes || *observed > INT64_MAX)
        return damaged(path, error);
    *names = (size_t)name_bytes;
    return CZ_OK;
}

static int fill(cz_stream *fresh, const char *path, cz_bytes in, size_t names, uint64_t observed, uint64_t swaps,
                cz_error *error) {
    cz_error why = {0};
    fresh->observed = observed;
    fresh->swaps = swaps;
    if (!cz_names_restore(fresh->names, in.at, names))
        return damaged(path, error);
    int result = fresh->ops->restore(fresh, in.at + names, in.left - names, &why);
    if (result)
        return cz_fail(error, result, "%s: %.400s; begin with an empty one", path, why.text);
    return CZ_OK;
}

static void exchange(unsigned char *a, unsigned char *b, size_t size) {
    for (size_t i = 0; i < size; i++) {
        unsigned char kept = a[i];
        a[i] = b[i];
        b[i] = kept;
    }
}

int cz_restore(cz_stream *stream, const char *path, cz_error *error) {
    unsigned char *data;
    size_t size = 0, names = 0;
    uint64_t observed = 0;
    cz_stream *fresh = NULL;
    if (!stream || !path)
        return cz_fail(error, CZ_BAD_CALL, "cz_restore: no stream or no path; pass both");
    if (!stream->ops->restore)
        return cz_fail(error, CZ_BAD_CALL, "%s: streams of kind %s are not saved", path, stream->ops->name);
    int result = cz_read_file(path, &data, &size, error);
    cz_bytes in = {data, size, false};
    if (!result)
        result = check_state(stream, path, &in, size, &observed, &names, error);
    if (!result)
        result = cz_stream_make(stream->bundle, stream->ops, stream->model, &stream->options, &fresh, error);
    if (!result)
        result = fill(fresh, path, in, names, observed, stream->swaps, error);
    if (!result) {
        fresh->controller = stream->controller;
        stream->controller = NULL;
        exchange((unsigned char *)stream, (unsigned char *)fresh, stream->ops->stream_bytes);
    }
    cz_stream_free(fresh);
    free(data);
    return result;
}
