/* Reads LightGBM's model text. What is not known to mean what this library computes is refused: a text holds keys in
 * lines `key=value`, first of the model, then of each tree. Source: src/io/tree.cpp and gbdt_model_text.cpp of
 * LightGBM, version 4 of the format. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "forest_text.h"

#define TOKEN 64
#define MISSING_NONE(type) (((type) & ~2) == 0) /* bit 0: categorical, 1: default left, 2 and 3: missing values */

typedef struct piece {
    const char *at;
    size_t length;
} piece;

/* Keys of the model's lines; those before MODEL_NEEDED must be there. */
enum { VERSION, CLASSES, EACH, LAST_FEATURE, SIZES, MODEL_NEEDED };
static const char *const MODEL_KEYS[] = {
    "version",     "num_class", "num_tree_per_iteration", "max_feature_idx", "tree_sizes",
    "label_index", "objective", "feature_names",          "feature_infos",   "monotone_constraints"};
/* Keys of a tree's lines; what stands in those from TREE_NEEDED on decides nothing. */
enum { LEAVES, CATEGORIES, LINEAR, FEATURES, THRESHOLDS, TYPES, LEFT, RIGHT, VALUES, TREE_NEEDED };
static const char *const TREE_KEYS[] = {"num_leaves",     "num_cat",         "is_linear",      "split_feature",
                                        "threshold",      "decision_type",   "left_child",     "right_child",
                                        "leaf_value",     "split_gain",      "leaf_weight",    "leaf_count",
                                        "internal_value", "internal_weight", "internal_count", "shrinkage"};
#define COUNT(list) (sizeof(list) / sizeof *(list))

typedef struct text {
    const char *at, *end; /* what is still to be read */
    const char *where;
    cz_error *error;
    int32_t features, tree;   /* inputs of the model; the tree being read, -1 before the first */
    int32_t most_leaves;      /* that a text of this size can hold */
    unsigned seen;            /* keys of the model, or of the tree being read */
    double sum;               /* that the leaves may come to, at most */
    piece sizes;              /* of the trees, in bytes: LightGBM finds them by these */
    const char *row, *begun;  /* where the line and the tree that are being read begin */
    piece given[TREE_NEEDED]; /* of the tree being read */
} text;

static bool same(piece given, const char *word) {
    return given.length == strlen(word) && memcmp(given.at, word, given.length) == 0;
}

static int bad(const text *in, const char *what) {
    if (in->tree < 0)
        return cz_fail(in->error, CZ_BAD_BUNDLE, "%s: %s; export the bundle again", in->where, what);
    return cz_fail(in->error, CZ_BAD_BUNDLE, "%s: tree %d: %s; export the bundle again", in->where, in->tree, what);
}

static bool line(text *in, piece *found) {
    in->row = in->at;
    if (in->at >= in->end)
        return false;
    const char *stop = memchr(in->at, '\n', (size_t)(in->end - in->at));
    const char *end = stop ? stop : in->end;
    *found = (piece){in->at, (size_t)(end - in->at)};
    in->at = stop ? stop + 1 : in->end;
    return true;
}

static bool split_key(piece given, piece *key, piece *value) {
    const char *equals = memchr(given.at, '=', given.length);
    if (!equals)
        return false;
    *key = (piece){given.at, (size_t)(equals - given.at)};
    *value = (piece){equals + 1, given.length - key->length - 1};
    return true;
}

/* The next number of a list parted by single blanks; false at its end or where this is no finite number. */
static bool number(piece *list, double *found) {
    const char *blank = memchr(list->at, ' ', list->length);
    size_t length = blank ? (size_t)(blank - list->at) : list->length;
    char token[TOKEN];
    const char *stop;
    if (length == 0 || length >= TOKEN)
        return false;
    memcpy(token, list->at, length);
    token[length] = 0;
    if (blank && length + 1 == list->length)
        return false;
    if (strchr(token, 'E') || !cz_decimal(token, &stop, found))
        return false;
    list->at += length + (blank != NULL);
    list->length -= length + (blank != NULL);
    return *stop == 0 && isfinite(*found);
}

static bool whole(piece *list, int32_t least, int32_t most, int32_t *found) {
    double value;
    if (!number(list, &value) || value < least || value > most || value != floor(value))
        return false;
    *found = (int32_t)value;
    return true;
}

/* Whether this is a number as LightGBM writes it. */
static bool states(piece given, int64_t number) {
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)number);
    return same(given, text);
}

/* Which of the keys this line has; negative where it is refused. */
static int key_of(text *in, piece key, const char *const *keys, size_t count) {
    char what[96];
    for (size_t i = 0; i < count; i++) {
        if (!same(key, keys[i]))
            continue;
        if (in->seen >> i & 1)
            return -bad(in, "a key stands twice");
        in->seen |= 1u << i;
        return (int)i;
    }
    snprintf(what, sizeof what, "key %.*s is not one that this library computes",
             (int)(key.length < 40 ? key.length : 40), key.at);
    return -bad(in, what);
}

