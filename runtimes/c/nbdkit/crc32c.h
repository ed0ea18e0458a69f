#ifndef CZ_CRC32C_H
#define CZ_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* CRC-32C (Castagnoli), going on from `crc`, which is 0 at first. */
uint32_t crc32c(uint32_t crc, const void *data, size_t size);

#endif
