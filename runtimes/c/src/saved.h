/* Files of saved states. */
#ifndef CZ_SAVED_H
#define CZ_SAVED_H

#include "bytes.h"
#include "internal.h"

/* Write a file whole or not at all: under another name, synced, then renamed. */
int cz_write_file(const char *path, const unsigned char *data, size_t size, cz_error *error);
int cz_read_file(const char *path, unsigned char **data, size_t *size, cz_error *error);

#endif
