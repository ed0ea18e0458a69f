/* Places in a list in any order, in a logarithm of its length. */
#include <stdlib.h>

#include "queue.h"

enum { FILLED = 45 }; /* of a leaf or branch after packing */

#define LINE 64 /* of the cache */
_Static_assert(sizeof(cz_leaf) % LINE == 0 && sizeof(cz_branch) % LINE == 0, "they are whole lines");

typedef int32_t four __attribute__((vector_size(16), aligned(4), may_alias));

static void start(cz_tree *tree) {
    tree->used_leaves = tree->used_branches = 1;
    tree->root = tree->last = tree->count = 0;
    tree->leaves[0] = (cz_leaf){.parent = 0, .at = 0};
    for (int i = 0; i < CZ_LEAF; i++)
        tree->leaves[0].pages[i] = CZ_NO_PAGE;
    tree->branches[0] = (cz_branch){.parent = -1, .used = 1, .above = 1};
}

bool cz_tree_new(cz_tree *tree, int32_t most, int32_t *at) {
    *tree = (cz_tree){.most = most, .at = at, .n_leaves = most / 15 + 8};
    tree->n_branches = tree->n_leaves / 15 + 16;
    tree->leaves = aligned_alloc(LINE, (size_t)tree->n_leaves * sizeof *tree->leaves);
    tree->branches = aligned_alloc(LINE, (size_t)tree->n_branches * sizeof *tree->branches);
    tree->order = malloc((size_t)most * sizeof *tree->order);
    if (!tree->leaves || !tree->branches || !tree->order)
        return false;
    start(tree);
    return true;
}

void cz_tree_free(cz_tree *tree) {
    free(tree->leaves);
    free(tree->branches);
    free(tree->order);
}

size_t cz_tree_bytes(const cz_tree *tree) {
    return (size_t)tree->n_leaves * sizeof *tree->leaves + (size_t)tree->n_branches * sizeof *tree->branches +
           (size_t)tree->most * sizeof *tree->order;
}

/* ---- reading ---- */

/* Where a page stands in its leaf: all are compared, so no branch hangs on data. */
static int32_t index_in(const cz_leaf *leaf, int32_t page) {
    four wanted = {page, page, page, page}, at = {0, 1, 2, 3}, found = {0, 0, 0, 0};
    const four step = {4, 4, 4, 4};
    for (int i = 0; i < CZ_LEAF; i += 4, at += step)
        found |= (*(const four *)&leaf->pages[i] == wanted) & at;
    return found[0] | found[1] | found[2] | found[3];
}

static int32_t sum_of(const int32_t *counts, int32_t end) {
    four sums = {0, 0, 0, 0};
    int32_t i = 0;
    for (; i + 4 <= end; i += 4)
        sums += *(const four *)&counts[i];
    int32_t sum = sums[0] + sums[1] + sums[2] + sums[3];
    for (; i < end; i++)
        sum += counts[i];
    return sum;
}

int32_t cz_tree_page(const cz_tree *tree, int32_t place) {
    const cz_branch *branch = &tree->branches[tree->root];
    for (;;) {
        int32_t at = 0;
        while (place >= branch->count[at])
            place -= branch->count[at++];
        if (branch->above == 1)
            return tree->leaves[branch->child[at]].pages[place];
        branch = &tree->branches[branch->child[at]];
    }
}

/* ---- writing ---- */

/* A page more or less in a leaf; returns how many pages stand before the leaf. */
static int32_t add_up(cz_tree *tree, const cz_leaf *leaf, int32_t more) {
    int32_t at = leaf->at, before = 0;
    for (int32_t up = leaf->parent; up >= 0;) {
        cz_branch *branch = &tree->branches[up];
        before += sum_of(branch->count, at);
        branch->count[at] += more;
        at = branch->at;
        up = branch->parent;
    }
    tree->count += more;
    return before;
}

int32_t cz_tree_remove(cz_tree *tree, int32_t page) {
    cz_leaf *leaf = &tree->leaves[tree->at[page]];
    int32_t index = index_in(leaf, page), last = --leaf->used;
    for (int32_t i = index; i < last; i++)
        leaf->pages[i] = leaf->pages[i + 1];
    leaf->pages[last] = CZ_NO_PAGE;
    return index + add_up(tree, leaf, -1);
}

/* Tell children from this one on where they are. */
static void tell(cz_tree *tree, int32_t own, int32_t from) {
    cz_branch *branch = &tree->branches[own];
    for (int32_t i = from; i < branch->used; i++) {
        if (branch->above == 1) {
            tree->leaves[branch->child[i]].parent = own;
            tree->leaves[branch->child[i]].at = i;
        } else {
            tree->branches[branch->child[i]].parent = own;
            tree->branches[branch->child[i]].at = i;
        }
    }
}

static void grow(cz_tree *tree) {
    int32_t old = tree->root, own = tree->used_branches++;
    tree->branches[own] = (cz_branch){.parent = -1, .used = 1, .above = tree->branches[old].above + 1};
    tree->branches[own].child[0] = old;
    tree->branches[own].count[0] = tree->count;
    tree->root = own;
    tell(tree, own, 0);
}

static void add_child(cz_tree *tree, int32_t own, int32_t at, int32_t child, int32_t count);

