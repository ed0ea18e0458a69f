/* Places in a list ordered by recency, in a logarithm of its length. */
#include <stdlib.h>
#include <string.h>

#include "queue.h"

bool cz_stack_new(cz_stack *stack, int32_t most, bool places, int32_t *at) {
    int64_t numbers = 64;
    while (numbers < 2 * (int64_t)most)
        numbers *= 2;
    *stack = (cz_stack){.numbers = (int32_t)numbers, .at = at};
    stack->words = calloc((size_t)numbers / 64, sizeof *stack->words);
    stack->left = places ? calloc((size_t)numbers / 64, sizeof *stack->left) : NULL;
    stack->pages = malloc((size_t)numbers * sizeof *stack->pages);
    return stack->words && (stack->left || !places) && stack->pages;
}

void cz_stack_free(cz_stack *stack) {
    free(stack->words);
    free(stack->left);
    free(stack->pages);
}

size_t cz_stack_bytes(const cz_stack *stack) {
    size_t words = (size_t)stack->numbers / 64;
    size_t bits = sizeof *stack->words + (stack->left ? sizeof *stack->left : 0);
    return words * bits + (size_t)stack->numbers * sizeof *stack->pages;
}

/* The least number from this one on that is not void. */
static int32_t not_void(const cz_stack *stack, int32_t number) {
    int32_t word = number >> 6;
    uint64_t live = ~stack->words[word] & (UINT64_MAX << (number & 63));
    while (!live)
        live = ~stack->words[++word];
    return (word << 6) + __builtin_ctzll(live);
}

/* Number the pages anew from 0, in order. */
static void pack(cz_stack *stack) {
    size_t words = (size_t)stack->numbers / 64;
    int32_t next = 0;
    for (int32_t number = stack->least; next < stack->live; number++) {
        number = not_void(stack, number);
        stack->pages[next] = stack->pages[number];
        stack->at[stack->pages[next]] = next;
        next++;
    }
    memset(stack->words, 0, words * sizeof *stack->words);
    if (stack->left)
        memset(stack->left, 0, words * sizeof *stack->left);
    stack->next = next;
    stack->least = stack->voids = 0;
}

void cz_stack_push(cz_stack *stack, int32_t page) {
    if (stack->next == stack->numbers)
        pack(stack);
    stack->pages[stack->next] = page;
    stack->at[page] = stack->next++;
    stack->live++;
}

int32_t cz_stack_remove(cz_stack *stack, int32_t page) {
    int32_t number = stack->at[page], word = number >> 6;
    uint64_t bit = UINT64_C(1) << (number & 63);
    stack->live--;
    stack->words[word] |= bit;
    if (!stack->left)
        return -1;
    int32_t below = __builtin_popcountll(stack->words[word] & (bit - 1));
    for (uint32_t k = (uint32_t)word + (uint32_t)stack->numbers / 64; k > 1;) {
        int32_t right = (int32_t)(k & 1);
        k >>= 1;
        below += stack->left[k] & -right;
        stack->left[k] += 1 - right;
    }
    int32_t place = stack->next - 1 - number - stack->voids + below;
    stack->voids++;
    return place;
}

int32_t cz_stack_pop(cz_stack *stack) {
    stack->least = not_void(stack, stack->least);
    stack->live--;
    return stack->pages[stack->least++];
}

/* Void numbers may be among them, for nothing. */
void cz_stack_expect(const cz_stack *stack, const cz_keyed *keyed) {
    enum { SOON = 12, NEXT = 4 };
    if (stack->least + SOON < stack->next)
        cz_keyed_expect(keyed, stack->pages[stack->least + SOON], stack->pages[stack->least + NEXT]);
}
