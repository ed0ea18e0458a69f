/* Finds and reads the files of a bundle's folder: plain files alone, none behind a link, each read once. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store.h"

#define MOST_PATH 512
#define FLAGS (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)

static int no_memory(const char *where, cz_error *error) {
    return cz_fail(error, CZ_NO_MEMORY, "%s: no memory to read it", where);
}

static int scan(cz_store *store, int folder, const char *prefix, cz_error *error);

static int look_at(cz_store *store, int folder, const char *prefix, const char *name, cz_error *error) {
    char path[MOST_PATH];
    struct stat seen;
    int length = snprintf(path, sizeof path, "%s%s", prefix, name);
    if (length < 0 || (size_t)length + 1 >= sizeof path)
        return cz_refuse(store->where, error, CZ_AGAIN, "'%.60s' … is not listed in " CZ_MANIFEST, path);
    if (fstatat(folder, name, &seen, AT_SYMLINK_NOFOLLOW) != 0)
        return cz_fail(error, CZ_IO, "%s: %s cannot be read (%s)", store->where, path, strerror(errno));
    if (S_ISLNK(seen.st_mode))
        return cz_refuse(store->where, error, "put the file itself there", "'%s' is a symbolic link", path);
    if (S_ISREG(seen.st_mode))
        return cz_store_add(store, path, (size_t)length, NULL, (uint64_t)seen.st_size, error);
    if (!S_ISDIR(seen.st_mode))
        return cz_refuse(store->where, error, CZ_AGAIN, "'%s' is not a plain file", path);
    int below = openat(folder, name, FLAGS | O_DIRECTORY);
    if (below < 0)
        return cz_fail(error, CZ_IO, "%s: %s cannot be read (%s)", store->where, path, strerror(errno));
    memcpy(path + length, "/", 2);
    return scan(store, below, path, error);
}

/* Names and sizes of all files below a folder; closes it. A path's greatest length bounds the depth. */
static int scan(cz_store *store, int folder, const char *prefix, cz_error *error) {
    DIR *list = fdopendir(folder);
    int result = CZ_OK;
    bool any = false;
    if (!list) {
        close(folder);
        return no_memory(store->where, error);
    }
    for (struct dirent *entry; !result && (entry = readdir(list));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        any = true;
        result = look_at(store, folder, prefix, entry->d_name, error);
    }
    closedir(list);
    if (!result && !any && *prefix)
        return cz_refuse(store->where, error, CZ_AGAIN, "%.*s is an empty folder, which no bundle holds",
                         (int)strlen(prefix) - 1, prefix);
    return result;
}

/* Open a file step by step, so that no part of its path is a link. */
static int open_below(int folder, const char *path) {
    char name[MOST_PATH];
    int at = dup(folder);
    for (const char *slash; at >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
        snprintf(name, sizeof name, "%.*s", (int)(slash - path), path);
        int next = openat(at, name, FLAGS | O_DIRECTORY);
        close(at);
        at = next;
    }
    if (at < 0)
        return -1;
    int file = openat(at, path, FLAGS);
    close(at);
    return file;
}

static ssize_t read_whole(int file, unsigned char *data, size_t size) {
    size_t have = 0;
    while (have < size) {
        ssize_t step = read(file, data + have, size - have);
        if (step < 0 && errno == EINTR)
            continue;
        if (step < 0)
            return -1;
        if (step == 0)
            break;
        have += (size_t)step;
    }
    return (ssize_t)have;
}

/* Read a plain file of exactly `size` bytes, also if it changes meanwhile; closes it. */
static int read_plain(const char *where, const char *name, int file, uint64_t size, unsigned char **data,
                      cz_error *error) {
    struct stat seen;
    *data = NULL;
    if (file < 0)
        return cz_fail(error, CZ_IO, "%s: %s cannot be read (%s)", where, name, strerror(errno));
    if (size > CZ_MOST_FILE) {
        close(file);
        return cz_refuse(where, error, CZ_AGAIN, "%s has more bytes than any bundle", name);
    }
    bool plain = fstat(file, &seen) == 0 && S_ISREG(seen.st_mode);
    unsigned char *found = plain ? malloc((size_t)size + 1) : NULL;
    ssize_t have = found ? read_whole(file, found, (size_t)size + 1) : -1;
    int cause = errno;
    close(file);
    if (plain && !found)
        return no_memory(where, error);
    if (plain && have == (ssize_t)size) {
        *data = found;
        return CZ_OK;
    }
    free(found);
    if (plain && have < 0)
        return cz_fail(error, CZ_IO, "%s: %s cannot be read (%s)", where, name, strerror(cause));
    return cz_refuse(where, error, CZ_AGAIN, "%s changed while it was read, or is not a plain file", name);
}

int cz_store_read(const cz_store *store, cz_entry *entry, cz_error *error) {
    if (entry->data)
        return CZ_OK;
    return read_plain(store->where, entry->path, open_below(store->folder, entry->path), entry->size, &entry->data,
                      error);
}

int cz_store_open(const char *path, cz_store *store, cz_error *error) {
    struct stat seen;
    unsigned char *data;
    int result = cz_store_new(path, store, error);
    if (result)
        return result;
    if (stat(path, &seen) != 0)
        return cz_refuse(path, error, "give a bundle's folder or .zip", "no such bundle (%s)", strerror(errno));
    if (S_ISDIR(seen.st_mode)) {
        store->folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int again = store->folder < 0 ? -1 : dup(store->folder);
        if (again < 0)
            return cz_fail(error, CZ_IO, "%s: cannot be read (%s)", path, strerror(errno));
        result = scan(store, again, "", error);
        cz_store_sort(store);
        return result;
    }
    result = read_plain(path, "the archive", open(path, FLAGS & ~O_NOFOLLOW), (uint64_t)seen.st_size, &data, error);
    if (result)
        return result;
    result = cz_zip_read(data, (size_t)seen.st_size, store, error);
    free(data);
    return result;
}