/* Whether the first keys have been seen. */
static int needs(text *in, const char *const *keys, int count) {
    char what[96];
    for (int i = 0; i < count; i++) {
        if (in->seen >> i & 1)
            continue;
        snprintf(what, sizeof what, "%s is missing", keys[i]);
        return bad(in, what);
    }
    return CZ_OK;
}

static int model_line(text *in, piece key, piece value) {
    int which = key_of(in, key, MODEL_KEYS, COUNT(MODEL_KEYS));
    if (which < 0)
        return -which;
    if (which == SIZES)
        in->sizes = value;
    if (which == VERSION && !same(value, "v4"))
        return bad(in, "version is not v4");
    if ((which == CLASSES || which == EACH) && !states(value, 1))
        return bad(in, "num_class or num_tree_per_iteration is not 1");
    if (which == LAST_FEATURE && !states(value, in->features - 1))
        return bad(in, "max_feature_idx is not the number of the model's features less 1");
    return CZ_OK;
}

static int tree_line(text *in, piece key, piece value) {
    int which = key_of(in, key, TREE_KEYS, COUNT(TREE_KEYS));
    if (which < 0)
        return -which;
    if (which < TREE_NEEDED)
        in->given[which] = value;
    return CZ_OK;
}

/* A child that has no other way to it; `reached` holds splits, then leaves. */
static bool child(int32_t index, int32_t parent, int32_t leaves, unsigned char *reached) {
    int32_t place = index >= 0 ? index : leaves - 1 + ~index;
    if (index >= 0 ? index <= parent || index >= leaves - 1 : ~index >= leaves)
        return false;
    if (reached[place])
        return false;
    reached[place] = 1;
    return true;
}

static int read_splits(text *in, cz_tree *tree, unsigned char *reached) {
    piece *given = in->given;
    for (int32_t i = 0; i < tree->leaves - 1; i++) {
        cz_split *split = &tree->splits[i];
        int32_t type;
        if (!whole(&given[FEATURES], 0, in->features - 1, &split->feature))
            return bad(in, "split_feature is not one of the model's features for each split");
        if (!number(&given[THRESHOLDS], &split->threshold))
            return bad(in, "threshold is not a finite number for each split");
        if (!whole(&given[TYPES], 0, 255, &type))
            return bad(in, "decision_type is not a number for each split");
        if (!MISSING_NONE(type))
            return bad(in, "decision_type has a categorical split or handles missing values");
        if (!whole(&given[LEFT], INT32_MIN, INT32_MAX, &split->left) ||
            !whole(&given[RIGHT], INT32_MIN, INT32_MAX, &split->right) ||
            !child(split->left, i, tree->leaves, reached) || !child(split->right, i, tree->leaves, reached))
            return bad(in, "left_child and right_child do not make a tree");
    }
    for (int list = FEATURES; list <= RIGHT; list++)
        if (given[list].length)
            return bad(in, "more splits than leaves less 1");
    return CZ_OK;
}

static int read_values(text *in, piece given, cz_tree *tree) {
    double largest = 0;
    for (int32_t i = 0; i < tree->leaves; i++) {
        if (!number(&given, &tree->values[i]))
            return bad(in, "leaf_value is not a finite number for each leaf");
        largest = fmax(largest, fabs(tree->values[i]));
    }
    in->sum += largest;
    if (!isfinite(in->sum))
        return bad(in, "its leaves may sum up to what is not finite");
    return given.length ? bad(in, "leaf_value has more values than num_leaves") : CZ_OK;
}

/* One to nine digits, which are a number of leaves that the text can hold. */
static bool leaves_of(const text *in, int32_t *found) {
    piece given = in->given[LEAVES];
    int64_t value;
    if (given.length > 9 || !cz_whole(given.at, given.length, &value) || value < 1 || value > in->most_leaves)
        return false;
    *found = (int32_t)value;
    return true;
}

static int read_tree(text *in, cz_tree *tree) {
    int needed = needs(in, TREE_KEYS, TREE_NEEDED);
    if (needed)
        return needed;
    if (!states(in->given[LINEAR], 0))
        return bad(in, "is_linear is not 0: linear trees are not computed");
    if (!states(in->given[CATEGORIES], 0))
        return bad(in, "num_cat is not 0: categorical splits are not computed");
    if (!leaves_of(in, &tree->leaves))
        return bad(in, "num_leaves is not a number of leaves that the text can hold");
    size_t leaves = (size_t)tree->leaves;
    unsigned char *reached = calloc(leaves, 2);
    tree->splits = calloc(leaves, sizeof *tree->splits);
    tree->values = calloc(leaves, sizeof *tree->values);
    int result = CZ_OK;
    if (!tree->splits || !tree->values || !reached)
        result = cz_fail(in->error, CZ_NO_MEMORY, "%s: no memory for its trees", in->where);
    if (result == CZ_OK)
        result = read_splits(in, tree, reached);
    if (result == CZ_OK)
        result = read_values(in, in->given[VALUES], tree);
    free(reached);
    return result;
}

