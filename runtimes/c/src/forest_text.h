/* LightGBM's model text as trees, before they are laid out for speed. */
#ifndef CZ_FOREST_TEXT_H
#define CZ_FOREST_TEXT_H

#include "internal.h"

typedef struct cz_split {
    double threshold; /* a row goes left where its feature is at most this */
    int32_t feature;
    int32_t left, right; /* a split of the same tree with a higher number, or ~leaf */
} cz_split;

typedef struct cz_tree {
    int32_t leaves; /* splits: one less */
    cz_split *splits;
    double *values; /* of the leaves */
} cz_tree;

typedef struct cz_trees {
    int32_t count;
    cz_tree *trees;
} cz_trees;

/* Read a text whose rows have so many features. Every tree is one: each split and leaf has one way to it. */
int cz_trees_read(const unsigned char *data, size_t size, int32_t features, const char *where, cz_trees *trees,
                  cz_error *error);
void cz_trees_free(cz_trees *trees);

#endif
