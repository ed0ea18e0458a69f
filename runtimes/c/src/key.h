/* The public key that bundles are held to, where one is set. */
#ifndef CZ_KEY_H
#define CZ_KEY_H

#include "internal.h"

#define CZ_KEY_VARIABLE "CACHEZOO_KEY"
#define CZ_KEY_FILE "/etc/cachezoo/key.pub"
#define CZ_KEY_BYTES 113 /* of a file that openssl writes */

typedef struct cz_key {
    char *path; /* NULL: no key is set */
    unsigned char point[32];
    int64_t floor; /* the least number of a release that is accepted */
} cz_key;

/* The key of the file given, else CACHEZOO_KEY's, else that of CZ_KEY_FILE where there is one; else none. */
int cz_key_find(const char *given, cz_key *key, cz_error *error);
void cz_key_free(cz_key *key);
/* The point in a file's bytes; false where it is no Ed25519 public key as PEM, as openssl writes it. */
bool cz_key_parse(const unsigned char *data, size_t size, unsigned char point[32]);
/* The number in a floor's bytes; false where it is none. */
bool cz_floor_parse(const unsigned char *data, size_t size, int64_t *floor);

/* A file from its beginning, at most so many bytes; false where it cannot be read: errno says why. */
bool cz_read_some(const char *path, unsigned char *data, size_t most, size_t *size);

/* Whether 64 bytes are a key's Ed25519 signature, computed by libsodium, which is looked for when it is first needed:
 * CZ_OK, CZ_BAD_BUNDLE without a message where they are not, CZ_BAD_CALL with one where there is no libsodium. */
int cz_signed_by(const unsigned char signature[64], const unsigned char *data, size_t size, const cz_key *key,
                 cz_error *error);

#endif
