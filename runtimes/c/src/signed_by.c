/* Ed25519 by the machine's libsodium. It is looked for when a key is set, so that whoever sets none needs no libsodium,
 * and a library or wheel that is carried to another machine takes what is there. */
#include <dlfcn.h>
#include <pthread.h>

#include "key.h"

typedef int (*check_function)(const unsigned char *signature, const unsigned char *data, unsigned long long size,
                              const unsigned char *point);

static pthread_once_t looked_for = PTHREAD_ONCE_INIT;
static check_function check;

/* Names by which distributions have it; the functions are the same in all. It stays loaded. */
static void look_for(void) {
    static const char *const names[] = {"libsodium.so.26", "libsodium.so.23"};
    void *library = NULL;
    int (*start)(void) = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
    *(void **)&start = dlsym(library, "sodium_init");
    if (start && start() >= 0)
        *(void **)&check = dlsym(library, "crypto_sign_verify_detached");
}

int cz_signed_by(const unsigned char signature[64], const unsigned char *data, size_t size, const cz_key *key,
                 cz_error *error) {
    pthread_once(&looked_for, look_for);
    if (!check)
        return cz_fail(error, CZ_BAD_CALL,
                       "%.200s: a key is set, and what checks signatures is not installed; install libsodium "
                       "(Debian: libsodium23)",
                       key->path);
    return check(signature, data, size, key->point) == 0 ? CZ_OK : CZ_BAD_BUNDLE;
}
