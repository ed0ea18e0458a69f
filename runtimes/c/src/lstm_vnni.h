/* int8_dots for CPUs that add four products of bytes to a lane: DOT(sum, unsigned bytes, signed bytes) and SET(four
 * bytes) come from the path, with the type VNNI of their vectors. */
static inline void int8_dots(const int8_t *weights, const cz_lstm_input *input, int32_t quads, const vi *sums128,
                             vi high[CZ_GATES], vi low[CZ_GATES]) {
    VNNI h0 = (VNNI)(-sums128[0]), h1 = (VNNI)(-sums128[1]), h2 = (VNNI)(-sums128[2]), h3 = (VNNI)(-sums128[3]);
    VNNI l0 = SET(0), l1 = l0, l2 = l0, l3 = l0;
    const VNNI *w = (const VNNI *)weights;
    for (int32_t k = 0; k < quads; k++, w += CZ_GATES) {
        int32_t four[2];
        memcpy(&four[0], input->high + 4 * k, 4);
        memcpy(&four[1], input->low + 4 * k, 4);
        VNNI x = SET(four[0]), rest = SET(four[1]);
        h0 = DOT(h0, x, w[0]), h1 = DOT(h1, x, w[1]), h2 = DOT(h2, x, w[2]), h3 = DOT(h3, x, w[3]);
        l0 = DOT(l0, rest, w[0]), l1 = DOT(l1, rest, w[1]), l2 = DOT(l2, rest, w[2]), l3 = DOT(l3, rest, w[3]);
    }
    high[0] = (vi)h0, high[1] = (vi)h1, high[2] = (vi)h2, high[3] = (vi)h3;
    low[0] = (vi)l0, low[1] = (vi)l1, low[2] = (vi)l2, low[3] = (vi)l3;
}
