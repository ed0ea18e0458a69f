/* What a bundle may ask for: no set takes more than about 1 GiB, whatever it states. */
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "changed.h"

#define GOLDEN "tests/golden/protocol2/"
#define CACHING GOLDEN "caching.database.lstm1x8"
#define REUSE GOLDEN "reuse.follow"

static cz_error error;

static int verified(const char *path, const char *text, const char *with) {
    cz_bundle *bundle;
    int result = open_changed(path, text, with, &bundle, &error);
    if (!result)
        result = cz_verify(bundle, NULL, &error);
    cz_close(bundle);
    return result;
}

static void test_golden_caches(void) {
    struct rusage used;
    /* The cache is as large as its pages, whatever the set says; the rows are those of the capacity stated. */
    int result = verified(CACHING, "\"capacity_pages\": 117", "\"capacity_pages\": 4194304");
    CHECK(result == CZ_OK || result == CZ_DIFFERENT);
    result = verified(REUSE, "\"capacity_pages\": 25", "\"capacity_pages\": 524288");
    CHECK(result == CZ_OK || result == CZ_DIFFERENT);
    REQUIRE(getrusage(RUSAGE_SELF, &used) == 0);
    CHECK(used.ru_maxrss < 1 << 20); /* KiB */
}

static void sparse(const char *folder, const char *name) {
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    REQUIRE(file >= 0 && ftruncate(file, (off_t)600 << 20) == 0 && close(file) == 0);
}

static void test_files_together(void) {
    char folder[] = "/tmp/cz_limits_XXXXXX", path[300];
    cz_bundle *bundle;
    REQUIRE(mkdtemp(folder));
    sparse(folder, "a");
    sparse(folder, "b");
    CHECK(cz_open(folder, CZ_FP32, &bundle, &error) == CZ_BAD_BUNDLE && strstr(error.text, "1 GiB"));
    for (const char *name = "ab"; *name; name++) {
        snprintf(path, sizeof path, "%s/%c", folder, *name);
        CHECK(unlink(path) == 0);
    }
    CHECK(rmdir(folder) == 0);
}

int main(void) {
    test_golden_caches();
    test_files_together();
    return TEST_END();
}
