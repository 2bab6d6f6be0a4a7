/* SPDX-License-Identifier: Apache-2.0
 *
 * test_kv_ring.c: figures of the ring that were computed independently: the
 * shapes and memory maps of published configurations, slots and parities of
 * tiles, numbers of barriers, places of pieces, expected bytes, and the least
 * number of slots of a ring.
 *
 * Configurations come from params.def; traces and places are recorded by the
 * kernel, on cpu:sm_90a and on the device of GROAT_TEST_TARGET; a ring that is
 * too short runs on the judge.
 */
#include "spec/family.h"
#include "tests/kernels/drive.h"
#include "tests/kernels/mutation.h"
#include "tests/kernels/ring_rig.h"

#define FAMILY "kv_producer_pipeline"

/* The device of GROAT_TEST_TARGET, or the judge. */
static const char *target_of(int index)
{
    return index == 0 ? "cpu:sm_90a" : getenv("GROAT_TEST_TARGET");
}

static groat_spec *spec_of(const char *text, const char *target)
{
    char whole[300];

    (void)snprintf(whole, sizeof(whole), FAMILY ":%s", text);
    return drive_spec(drive_context, whole, target);
}

/* ---- configurations ----------------------------------------------------- */

/* A spec, and the expected values of constants of it. */
typedef struct figures {
    const char *spec;
    int64_t want[12];
} figures;

static void check_figures(const figures *f, const char *const *names,
                          size_t count)
{
    groat_spec *spec = spec_of(f->spec, "cpu:sm_90a");

    for (size_t i = 0; i < count; i++) {
        int64_t value = drive_value(spec, names[i]);

        ck_assert_msg(value == f->want[i], "%s: %s is %lld, not %lld", f->spec,
                      names[i], (long long)value, (long long)f->want[i]);
    }
    groat_spec_free(spec);
}

START_TEST(two_tiles_of_queries)
{
    static const char *const names[] = {"BM",       "BN",     "padded_depth",
                                        "k_cols",   "v_rows", "slots",
                                        "kv_bytes", "q_bytes"};
    static const figures of[] = {
        {"config=fa4,depth=64,page_size=0",
         {256, 192, 64, 64, 192, 8, 24576, 16384}},
        {"config=fa4,depth=64,page_size=128",
         {256, 128, 64, 64, 128, 12, 16384, 16384}},
        {"config=fa4,depth=80,page_size=0",
         {256, 128, 128, 128, 128, 5, 32768, 32768}},
        {"config=fa4,depth=96,page_size=128",
         {256, 128, 128, 128, 128, 5, 32768, 32768}},
        {"config=fa4,depth=128,page_size=0",
         {256, 128, 128, 128, 128, 5, 32768, 32768}},
        {"config=fa4,depth=128,page_size=128",
         {256, 128, 128, 128, 128, 5, 32768, 32768}},
        {"config=fa4,depth=128,page_size=64",
         {256, 128, 128, 128, 128, 5, 32768, 32768}},
        {"config=fa4,depth=128,page_size=0,dtype=fp8",
         {256, 128, 128, 128, 128, 12, 16384, 16384}},
    };

    for (size_t i = 0; i < COUNT(of); i++)
        check_figures(&of[i], names, COUNT(names));
}
END_TEST

/* Offsets. */
START_TEST(memory_maps)
{
    static const char *const names[] = {"q1_at", "ring_at", "full_at",
                                        "empty_at", "after_at"};
    static const figures of[] = {
        {"config=fa4,depth=64,page_size=0",
         {16384, 32768, 229376, 229440, 229504}},
        {"config=fa4,depth=64,page_size=64",
         {16384, 32768, 229376, 229472, 229568}},
        {"config=fa4,depth=64,page_size=128",
         {16384, 32768, 229376, 229472, 229568}},
        {"config=fa4,depth=80,page_size=0",
         {32768, 65536, 229376, 229416, 229456}},
        {"config=fa4,depth=96,page_size=0",
         {32768, 65536, 229376, 229416, 229456}},
        {"config=fa4,depth=112,page_size=0",
         {32768, 65536, 229376, 229416, 229456}},
        {"config=fa4,depth=128,page_size=0",
         {32768, 65536, 229376, 229416, 229456}},
        {"config=fa4,depth=128,page_size=16",
         {32768, 65536, 229376, 229416, 229456}},
        {"config=fa4,depth=128,page_size=0,dtype=fp8",
         {16384, 32768, 229376, 229472, 229568}},
        {"config=fa4,depth=64,page_size=0,dtype=fp8",
         {16384, 32768, 229376, 229472, 229568}},
    };

    for (size_t i = 0; i < COUNT(of); i++)
        check_figures(&of[i], names, COUNT(names));
}
END_TEST

