/* References through a virtual I/O cache, or through one that applications share, for tests and benchmarks.
 *
 *     virtual_run REFERENCES PLACES QUEUE N FRAGMENT RUNS QUANTUM DECAY COST PAGES APPLICATIONS STEP REACH FILL [PROFILE]
 *
 * REFERENCES are pairs of int64: application and key. PLACES gets position, hit and moved of each, as int32, and behind
 * them the pages that each application has at last. PROFILE is float64 of each fragment. Prints nanoseconds a reference. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cachezoo.h"

typedef struct reference {
    int64_t application, key;
} reference;

static int fail(const char *what) {
    fprintf(stderr, "virtual_run: %s\n", what);
    return 1;
}

static void *read_whole(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    long end = file && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    char *data = end >= 0 ? malloc((size_t)end + 1) : NULL;
    if (file)
        rewind(file);
    *size = data ? (size_t)end : 0;
    if (data && fread(data, 1, *size, file) != *size) {
        free(data);
        data = NULL;
    }
    if (file)
        fclose(file);
    return data;
}

static cz_virtual_settings settings_of(char **words) {
    static const char *const queues[] = {"lru", "lfu", "arc"};
    cz_virtual_settings own = {.fragment = atoi(words[2]),
                               .runs = atoi(words[3]),
                               .pages = atoll(words[1]),
                               .quantum = atoll(words[4]),
                               .decay = strtod(words[5], NULL),
                               .cost = strtod(words[6], NULL)};
    while (own.queue < 3 && strcmp(queues[own.queue], words[0]) != 0)
        own.queue++;
    return own;
}

static int serve(cz_virtual *cache, cz_share *share, const reference *asked, size_t count, cz_place *places) {
    struct timespec before, after;
    int result = 0;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
    for (size_t i = 0; i < count && !result; i++)
        result = cache ? cz_virtual_reference(cache, (uint64_t)asked[i].key, &places[i])
                       : cz_share_reference(share, (int32_t)asked[i].application, (uint64_t)asked[i].key, &places[i]);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
    double ns = (double)(after.tv_sec - before.tv_sec) * 1e9 + (double)(after.tv_nsec - before.tv_nsec);
    if (count)
        printf("%.1f\n", ns / (double)count);
    return result;
}

static int write_places(const char *path, const cz_place *places, size_t count, const cz_share *share,
                        int applications) {
    FILE *file = fopen(path, "wb");
    bool done = file && fwrite(places, sizeof *places, count, file) == count;
    for (int a = 0; share && a < applications && done; a++) {
        int64_t pages = cz_share_pages(share, a);
        done = fwrite(&pages, sizeof pages, 1, file) == 1;
    }
    return file && fclose(file) == 0 && done ? 0 : fail("cannot write the places");
}

int main(int count, char **words) {
    if (count < 15)
        return fail("see the head of this file");
    size_t size = 0, profile_size = 0;
    reference *asked = read_whole(words[1], &size);
    double *profile = count > 15 ? read_whole(words[15], &profile_size) : NULL;
    cz_virtual_settings own = settings_of(words + 3), all[CZ_MOST_APPLICATIONS];
    int64_t pages = atoll(words[10]);
    int applications = atoi(words[11]);
    cz_place *places = malloc(size + sizeof *places);
    cz_virtual *cache = NULL;
    cz_share *share = NULL;
    cz_error error = {0};
    cz_share_options options = {pages, atoi(words[12]), atoi(words[13]), strtod(words[14], NULL)};
    if (!asked || !places || applications < 1 || applications > CZ_MOST_APPLICATIONS)
        return fail("no references");
    own.profile = profile;
    for (int a = 0; a < applications; a++)
        all[a] = own;
    int result = applications == 1 ? cz_virtual_new(&own, pages, &cache, &error)
                                   : cz_share_new(&options, all, applications, &share, &error);
    if (result)
        return fail(error.text);
    result = serve(cache, share, asked, size / sizeof *asked, places);
    if (!result)
        result = write_places(words[2], places, size / sizeof *asked, share, applications);
    cz_virtual_free(cache);
    cz_share_free(share);
    free(places);
    free(asked);
    free(profile);
    return result;
}
