/* safetensors: a header of JSON, then the tensors' bytes one after the other, without gaps. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define MOST_SIDES 4

struct cz_tensors {
    cz_json_document *header;
    float *numbers;
    size_t count;
    struct place {
        cz_tensor tensor;
        int64_t low, high;
    } *places;
};

static int bad(const char *where, const char *name, const char *problem, cz_error *error) {
    return cz_fail(error, CZ_BAD_BUNDLE, "%s is not readable (tensor '%.40s': %s); export the bundle again", where,
                   name, problem);
}

static bool whole_list(const cz_json *list, size_t least, size_t most) {
    if (!list || list->type != CZ_JSON_LIST || list->length < least || list->length > most)
        return false;
    for (size_t i = 0; i < list->length; i++)
        if (!list->items[i].whole || list->items[i].integer < 0)
            return false;
    return true;
}

/* A tensor's place and shape, as its entry of the header says. */
static const char *read_place(const cz_json *entry, const float *numbers, int64_t room, struct place *found) {
    const cz_json *type = cz_json_get(entry, "dtype"), *shape = cz_json_get(entry, "shape"),
                  *offsets = cz_json_get(entry, "data_offsets");
    if (!type || !shape || !offsets || entry->length != 3)
        return "its entry is not one dtype, one shape and two data_offsets";
    if (type->type != CZ_JSON_TEXT || strcmp(type->text, "F32") != 0)
        return "not of float32 (F32)";
    if (!whole_list(shape, 0, MOST_SIDES) || !whole_list(offsets, 2, 2))
        return "its shape or its offsets are no sizes";
    found->low = offsets->items[0].integer;
    found->high = offsets->items[1].integer;
    if (found->low > found->high || found->high > room || found->low % 4)
        return "it ends outside the file";
    int64_t size = 4;
    found->tensor.dims = (int)shape->length;
    for (size_t i = 0; i < shape->length; i++) {
        found->tensor.shape[i] = shape->items[i].integer;
        if (__builtin_mul_overflow(size, shape->items[i].integer, &size))
            return "its shape is too large";
    }
    if (size != found->high - found->low)
        return "it does not have the bytes of its shape";
    found->tensor.data = numbers + found->low / 4;
    return NULL;
}

static int by_place(const void *left, const void *right) {
    const struct place *a = left, *b = right;
    if (a->low != b->low)
        return a->low < b->low ? -1 : 1;
    return a->high < b->high ? -1 : a->high > b->high;
}

static bool notes_hold(const cz_json *notes) {
    if (notes->type != CZ_JSON_OBJECT)
        return false;
    for (size_t i = 0; i < notes->length; i++)
        if (notes->items[i].type != CZ_JSON_TEXT)
            return false;
    return true;
}

static int read_header(cz_tensors *found, int64_t room, const char *where, cz_error *error) {
    const cz_json *root = cz_json_root(found->header);
    if (root->type != CZ_JSON_OBJECT)
        return bad(where, "", "the header is no JSON object", error);
    found->places = calloc(root->length ? root->length : 1, sizeof *found->places);
    if (!found->places)
        return cz_fail(error, CZ_NO_MEMORY, "%s: no memory for its tensors", where);
    for (size_t i = 0; i < root->length; i++) {
        const char *name = root->keys[i], *problem = NULL;
        if (strcmp(name, "__metadata__") == 0) {
            problem = notes_hold(&root->items[i]) ? NULL : "it is no object of texts";
        } else {
            struct place *place = &found->places[found->count++];
            place->tensor.name = name;
            problem = read_place(&root->items[i], found->numbers, room, place);
        }
        if (problem)
            return bad(where, name, problem, error);
    }
    qsort(found->places, found->count, sizeof *found->places, by_place);
    int64_t end = 0;
    for (size_t i = 0; i < found->count; i++) {
        if (found->places[i].low != end)
            return bad(where, found->places[i].tensor.name, "it overlaps another, or leaves a gap", error);
        end = found->places[i].high;
    }
    return end == room ? CZ_OK : bad(where, "", "bytes are left over after the last tensor", error);
}

static int read_body(cz_tensors *found, const unsigned char *body, size_t room, const char *where, cz_error *error) {
    found->numbers = malloc(room + sizeof *found->numbers);
    if (!found->numbers)
        return cz_fail(error, CZ_NO_MEMORY, "%s: no memory for its tensors", where);
    memcpy(found->numbers, body, room);
    for (size_t i = 0; i < room / sizeof *found->numbers; i++)
        if (!isfinite(found->numbers[i]))
            return cz_fail(error, CZ_BAD_BUNDLE, "%s holds weights that are not finite; train the model again", where);
    return CZ_OK;
}

int cz_tensors_read(const unsigned char *data, size_t size, const char *where, cz_tensors **tensors, cz_error *error) {
    char place[400];
    uint64_t length = 0;
    *tensors = NULL;
    for (size_t i = 0; i < 8 && i < size; i++)
        length |= (uint64_t)data[i] << (8 * i);
    if (size < 8 || length > size - 8)
        return bad(where, "", "the header is longer than the file", error);
    cz_tensors *found = calloc(1, sizeof *found);
    if (!found)
        return cz_fail(error, CZ_NO_MEMORY, "%s: no memory for its tensors", where);
    snprintf(place, sizeof place, "%s is not readable: its header", where);
    size_t room = size - 8 - (size_t)length;
    int result = cz_json_read((const char *)data + 8, (size_t)length, place, &found->header, error);
    if (!result)
        result = read_body(found, data + 8 + length, room, where, error);
    if (!result)
        result = read_header(found, (int64_t)room, where, error);
    if (!result)
        *tensors = found;
    else
        cz_tensors_free(found);
    return result;
}

void cz_tensors_free(cz_tensors *tensors) {
    if (!tensors)
        return;
    cz_json_free(tensors->header);
    free(tensors->numbers);
    free(tensors->places);
    free(tensors);
}

const cz_tensor *cz_tensors_get(const cz_tensors *tensors, const char *name) {
    for (size_t i = 0; i < tensors->count; i++)
        if (strcmp(tensors->places[i].tensor.name, name) == 0)
            return &tensors->places[i].tensor;
    return NULL;
}

size_t cz_tensors_count(const cz_tensors *tensors) {
    return tensors->count;
}
