/* Forms of files: sums, archives, schemas, CSV, npy, safetensors. */
#include "golden.h"
#include "test.h"

static cz_error error;

static int says(int result, const char *problem) {
    return result != CZ_OK && strstr(error.text, problem) && !strchr(error.text, '\n');
}

static void sums(void) {
    char text[65], long_text[1000];
    cz_sha256_of("", 0, text);
    CHECK(strcmp(text, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855") == 0);
    cz_sha256_of("abc", 3, text);
    CHECK(strcmp(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad") == 0);
    cz_sha256_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, text);
    CHECK(strcmp(text, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1") == 0);
    memset(long_text, 'a', sizeof long_text);
    cz_sha256 sum;
    cz_sha256_start(&sum);
    for (int i = 0; i < 1000; i++)
        cz_sha256_add(&sum, long_text, sizeof long_text);
    cz_sha256_end(&sum, text);
    CHECK(strcmp(text, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0") == 0);
}

/* The archive that Python's zipfile makes of {"a": b"1", "b/c": b""}. */
static const unsigned char ARCHIVE[] =
    "PK\x03\x04\x14\0\0\0\0\0\0\0!\0\xb7\xef\xdc\x83\x01\0\0\0\x01\0\0\0\x01\0\0\0a1"
    "PK\x03\x04\x14\0\0\0\0\0\0\0!\0\0\0\0\0\0\0\0\0\0\0\0\0\x03\0\0\0b/c"
    "PK\x01\x02\x14\x03\x14\0\0\0\0\0\0\0!\0\xb7\xef\xdc\x83\x01\0\0\0\x01\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\xa4\x81"
    "\0\0\0\0a"
    "PK\x01\x02\x14\x03\x14\0\0\0\0\0\0\0!\0\0\0\0\0\0\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\0\0\0\0\xa4\x81 \0\0\0b/c"
    "PK\x05\x06\0\0\0\0\x02\0\x02\0`\0\0\0A\0\0\0\0\0";
#define SIZE (sizeof ARCHIVE - 1)

static int unzip(const unsigned char *data, size_t size) {
    cz_store store;
    REQUIRE(cz_store_new("a.zip", &store, &error) == CZ_OK);
    int result = cz_zip_read(data, size, &store, &error);
    if (!result) {
        CHECK(store.count == 2 && cz_store_find(&store, "a")->size == 1 && cz_store_find(&store, "b/c")->size == 0);
        CHECK(*cz_store_find(&store, "a")->data == '1' && !cz_store_find(&store, "b"));
    }
    cz_store_free(&store);
    return result;
}

static void archives(void) {
    unsigned char changed[SIZE + 1];
    CHECK(unzip(ARCHIVE, SIZE) == CZ_OK);
    for (size_t i = 0; i < SIZE; i++) {
        memcpy(changed, ARCHIVE, SIZE);
        changed[i] ^= 1;
        /* A name alone may be another one, if both headers say so: the manifest's list refuses that. */
        CHECK(says(unzip(changed, SIZE), "archive"));
        CHECK(says(unzip(ARCHIVE, i), "archive"));
    }
    memcpy(changed, ARCHIVE, SIZE);
    changed[SIZE] = 0;
    CHECK(says(unzip(changed, SIZE + 1), "archive"));
}

static void tables(void) {
    cz_csv in;
    const char text[] = "a,\"b,\"\"c\"\"\n\",\r\nd\"e,,\"\"\r\xc3\xa9,x,y";
    REQUIRE(cz_csv_open(&in, text, sizeof text - 1));
    CHECK(cz_csv_next(&in) && in.count == 3 && strcmp(in.fields[1], "b,\"c\"\n") == 0 && !*in.fields[2]);
    CHECK(cz_csv_next(&in) && in.count == 3 && strcmp(in.fields[0], "d\"e") == 0 && !*in.fields[1]);
    CHECK(cz_csv_next(&in) && in.count == 3 && strcmp(in.fields[0], "\xc3\xa9") == 0);
    CHECK(!cz_csv_next(&in) && !in.problem);
    cz_csv_close(&in);
    static const char *const bad[] = {"a,\"b", "\"a\"b", ",,,,,,,,,,,,,,,,,"};
    for (int i = 0; i < 3; i++) {
        REQUIRE(cz_csv_open(&in, bad[i], strlen(bad[i])));
        CHECK(!cz_csv_next(&in) && in.problem);
        cz_csv_close(&in);
    }
    CHECK(!cz_csv_open(&in, "\xff", 1) && in.problem);
    CHECK(!cz_csv_open(&in, "a\0b", 3) && in.problem);
}

static int requests(const char *text) {
    cz_golden golden = {.name = ""};
    error.text[0] = 0;
    int result =
        cz_requests_read("b", "golden/requests.csv", (const unsigned char *)text, strlen(text), &golden, &error);
    if (!result)
        CHECK(golden.rows == 2 && golden.n_names[CZ_VOLUME] == 1 && golden.requests[1].user == CZ_UNKNOWN);
    cz_golden_free(&golden);
    return result;
}

#define HEAD "time_us,op,offset,size,volume"

static void golden_requests(void) {
    CHECK(requests(HEAD ",flags\n0,read,0,1,v,R\n5,write,4096,512,v,W\n") == CZ_OK);
    CHECK(requests(HEAD "\n0,read,0,1,v\n5,write,4096,512,v") == CZ_OK);
}

static int array(const char *header, const char *type, const void *data, size_t size) {
    unsigned char file[300];
    size_t length = strlen(header);
    int64_t rows = 0;
    void *found = NULL;
    memcpy(file, "\x93NUMPY\x01\x00", 8);
    file[8] = (unsigned char)length;
    file[9] = 0;
    memcpy(file + 10, header, length);
    memcpy(file + 10 + length, data, size);
    int result = cz_npy_read("b", "a.npy", file, 10 + length + size, type, 2, &rows, &found, &error);
    CHECK(result || (rows == 1 && memcmp(found, data, size) == 0));
    free(found);
    return result;
}

static void arrays(void) {
    const float good[2] = {1, -2};
    CHECK(array("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }   \n", "<f4", good, 8) == CZ_OK);
}

static int tensors(const char *header, size_t floats, float last) {
    unsigned char file[400];
    size_t length = strlen(header);
    float body[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    cz_tensors *found;
    body[floats - 1] = last;
    memset(file, 0, 8);
    file[0] = (unsigned char)length;
    memcpy(file + 8, header, length);
    memcpy(file + 8 + length, body, 4 * floats);
    int result = cz_tensors_read(file, 8 + length + 4 * floats, "w.safetensors", &found, &error);
    if (!result) {
        const cz_tensor *w = cz_tensors_get(found, "w");
        CHECK(w && w->dims == 2 && w->shape[0] == 1 && w->shape[1] == 2 && w->data[1] == 2);
        CHECK(!cz_tensors_get(found, "x"));
    }
    cz_tensors_free(found);
    return result;
}

static void weights(void) {
    static const char one[] = "{\"w\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]}}";
    CHECK(tensors(one, 2, 2) == CZ_OK);
}

static void changes(void) {
    cz_json_document *document, *places;
    cz_changed changed;
    const char text[] = "{\"a\":{\"b\":1,\"c\":[1,2]},\"d\":2}";
    REQUIRE(!cz_json_read(text, strlen(text), "m", &document, &error));
    const char good[] = "{\"a.b\":7,\"a.c\":[3],\"d\":\"x\"}", bad[] = "{\"a.x\":1}";
    REQUIRE(!cz_json_read(good, strlen(good), "m", &places, &error));
    REQUIRE(!cz_changed_new(cz_json_root(document), cz_json_root(places), "m", &changed, &error));
    CHECK(cz_json_get(&changed.root, "a.b")->integer == 7 && cz_json_get(&changed.root, "a.c")->length == 1);
    CHECK(strcmp(cz_json_get(&changed.root, "d")->text, "x") == 0);
    CHECK(cz_json_get(cz_json_root(document), "a.b")->integer == 1);
    cz_changed_free(&changed);
    cz_json_free(places);
    REQUIRE(!cz_json_read(bad, strlen(bad), "m", &places, &error));
    CHECK(says(cz_changed_new(cz_json_root(document), cz_json_root(places), "m", &changed, &error), "a.x"));
    cz_json_free(places);
    cz_json_free(document);
}

int main(void) {
    sums();
    archives();
    tables();
    golden_requests();
    arrays();
    weights();
    changes();
    return TEST_END();
}