START_TEST(paged_kernels)
{
    static const char *const names[] = {"BN", "slots", "k_rows", "v_cols",
                                        "padded_depth"};
    static const figures of[] = {
        {"config=fa4_paged,depth=64,page_size=0", {192, 8, 192, 64, 64}},
        {"config=fa4_paged,depth=64,page_size=64", {192, 8, 192, 64, 64}},
        {"config=fa4_paged,depth=64,page_size=128", {128, 12, 128, 64, 64}},
        {"config=fa4_paged,depth=128,page_size=0", {128, 5, 128, 128, 128}},
        {"config=fa4_paged,depth=128,page_size=16", {128, 5, 128, 128, 128}},
        {"config=fa4_paged,depth=128,page_size=128", {128, 5, 128, 128, 128}},
        {"config=fa4_paged,depth=128,page_size=256", {128, 5, 128, 128, 128}},
        {"config=fa4_paged,depth=128,page_size=128,mode=pair_local",
         {128, 10, 64, 64, 128}},
        {"config=fa4_paged,depth=128,page_size=128,dtype=fp8",
         {128, 12, 128, 128, 128}},
        {"config=fa4_512,depth=256,mode=pair_local,page_size=64",
         {128, 8, 64, 128, 256}},
        {"config=fa4_512,depth=512,mode=pair_local,page_size=64",
         {256, 4, 128, 128, 512}},
    };

    for (size_t i = 0; i < COUNT(of); i++)
        check_figures(&of[i], names, COUNT(names));
}
END_TEST

/* Four warps per warpgroup, which takes 64 rows of queries. */
START_TEST(outputs_in_registers)
{
    static const char *const names[] = {"BM", "BN", "slots", "consumers"};
    static const figures of[] = {
        {"config=fa3,depth=64", {128, 64, 4, 8}},
        {"config=fa3,depth=80", {128, 128, 4, 8}},
        {"config=fa3,depth=96", {128, 128, 4, 8}},
        {"config=fa3,depth=128", {128, 128, 4, 8}},
        {"config=fa3,depth=128,BM=64", {64, 128, 4, 4}},
        {"config=fa3,depth=192", {128, 64, 4, 8}},
        {"config=fa3,depth=256", {128, 64, 4, 8}},
        {"config=fa3,depth=256,BM=64", {64, 64, 4, 4}},
    };

    for (size_t i = 0; i < COUNT(of); i++)
        check_figures(&of[i], names, COUNT(names));
}
END_TEST

/* ---- records ------------------------------------------------------------ */

/* One sequence of `keys` keys, one head. */
static ring_case case_of(groat_spec *spec, int64_t keys)
{
    ring_case c = ring_case_of(spec);

    c.lengths[0] = keys;
    c.sequences = c.heads = c.group = c.queries = c.teams = c.layers = 1;
    return c;
}

/* Returns what the kernel records of it; free it. */
static uint32_t *record(const char *text, const char *target, int64_t keys)
{
    groat_spec *spec = spec_of(text, target);
    ring_case c = case_of(spec, keys);
    size_t bytes = ring_output_bytes(&c);
    groat_error error = GROAT_ERROR_INIT;
    unsigned char *out = malloc(bytes);
    groat_kernel *kernel = NULL;

    ck_assert_ptr_nonnull(out);
    memset(out, 0xA5, bytes);
    ck_assert_msg(
        groat_kernel_get_spec(spec, NULL, &kernel, NULL, &error) == GROAT_OK &&
            ring_launch(drive_context, kernel, target, &c, out, &error) ==
                GROAT_OK,
        "%s: %s", text, error.text);
    groat_kernel_release(kernel);
    groat_spec_free(spec);
    return (uint32_t *)(void *)out;
}

