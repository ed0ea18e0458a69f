/* Memory of a reuse stream: allocated once, saved and restored field by field. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "reuse_parts.h"

enum { LINE = 64, PAGE = 4096, HUGE = 2 << 20 };

static cz_field *add(cz_memory *memory, void *data, size_t each, size_t most) {
    if (memory->n == (int)(sizeof memory->fields / sizeof memory->fields[0])) {
        memory->failed = true;
        return NULL;
    }
    cz_field *field = &memory->fields[memory->n++];
    *field = (cz_field){.data = data, .each = each, .most = most, .saved = true};
    return field;
}

void *cz_memory_room(cz_memory *memory, size_t most, size_t each, const int64_t *used) {
    if (most == 0 || each == 0 || most > (SIZE_MAX / 2 - LINE) / each) {
        memory->failed = true;
        return NULL;
    }
    size_t bytes = most * each;
    if (memory->limit && bytes > memory->limit - memory->bytes)
        memory->large = memory->failed = true;
    unsigned char *block = memory->failed ? NULL : calloc(1, bytes + LINE); /* pages never touched cost nothing */
    if (block == NULL) {
        memory->failed = true;
        return NULL;
    }
    cz_field *field = add(memory, block + (LINE - (uintptr_t)block % LINE), each, most);
    if (field == NULL) {
        free(block);
        return NULL;
    }
#ifdef MADV_HUGEPAGE
    if (bytes >= HUGE) /* far fewer misses of the processor's table of pages; where there are none, nothing changes */
        (void)madvise(block + (PAGE - (uintptr_t)block % PAGE), bytes - PAGE, MADV_HUGEPAGE);
#endif
    field->block = block;
    field->used = used;
    memory->bytes += bytes;
    return field->data;
}

void *cz_memory_scratch(cz_memory *memory, size_t most, size_t each) {
    void *data = cz_memory_room(memory, most, each, NULL);
    if (data != NULL)
        memory->fields[memory->n - 1].saved = false;
    return data;
}

void cz_memory_keep(cz_memory *memory, void *data, size_t bytes) {
    add(memory, data, bytes, 1);
}

void cz_memory_free(cz_memory *memory) {
    for (int k = 0; k < memory->n; k++)
        free(memory->fields[k].block);
    memory->n = 0;
}

static size_t bytes_of(const cz_field *field) {
    return (field->used == NULL ? field->most : (size_t)*field->used) * field->each;
}

size_t cz_memory_save(const cz_memory *memory, unsigned char *buffer) {
    size_t total = 0;
    for (int k = 0; k < memory->n; k++) {
        const cz_field *field = &memory->fields[k];
        if (!field->saved)
            continue;
        size_t bytes = bytes_of(field);
        if (buffer != NULL)
            memcpy(buffer + total, field->data, bytes);
        total += bytes;
    }
    return total;
}

bool cz_memory_restore(cz_memory *memory, const unsigned char *buffer, size_t size) {
    for (int k = 0; k < memory->n; k++) {
        cz_field *field = &memory->fields[k];
        if (!field->saved)
            continue;
        if (field->used != NULL && (*field->used < 0 || (uint64_t)*field->used > field->most))
            return false;
        size_t bytes = bytes_of(field);
        if (bytes > size)
            return false;
        memcpy(field->data, buffer, bytes);
        buffer += bytes;
        size -= bytes;
    }
    return size == 0;
}
