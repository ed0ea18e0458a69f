/* The stored bundles, found from the repository's root. */
#ifndef CZ_STORED_H
#define CZ_STORED_H

#include <dirent.h>

#include "test.h"

#define STORED_IN "tests/golden/protocol2"
#define MOST_STORED 64

static char stored[MOST_STORED][512];
static size_t n_stored;

static void find_stored(void) {
    DIR *list = opendir(STORED_IN);
    REQUIRE(list);
    for (struct dirent *entry; (entry = readdir(list));)
        if (entry->d_name[0] != '.' && n_stored < MOST_STORED)
            snprintf(stored[n_stored++], sizeof stored[0], STORED_IN "/%s", entry->d_name);
    closedir(list);
    REQUIRE(n_stored >= 7);
}

#endif