enum { KIND, TILE, WHICH, SLOT, FULL, EMPTY, PARITY, BYTES, WORDS };

/* "K0:0/1" is K of tile 0 in slot 0, its producer waiting for parity 1. */
START_TEST(slots_and_parities)
{
    static const struct {
        const char *spec, *trace;
        int64_t tiles;
    } of[] = {
        {"entry=trace,BN=16,depth=64,slots=5",
         "K0:0/1 V0:1/1 K1:2/1 V1:3/1 K2:4/1 V2:0/0 K3:1/0 V3:2/0 K4:3/0 "
         "V4:4/0 K5:0/1 V5:1/1 ",
         6},
        {"entry=trace,BN=16,depth=64,slots=4,order=ahead",
         "K0:0/1 K1:1/1 V0:2/1 K2:3/1 V1:0/0 K3:1/0 V2:2/0 K4:3/0 V3:0/1 "
         "V4:1/1 ",
         5},
        {"entry=trace,BN=16,depth=64,slots=3,order=one_q",
         "K0:0/1 K1:1/1 V0:2/1 V1:0/0 K2:1/0 V2:2/0 ", 3},
    };

    for (size_t i = 0; i < COUNT(of); i++) {
        uint32_t *words = record(of[i].spec, target_of(_i), of[i].tiles * 16);
        char text[300];
        size_t len = 0;

        for (int64_t t = 0; t < 2 * of[i].tiles; t++) {
            const uint32_t *w = words + t * WORDS;

            len += (size_t)snprintf(text + len, sizeof(text) - len,
                                    "%c%u:%u/%u ", w[KIND] == 0 ? 'K' : 'V',
                                    w[TILE], w[SLOT], w[PARITY]);
        }
        ck_assert_str_eq(text, of[i].trace);
        free(words);
    }
}
END_TEST

START_TEST(numbers_of_barriers)
{
    static const struct {
        const char *spec;
        int slots, pieces;
        uint32_t full[6], empty[6];
    } of[] = {
        {"entry=trace,BN=16,depth=128,slots=3,pieces=2",
         3,
         2,
         {0, 1, 2, 3, 4, 5},
         {6, 7, 8, 9, 10, 11}},
        {"entry=trace,BN=48,depth=192,slots=2,pieces=3",
         2,
         3,
         {0, 1, 2, 3, 4, 5},
         {6, 7, 8, 9, 10, 11}},
    };

    for (size_t i = 0; i < COUNT(of); i++) {
        uint32_t *words = record(of[i].spec, target_of(_i), 96);

        for (int n = 0; n < of[i].slots * of[i].pieces; n++) {
            const uint32_t *w = words + n * WORDS;

            ck_assert_uint_eq(w[SLOT], (unsigned)(n / of[i].pieces));
            ck_assert_uint_eq(w[WHICH], (unsigned)(n % of[i].pieces));
            ck_assert_uint_eq(w[FULL], of[i].full[n]);
            ck_assert_uint_eq(w[EMPTY], of[i].empty[n]);
        }
        free(words);
    }
}
END_TEST

/* Offsets in elements, from the ring's begin, of piece m of slot i.  A
 * published consumer reads the right place, i * padded_depth * BN + m * BN *
 * BK0; its producer copies to m * padded_depth * BN + i * kv_elements: with two
 * pieces these are equal only where i and m are. */