/* The upper half of a branch that is too full goes to a new one behind it. */
static void split_branch(cz_tree *tree, int32_t own) {
    if (own == tree->root)
        grow(tree);
    int32_t other = tree->used_branches++, half = (CZ_FAN + 1) / 2, moved = 0;
    cz_branch *from = &tree->branches[own], *to = &tree->branches[other];
    *to = (cz_branch){.above = from->above};
    for (int32_t i = half; i <= CZ_FAN; i++) {
        to->child[to->used] = from->child[i];
        to->count[to->used++] = from->count[i];
        moved += from->count[i];
    }
    from->used = half;
    tell(tree, other, 0);
    tree->branches[from->parent].count[from->at] -= moved;
    add_child(tree, from->parent, from->at + 1, other, moved);
}

/* Put a child into a branch; `count` pages below it are counted above already. */
static void add_child(cz_tree *tree, int32_t own, int32_t at, int32_t child, int32_t count) {
    cz_branch *branch = &tree->branches[own];
    for (int32_t i = branch->used++; i > at; i--) {
        branch->child[i] = branch->child[i - 1];
        branch->count[i] = branch->count[i - 1];
    }
    branch->child[at] = child;
    branch->count[at] = count;
    tell(tree, own, at);
    if (branch->used > CZ_FAN)
        split_branch(tree, own);
}

/* A leaf with `count` pages of the one before it, which its branch does not count there any more. */
static int32_t new_leaf(cz_tree *tree, int32_t parent, int32_t at, int32_t count) {
    int32_t own = tree->used_leaves++;
    for (int i = 0; i < CZ_LEAF; i++)
        tree->leaves[own].pages[i] = CZ_NO_PAGE;
    tree->leaves[own].used = count;
    add_child(tree, parent, at, own, count);
    return own;
}

static void split_leaf(cz_tree *tree, int32_t own) {
    enum { HALF = CZ_LEAF / 2 };
    cz_leaf *from = &tree->leaves[own];
    tree->branches[from->parent].count[from->at] -= CZ_LEAF - HALF;
    int32_t other = new_leaf(tree, from->parent, from->at + 1, CZ_LEAF - HALF);
    cz_leaf *to = &tree->leaves[other];
    for (int i = HALF; i < CZ_LEAF; i++) {
        to->pages[i - HALF] = from->pages[i];
        tree->at[from->pages[i]] = other;
        from->pages[i] = CZ_NO_PAGE;
    }
    from->used = HALF;
    if (tree->last == own)
        tree->last = other;
}

static int32_t collect(const cz_tree *tree, int32_t own, int32_t *order) {
    const cz_branch *branch = &tree->branches[own];
    int32_t found = 0;
    for (int32_t i = 0; i < branch->used; i++) {
        const cz_leaf *leaf = &tree->leaves[branch->child[i]];
        if (branch->above > 1) {
            found += collect(tree, branch->child[i], order + found);
            continue;
        }
        for (int32_t k = 0; k < leaf->used; k++)
            order[found++] = leaf->pages[k];
    }
    return found;
}

static int32_t append(cz_tree *tree, int32_t page, int32_t full) {
    cz_leaf *leaf = &tree->leaves[tree->last];
    if (leaf->used == full) {
        tree->last = new_leaf(tree, leaf->parent, leaf->at + 1, 0);
        leaf = &tree->leaves[tree->last];
    }
    leaf->pages[leaf->used++] = page;
    tree->at[page] = tree->last;
    add_up(tree, leaf, 1);
    return tree->count - 1;
}

static void pack(cz_tree *tree) {
    int32_t count = collect(tree, tree->root, tree->order);
    start(tree);
    for (int32_t i = 0; i < count; i++)
        append(tree, tree->order[i], FILLED);
}

/* Leaf and index of the place before a page, in a leaf that has room. */
static cz_leaf *room_before(cz_tree *tree, int32_t before, int32_t *index) {
    int32_t own = tree->at[before];
    cz_leaf *leaf = &tree->leaves[own];
    *index = index_in(leaf, before);
    if (leaf->used < CZ_LEAF)
        return leaf;
    if (*index == 0) { /* fronts of classes: the leaf before, or a new one, takes what comes */
        const cz_branch *branch = &tree->branches[leaf->parent];
        cz_leaf *earlier = leaf->at ? &tree->leaves[branch->child[leaf->at - 1]] : NULL;
        if (!earlier || earlier->used == CZ_LEAF)
            earlier = &tree->leaves[new_leaf(tree, leaf->parent, leaf->at, 0)];
        *index = earlier->used;
        return earlier;
    }
    split_leaf(tree, own);
    if (*index <= leaf->used)
        return leaf;
    *index -= leaf->used;
    return &tree->leaves[tree->at[before]];
}

int32_t cz_tree_insert(cz_tree *tree, int32_t page, int32_t before) {
    int32_t index;
    if (tree->used_leaves == tree->n_leaves || tree->used_branches + 8 > tree->n_branches)
        pack(tree);
    if (before == CZ_NO_PAGE)
        return append(tree, page, CZ_LEAF);
    cz_leaf *leaf = room_before(tree, before, &index);
    for (int32_t i = leaf->used++; i > index; i--)
        leaf->pages[i] = leaf->pages[i - 1];
    leaf->pages[index] = page;
    tree->at[page] = (int32_t)(leaf - tree->leaves);
    return index + add_up(tree, leaf, 1);
}
