/* Finds and reads the public key and its floor. Python has the same rules (src/cachezoo/bundles/signature.py). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "key.h"

#define MOST_NUMBER (((int64_t)1 << 53) - 1)
#define MOST_READ 4096
#define FLOOR ".floor"

/* The last 16 characters say the 12 bytes that every Ed25519 key begins with. */
static const char HEAD[] = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA";
static const char END[] = "=\n-----END PUBLIC KEY-----\n";

static int of_letter(unsigned char letter) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *found = letter ? strchr(letters, letter) : NULL;
    return found ? (int)(found - letters) : -1;
}

bool cz_key_parse(const unsigned char *data, size_t size, unsigned char point[32]) {
    size_t head = sizeof HEAD - 1, end = sizeof END - 1, made = 0;
    uint32_t bits = 0;
    int held = 0;
    if (size != CZ_KEY_BYTES || memcmp(data, HEAD, head) != 0 || memcmp(data + size - end, END, end) != 0)
        return false;
    for (size_t i = head; i < size - end; i++) {
        int value = of_letter(data[i]);
        if (value < 0)
            return false;
        bits = bits << 6 | (uint32_t)value;
        held += 6;
        if (held >= 8) {
            held -= 8;
            point[made++] = (unsigned char)(bits >> held);
            bits &= (1u << held) - 1;
        }
    }
    return bits == 0; /* the last letter has two bits more than the point */
}

bool cz_floor_parse(const unsigned char *data, size_t size, int64_t *floor) {
    size_t digits = size && data[size - 1] == '\n' ? size - 1 : size;
    if (digits < 1 || digits > 16 || (digits > 1 && data[0] == '0'))
        return false;
    *floor = 0;
    for (size_t i = 0; i < digits; i++) {
        if (data[i] < '0' || data[i] > '9')
            return false;
        *floor = 10 * *floor + (data[i] - '0');
    }
    return *floor <= MOST_NUMBER;
}

bool cz_read_some(const char *path, unsigned char *data, size_t most, size_t *size) {
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    *size = 0;
    if (file < 0)
        return false;
    while (*size < most) {
        ssize_t step = read(file, data + *size, most - *size);
        if (step < 0 && errno == EINTR)
            continue;
        if (step <= 0) {
            int cause = errno;
            close(file);
            errno = cause;
            return step == 0;
        }
        *size += (size_t)step;
    }
    close(file);
    return true;
}

static int unreadable(const char *path, cz_error *error) {
    return cz_fail(error, CZ_IO, "%.200s: cannot be read (%s); no bundle is opened without the key that is set", path,
                   strerror(errno));
}

/* Whether there is anything by a name, a link to nowhere included: a key that cannot be read is not no key. */
static int is_there(const char *path, bool *there, cz_error *error) {
    struct stat seen;
    *there = lstat(path, &seen) == 0;
    return *there || errno == ENOENT || errno == ENOTDIR ? CZ_OK : unreadable(path, error);
}

static int read_floor(cz_key *key, cz_error *error) {
    unsigned char data[MOST_READ];
    size_t size;
    size_t room = strlen(key->path) + sizeof FLOOR;
    char *path = malloc(room);
    bool there;
    if (!path)
        return cz_fail(error, CZ_NO_MEMORY, "%.200s: no memory to read it", key->path);
    snprintf(path, room, "%s" FLOOR, key->path);
    int result = is_there(path, &there, error);
    if (!result && there && !cz_read_some(path, data, sizeof data, &size))
        result = unreadable(path, error);
    else if (!result && there && !cz_floor_parse(data, size, &key->floor))
        result = cz_fail(error, CZ_BAD_BUNDLE,
                         "%.200s: is no number of a release; write the least that is accepted, in digits", path);
    free(path);
    return result;
}

int cz_key_find(const char *given, cz_key *key, cz_error *error) {
    const char *named = getenv(CZ_KEY_VARIABLE), *path = given ? given : named && *named ? named : NULL;
    unsigned char data[MOST_READ];
    size_t size;
    bool there = true;
    *key = (cz_key){.path = NULL};
    int result = path ? CZ_OK : is_there(CZ_KEY_FILE, &there, error);
    if (result || !there)
        return result;
    key->path = strdup(path ? path : CZ_KEY_FILE);
    if (!key->path)
        return cz_fail(error, CZ_NO_MEMORY, "no memory for a key");
    if (!cz_read_some(key->path, data, sizeof data, &size))
        result = unreadable(key->path, error);
    else if (!cz_key_parse(data, size, key->point))
        result = cz_fail(error, CZ_BAD_BUNDLE,
                         "%.200s: is no Ed25519 public key as PEM; openssl pkey -in private.pem -pubout writes one",
                         key->path);
    else
        result = read_floor(key, error);
    if (result)
        cz_key_free(key);
    return result;
}

void cz_key_free(cz_key *key) {
    free(key->path);
    *key = (cz_key){.path = NULL};
}