START_TEST(places_of_pieces)
{
    static const struct {
        const char *spec;
        int64_t keys;
        uint32_t consumer[6], producer[6];
    } of[] = {
        {"entry=issues,BN=128,depth=128,slots=5,pieces=2",
         512,
         {0, 8192, 16384, 24576, 32768, 40960},
         {0, 16384, 8192, 24576, 16384, 32768}},
        {"entry=issues,BN=192,depth=64,slots=8,pieces=2,swizzle=64",
         768,
         {0, 6144, 12288, 18432, 24576, 30720},
         {0, 12288, 6144, 18432, 12288, 24576}},
    };

    for (size_t i = 0; i < COUNT(of); i++) {
        uint32_t *words = record(of[i].spec, target_of(_i), of[i].keys);
        groat_spec *spec = spec_of(of[i].spec, "cpu:sm_90a");
        ring_case c = case_of(spec, of[i].keys);
        ring_tile values = {true, 0, 0};
        ring_tile keys = {false, 0, 0};
        ring_boxes k = ring_boxes_of(&c, &keys, 0, 0);
        ring_boxes v = ring_boxes_of(&c, &values, 0, 0);
        int64_t room = k.pages * k.chunks > v.pages * v.chunks
                           ? k.pages * k.chunks
                           : v.pages * v.chunks;

        for (int n = 0; n < 6; n++) {
            uint32_t at = words[n * room * WORDS];

            ck_assert_uint_eq(at, of[i].consumer[n] * 2);
            ck_assert_int_eq(at == of[i].producer[n] * 2, n / 2 == n % 2);
        }
        groat_spec_free(spec);
        free(words);
    }
}
END_TEST

/* Tiles of 128 keys with 128 numbers each: 256 bytes per key of a page. */
START_TEST(expected_bytes)
{
    static const struct {
        int64_t keys, row, page;
        uint32_t counted, filled;
    } of[] = {
        {1, 0, 16, 4096, 32768},      {16, 0, 16, 4096, 32768},
        {17, 0, 16, 8192, 32768},     {127, 0, 16, 32768, 32768},
        {128, 0, 16, 32768, 32768},   {200, 128, 16, 20480, 32768},
        {200, 128, 32, 24576, 32768}, {200, 128, 64, 32768, 32768},
        {193, 128, 64, 32768, 32768}, {192, 128, 64, 16384, 32768},
        {300, 256, 32, 16384, 32768},
    };

    for (size_t i = 0; i < 2 * COUNT(of); i++) {
        const size_t n = i / 2;
        const uint32_t *w;
        uint32_t *words;
        char text[100];

        (void)snprintf(text, sizeof(text),
                       "entry=trace,BN=128,page_size=%d,tail=%s",
                       (int)of[n].page, i % 2 == 0 ? "count" : "zeros");
        words = record(text, target_of(_i), of[n].keys);
        w = words + of[n].row / 128 * 2 * WORDS;
        ck_assert_uint_eq(w[BYTES], i % 2 == 0 ? of[n].counted : of[n].filled);
        ck_assert_uint_eq(w[WORDS + BYTES],
                          i % 2 == 0 ? of[n].counted : of[n].filled);
        free(words);
    }
}
END_TEST

/* Queries come with the first tile, and their bytes count with it. */
START_TEST(bytes_of_queries)
{
    static const struct {
        const char *spec;
        uint32_t first, others;
    } of[] = {
        {"entry=trace,BN=128,BM=256,consumers=4,slots=4", 65536, 32768},
        {"entry=trace,BN=192,depth=64,page_size=0,BM=256,consumers=4", 40960,
         24576},
        {"entry=trace,BN=128,dtype=fp8,BM=256,consumers=4", 32768, 16384},
        {"entry=trace,BN=128,BM=128,consumers=4", 65536, 32768},
        {"entry=trace,BN=128,BM=128,consumers=4,pieces=2", 32768, 16384},
    };

    for (size_t i = 0; i < COUNT(of); i++) {
        uint32_t *words = record(of[i].spec, target_of(_i), 384);
        int pieces = strstr(of[i].spec, "pieces=2") != NULL ? 2 : 1;

        for (int n = 0; n < 4; n++)
            ck_assert_uint_eq(words[n * WORDS + BYTES],
                              n < pieces ? of[i].first : of[i].others);
        free(words);
    }
}
END_TEST

/* ---- how many slots ----------------------------------------------------- */

