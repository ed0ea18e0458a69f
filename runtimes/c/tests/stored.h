/* The stored bundles, found from the repository's root. */
#ifndef CZ_STORED_H
#define CZ_STORED_H

#include <dirent.h>

#include "test.h"

#define MOST_STORED 64

static char stored[MOST_STORED][512];
static size_t n_stored;

static void find_stored(void) {
    char folder[200];
    for (int protocol = 1; protocol <= 2; protocol++) {
        snprintf(folder, sizeof folder, "tests/golden/protocol%d", protocol);
        DIR *list = opendir(folder);
        REQUIRE(list);
        for (struct dirent *entry; (entry = readdir(list));)
            if (entry->d_name[0] != '.' && n_stored < MOST_STORED)
                snprintf(stored[n_stored++], sizeof stored[0], "%s/%s", folder, entry->d_name);
        closedir(list);
    }
    REQUIRE(n_stored >= 11);
}

#endif
