/* What served.c and reads.c share. */
#ifndef CZ_FILLS_H
#define CZ_FILLS_H

#include "served.h"

uint64_t now_ns(void);
/* Under the lock, before the tier is used outside of it; and after, with the lock or without. */
void served_enter(served *served);
void served_exit(served *served);
void served_fail(served *served, const char *what);
void served_count_error(served *served, bool failed, const char *what);
void served_retire(served *served, int32_t slot);
cz_request served_request(const served *served, enum cz_op op, uint64_t count, uint64_t offset);
/* Where a write is an access. */
void served_count_write(served *served, const cz_access *access);
void served_log(served *served, const cz_request *request);
int served_ask(served *served, const cz_request *request, cz_access *access);
void served_ready(served *served, int32_t slot, int64_t number, uint32_t crc);
void served_drop(served *served, uint64_t count, uint64_t offset);

#endif
