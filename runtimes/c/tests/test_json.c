/* JSON: what is read. What is refused is in tests/refused.py. */
#include "internal.h"
#include "test.h"

static cz_json_document *document;
static cz_error error;

static int reads(const char *text) {
    cz_json_free(document);
    document = NULL;
    error.text[0] = 0;
    return cz_json_read(text, strlen(text), "a.json", &document, &error) == CZ_OK;
}

static const cz_json *at(const char *place) {
    return cz_json_get(cz_json_root(document), place);
}

static void values(void) {
    REQUIRE(reads(" {\"a\": {\"b\": [1, -2.5e3, true, null, \"x\\u00e9\\ud83d\\ude00\\n\"]}, \"a.b\": 0} \r\n"));
    const cz_json *list = at("a.b");
    REQUIRE(list && list->type == CZ_JSON_LIST && list->length == 5);
    CHECK(list->items[0].whole && list->items[0].integer == 1 && list->items[0].number == 1.0);
    CHECK(!list->items[1].whole && list->items[1].number == -2500.0);
    CHECK(list->items[2].type == CZ_JSON_BOOL && list->items[2].truth);
    CHECK(list->items[3].type == CZ_JSON_NULL);
    CHECK(strcmp(list->items[4].text, "x\xc3\xa9\xf0\x9f\x98\x80\n") == 0);
    CHECK(cz_json_member(cz_json_root(document), "a.b", 3)->whole);
    CHECK(!at("a.c") && !at("a.b.c") && !at(""));
    CHECK(reads("[]") && cz_json_root(document)->length == 0);
    CHECK(reads("{}") && cz_json_root(document)->length == 0);
    CHECK(reads("-0") && reads("0.5") && reads("1E+2"));
}

static void whole_numbers(void) {
    REQUIRE(reads("[9223372036854775807, -9223372036854775808, 9223372036854775808, 1.0]"));
    const cz_json *items = cz_json_root(document)->items;
    CHECK(items[0].whole && items[0].integer == INT64_MAX);
    CHECK(items[1].whole && items[1].integer == INT64_MIN);
    CHECK(!items[2].whole && items[2].integral);
    CHECK(!items[3].whole && !items[3].integral);
}

static void depth(void) {
    char text[401];
    memset(text, '[', 200);
    memset(text + 200, ']', 200);
    text[400] = 0;
    CHECK(reads(text));
}

static void decimals(void) {
    const char *end;
    double found;
    CHECK(cz_decimal("1.5e3x", &end, &found) && found == 1500.0 && *end == 'x');
    CHECK(cz_decimal("-.5", &end, &found) && found == -0.5);
    CHECK(cz_decimal("7e", &end, &found) && found == 7.0 && *end == 'e');
    CHECK(!cz_decimal("0x10", &end, &found) || (found == 0.0 && *end == 'x'));
    CHECK(!cz_decimal("nan", &end, &found) && !cz_decimal("", &end, &found) && !cz_decimal("-", &end, &found));
    CHECK(!cz_decimal(" 1", &end, &found));
}

int main(void) {
    values();
    whole_numbers();
    depth();
    decimals();
    cz_json_free(document);
    return TEST_END();
}
