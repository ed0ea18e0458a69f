/* The disk's side of a tier: a small file off the SSD, which says which state of which tier is to be believed. */
#ifndef CZ_LABEL_H
#define CZ_LABEL_H

#include <stdbool.h>
#include <stdint.h>

#include "cachezoo.h"

typedef struct label {
    int fd; /* -1: there is none */
    bool sound;
    unsigned char uuid[16]; /* of the tier */
    uint64_t generation;    /* of the tier, as of its last opening; 0: none is to be believed */
} label;

/* Open, lock and read; a file that is not there yet is made, and one that holds anything else is refused. NULL: none. */
int label_open(const char *path, label *label, cz_error *error);
void label_close(label *label);
bool label_is(const label *label, const unsigned char uuid[16], uint64_t generation);
/* Durably; -1 where it cannot be written. */
int label_write(label *label, const unsigned char uuid[16], uint64_t generation);
int label_void(label *label);

#endif