static int add_tree(text *in, cz_trees *trees) {
    if ((trees->count & (trees->count - 1)) == 0) { /* room is the next power of two */
        cz_tree *grown = realloc(trees->trees, 2 * ((size_t)trees->count + 1) * sizeof *grown);
        if (!grown)
            return cz_fail(in->error, CZ_NO_MEMORY, "%s: no memory for its trees", in->where);
        trees->trees = grown;
    }
    const char *blank = memchr(in->sizes.at, ' ', in->sizes.length);
    size_t length = blank ? (size_t)(blank - in->sizes.at) : in->sizes.length;
    if (!states((piece){in->sizes.at, length}, in->row - in->begun) || (blank && length + 1 == in->sizes.length))
        return bad(in, "tree_sizes does not state its size");
    in->sizes.at += length + (blank != NULL);
    in->sizes.length -= length + (blank != NULL);
    cz_tree *tree = &trees->trees[trees->count++];
    *tree = (cz_tree){0};
    return read_tree(in, tree);
}

static int begin_tree(text *in, piece value) {
    int needed = in->tree < 0 ? needs(in, MODEL_KEYS, MODEL_NEEDED) : CZ_OK;
    if (needed)
        return needed;
    if (!states(value, in->tree + 1))
        return bad(in, "the next Tree has another number");
    in->tree++;
    in->begun = in->row;
    in->seen = 0;
    return CZ_OK;
}

static int end_trees(text *in, const cz_trees *trees) {
    static const char last[] = "\nend of parameters\n";
    in->tree = -1;
    if (!trees->count)
        return bad(in, "it holds no tree");
    if (in->sizes.length)
        return bad(in, "tree_sizes has more sizes than there are trees");
    if (!memmem(in->row, (size_t)(in->end - in->row), last, sizeof last - 1))
        return bad(in, "it is cut short");
    return CZ_OK;
}

/* A blank line stands before each tree, and nowhere else but before the end of the trees. */
static bool misplaced(const text *in, piece row, bool blank, bool next, bool ends) {
    if (row.length == 0)
        return blank && in->tree < 0;
    return blank ? !next && !ends : next;
}

static int read_lines(text *in, cz_trees *trees) {
    piece row, key = {0}, value = {0};
    bool blank = false;
    if (!line(in, &row) || !same(row, "tree"))
        return bad(in, "it does not begin as a LightGBM model text");
    for (int result = CZ_OK; line(in, &row); blank = row.length == 0) {
        bool ends = same(row, "end of trees"), keyed = split_key(row, &key, &value);
        bool next = keyed && same(key, "Tree");
        if (misplaced(in, row, blank, next, ends))
            return bad(in, "a blank line stands where none may, or none where one must");
        if ((ends || next) && in->tree >= 0)
            result = add_tree(in, trees);
        if (result == CZ_OK && ends)
            return end_trees(in, trees);
        if (result == CZ_OK && next)
            result = begin_tree(in, value);
        else if (result == CZ_OK && row.length && !keyed)
            result = bad(in, "a line is not of the form key=value");
        else if (result == CZ_OK && row.length)
            result = in->tree < 0 ? model_line(in, key, value) : tree_line(in, key, value);
        if (result != CZ_OK)
            return result;
    }
    return bad(in, "it ends before its trees do");
}

static bool is_plain(const unsigned char *data, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (data[i] != '\n' && (data[i] < ' ' || data[i] > '~'))
            return false;
    return true;
}

int cz_trees_read(const unsigned char *data, size_t size, int32_t features, const char *where, cz_trees *trees,
                  cz_error *error) {
    text in = {.at = (const char *)data, .end = (const char *)data + size, .where = where, .error = error};
    in.features = features;
    in.tree = -1;
    in.most_leaves = size > INT32_MAX ? INT32_MAX : (int32_t)size;
    *trees = (cz_trees){0};
    int result = is_plain(data, size) ? read_lines(&in, trees)
                                      : bad(&in, "it holds bytes that are neither printable ASCII nor line ends");
    if (result != CZ_OK)
        cz_trees_free(trees);
    return result;
}

void cz_trees_free(cz_trees *trees) {
    for (int32_t i = 0; i < trees->count; i++) {
        free(trees->trees[i].splits);
        free(trees->trees[i].values);
    }
    free(trees->trees);
    *trees = (cz_trees){0};
}