/* Writes the family "any_ring": the same without the rule for slots. */
static void write_any_ring(rig *r)
{
    const mutation rename = {"family ", FAMILY, 0, "any_ring"};
    const mutation allow = {"rule ", "slots >= 2", 0,
                            "slots >= 2 || entry == trace"};
    const groat__embedded_file *file;

    for (size_t i = 0; (file = groat__embedded_at(i)) != NULL; i++) {
        const char *name = file->path + strlen(FAMILY "/");

        if (strncmp(file->path, FAMILY "/", strlen(FAMILY "/")) != 0)
            continue;
        if (strcmp(name, "params.def") == 0) {
            char *renamed = mutation_text(file->text, &rename);

            mutation_write(r, "any_ring", name, renamed, &allow);
            free(renamed);
        } else {
            bool main = strcmp(name, FAMILY ".h") == 0;

            rig_write_source(r, "any_ring", main ? "any_ring.h" : name,
                             file->text);
        }
    }
}

/* Passes eight tiles through a ring of `slots` slots; returns OK if the trace
 * is right, or the judge's status. */
static groat_status pass_eight(groat_context *context, int slots,
                               const char *order, groat_error *error)
{
    groat_kernel *kernel = NULL;
    groat_status status;
    unsigned char *want;
    unsigned char *got;
    groat_spec *spec;
    char text[100];
    ring_case c;

    (void)snprintf(text, sizeof(text),
                   "any_ring:entry=trace,BN=16,depth=64,slots=%d,order=%s",
                   slots, order);
    spec = drive_spec(context, text, "cpu:sm_90a");
    c = case_of(spec, 8 * 16);
    want = calloc(1, ring_output_bytes(&c));
    got = calloc(1, ring_output_bytes(&c));
    ck_assert(want != NULL && got != NULL);
    ring_expect(&c, want);
    ck_assert_msg(groat_kernel_get_spec(spec, NULL, &kernel, NULL, error) ==
                      GROAT_OK,
                  "%s: %s", text, error->text);
    status = ring_launch(context, kernel, "cpu:sm_90a", &c, got, error);
    if (status == GROAT_OK)
        ck_assert_mem_eq(got, want, ring_output_bytes(&c));
    groat_kernel_release(kernel);
    groat_spec_free(spec);
    free(want);
    free(got);
    return status;
}

/* A V is held until the next K has come: with one slot, it never comes. */
START_TEST(two_slots_are_enough)
{
    static const char *const orders[] = {"kv", "ahead"};
    static const int slots[] = {1, 2, 3, 4, 5, 8};
    groat_error error = GROAT_ERROR_INIT;
    groat_context *context;
    rig r;

    rig_make(&r);
    write_any_ring(&r);
    context = rig_open(&r);
    for (size_t i = 0; i < COUNT(slots); i++) {
        groat_status status = pass_eight(context, slots[i], orders[_i], &error);

        if (slots[i] == 1)
            ck_fails(status, GROAT_JUDGED, &error, "waits for ever");
        else
            ck_assert_msg(status == GROAT_OK, "%d slots: %s", slots[i],
                          error.text);
    }
    groat_close(context);
    rig_drop(&r);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kv_ring");
    TCase *tests = tcase_create("kv_ring");
    int targets = getenv("GROAT_TEST_TARGET") == NULL ? 1 : 2;

    tcase_set_timeout(tests, 300);
    tcase_add_checked_fixture(tests, drive_setup, drive_teardown);
    tcase_add_test(tests, two_tiles_of_queries);
    tcase_add_test(tests, memory_maps);
    tcase_add_test(tests, paged_kernels);
    tcase_add_test(tests, outputs_in_registers);
    tcase_add_loop_test(tests, slots_and_parities, 0, targets);
    tcase_add_loop_test(tests, numbers_of_barriers, 0, targets);
    tcase_add_loop_test(tests, places_of_pieces, 0, targets);
    tcase_add_loop_test(tests, expected_bytes, 0, targets);
    tcase_add_loop_test(tests, bytes_of_queries, 0, targets);
    tcase_add_loop_test(tests, two_slots_are_enough, 0, 2);
    suite_add_tcase(suite, tests);
    return drive_main(suite);
}
