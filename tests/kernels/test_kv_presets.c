/* SPDX-License-Identifier: Apache-2.0
 *
 * test_kv_presets.c: the presets of kv_producer_pipeline against the shapes of
 * published kernels, computed here from the limits that those kernels keep to:
 * registers of a thread, columns of tensor memory, bytes of shared memory.
 *
 * The computations give the numbers of keys, slots and bytes that were read off
 * those kernels, and the presets give what the computations give, for every
 * head size, element size, page size and mode.
 */
#include "tests/kernels/drive.h"

#define FAMILY "kv_producer_pipeline"

enum {
    SM100_SHARED = 227 * 1024, /* bytes of shared memory of a block */
    SM100_COLUMNS = 512,       /* columns of tensor memory of 128 rows */
    BARRIER = 8,               /* bytes of an mbarrier */
    ADDRESS = 4,               /* bytes that tensor memory's address takes */
    PAGE_TABLE = 1024,         /* bytes of fa4_paged's page table */
    KEYS_MOST = 256
};

typedef struct problem {
    int64_t depth, elem, page, halves, rows;
} problem;

/* What a published kernel makes of it. */
typedef struct shape {
    int64_t rows, keys, slots;
    int64_t k_pieces; /* of K, each with barriers of its own */
    int64_t bytes;    /* of shared memory */
} shape;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t up(int64_t value, int64_t step)
{
    return (value + step - 1) / step * step;
}

static int64_t power_below(int64_t value)
{
    int64_t power = 1;

    while (2 * power <= value)
        power *= 2;
    return power;
}

/* Two tiles of queries; scores and outputs of both share tensor memory. */
static shape fa4(const problem *p)
{
    int64_t padded = up(p->depth, 128 / p->elem);
    int64_t fixed = ADDRESS + 15 * BARRIER + 256 * padded * p->elem;
    shape s = {.rows = 256, .k_pieces = 1};
    int64_t slot;

    s.keys = least(KEYS_MOST, (SM100_COLUMNS / 2 - padded) / 16 * 16);
    if (p->page > 0 && p->page % s.keys != 0)
        s.keys = power_below(s.keys);
    slot = s.keys * padded * p->elem / p->halves + 2 * BARRIER;
    s.slots = (SM100_SHARED - fixed) / slot;
    s.bytes = fixed + s.slots * slot;
    return s;
}

/* The same with a page table.  An odd number of slots is one ring of K and V;
 * an even one is a ring for each, and K comes in pieces if they fit. */
static shape fa4_paged(const problem *p)
{
    int64_t granule = (p->elem == 1 ? 64 : 128) / p->elem;
    int64_t padded = up(p->depth, granule);
    int64_t pieces = padded / 64;
    int64_t fixed = ADDRESS + 12 * BARRIER + pieces * BARRIER + PAGE_TABLE +
                    256 * padded * p->elem;
    shape s = {.rows = 256, .k_pieces = 1};
    int64_t more;
    int64_t slot;

    s.keys = (SM100_COLUMNS / 2 - padded) / (32 / p->elem) * (32 / p->elem);
    if (p->page > 0 && p->page % s.keys != 0 && s.keys % p->page != 0)
        s.keys = power_below(s.keys);
    slot = s.keys * padded * p->elem / p->halves + 2 * BARRIER;
    s.slots = (SM100_SHARED - fixed) / slot;
    s.bytes = fixed + s.slots * slot;
    more = (pieces - 1) * s.slots / 2 * 2 * BARRIER;
    if (s.slots % 2 == 0 && s.bytes + more < SM100_SHARED) {
        s.k_pieces = pieces;
        s.bytes += more;
    }
    return s;
}

/* Heads of 256 and 512: pieces are slots of their own, P lies in shared memory,
 * and a block has 32 barriers at most. */
static shape fa4_512(const problem *p)
{
    int64_t mma_rows = p->depth > 256 ? 128 : 256;
    int64_t barriers = p->depth > 256 ? 10 : 8;
    shape s = {.rows = mma_rows / 2, .k_pieces = p->depth / 128};
    int64_t columns = SM100_COLUMNS * 256 / mma_rows - p->depth;
    int64_t fixed;
    int64_t slot;

    s.keys = least(KEYS_MOST, columns / 2 / (32 / p->elem) * (32 / p->elem));
    if (p->page > 0 && p->page % s.keys != 0 && s.keys % p->page != 0)
        s.keys = power_below(s.keys);
    fixed = ADDRESS + s.rows * (p->depth * p->elem + s.keys * p->elem + 4) +
            barriers * BARRIER;
    slot = s.keys / p->halves * 128 * p->elem + 2 * BARRIER;
    s.slots = least((SM100_SHARED - fixed) / slot, (32 - barriers) / 2);
    s.bytes = fixed + s.slots * slot;
    return s;
}

/* Outputs, scores and P are registers of a warpgroup's threads. */
static shape fa3(const problem *p)
{
    enum { STAGES = 4, SHARED = 227000 };

    int64_t padded = up(p->depth, 128 / p->elem);
    int64_t registers = p->rows > 64 ? 224 : 256;
    int64_t by_registers = (4 * registers - 2 * p->depth - 16) / 3;
    int64_t by_memory =
        (SHARED / 2 - p->rows * p->depth - 8 * STAGES) / (p->depth * STAGES);
    shape s = {.rows = p->rows, .slots = STAGES, .k_pieces = 1};

    s.keys = power_below(least(by_registers, by_memory) / 16 * 16);
    if (p->depth == 64 || s.keys < 64)
        s.keys = 64;
    s.bytes = p->elem * (p->rows * padded + STAGES * s.keys * padded) +
              STAGES * 2 * BARRIER;
    return s;
}

static const struct kernel {
    const char *name;
    shape (*of)(const problem *p);
    int64_t low, high; /* head sizes */
    int64_t step;
    int64_t rows;
    int allowed; /* specs of those below; no rule may refuse more */
} kernels[] = {
    {"fa4", fa4, 64, 128, 16, 256, 113},
    {"fa4_paged", fa4_paged, 64, 192, 16, 256, 220},
    {"fa4_512", fa4_512, 256, 512, 256, 0, 60},
    {"fa3", fa3, 64, 256, 16, 128, 333},
    {"fa3", fa3, 64, 256, 16, 64, 334},
};

START_TEST(published_shapes_are_computed)
{
    static const struct {
        size_t kernel;
        problem p;
        shape want;
    } of[] = {
        {0, {64, 2, 0, 1, 256}, {256, 192, 8, 1, 229628}},
        {0, {64, 2, 128, 1, 256}, {256, 128, 12, 1, 229692}},
        {0, {80, 2, 0, 1, 256}, {256, 128, 5, 1, 229580}},
        {0, {128, 2, 64, 1, 256}, {256, 128, 5, 1, 229580}},
        {0, {128, 1, 0, 1, 256}, {256, 128, 12, 1, 229692}},
        {1, {64, 2, 0, 1, 256}, {256, 192, 8, 1, 230636}},
        {1, {64, 2, 64, 1, 256}, {256, 192, 8, 1, 230636}},
        {1, {64, 2, 128, 1, 256}, {256, 128, 12, 1, 230700}},
        {1, {128, 2, 16, 1, 256}, {256, 128, 5, 1, 230596}},
        {1, {128, 2, 256, 1, 256}, {256, 128, 5, 1, 230596}},
        {1, {128, 2, 128, 2, 256}, {256, 128, 10, 2, 230756}},
        {1, {128, 1, 128, 1, 256}, {256, 128, 12, 2, 230804}},
        {2, {256, 2, 64, 2, 0}, {128, 128, 8, 2, 230084}},
        {2, {512, 2, 64, 2, 0}, {64, 256, 4, 4, 229780}},
        {3, {64, 2, 0, 1, 128}, {128, 64, 4, 1, 49216}},
        {3, {80, 2, 0, 1, 128}, {128, 128, 4, 1, 163904}},
        {3, {128, 2, 0, 1, 128}, {128, 128, 4, 1, 163904}},
        {3, {128, 2, 0, 1, 64}, {64, 128, 4, 1, 147520}},
        {3, {192, 2, 0, 1, 128}, {128, 64, 4, 1, 147520}},
        {3, {256, 2, 0, 1, 128}, {128, 64, 4, 1, 196672}},
        {3, {256, 2, 0, 1, 64}, {64, 64, 4, 1, 163904}},
    };

    for (size_t i = 0; i < COUNT(of); i++) {
        shape s = kernels[of[i].kernel].of(&of[i].p);

        ck_assert_msg(memcmp(&s, &of[i].want, sizeof(s)) == 0,
                      "row %zu: %lld rows, %lld keys, %lld slots, %lld pieces, "
                      "%lld bytes",
                      i, (long long)s.rows, (long long)s.keys,
                      (long long)s.slots, (long long)s.k_pieces,
                      (long long)s.bytes);
    }
}
END_TEST

static void check_value(groat_spec *spec, const char *text, const char *name,
                        int64_t want)
{
    int64_t value = drive_value(spec, name);

    ck_assert_msg(value == want, "%s: %s is %lld, not %lld", text, name,
                  (long long)value, (long long)want);
}

/* Returns whether the spec is allowed. */
static bool check_preset(const struct kernel *k, const problem *p)
{
    shape s = k->of(p);
    groat_error error = GROAT_ERROR_INIT;
    groat_spec *spec = NULL;
    bool allowed;
    char rows[20] = "";
    char text[200];

    if (p->rows == 64)
        (void)snprintf(rows, sizeof(rows), ",BM=64");
    (void)snprintf(text, sizeof(text),
                   FAMILY ":config=%s,depth=%lld,dtype=%s,page_size=%lld,"
                          "mode=%s%s",
                   k->name, (long long)p->depth, p->elem == 1 ? "fp8" : "bf16",
                   (long long)p->page, p->halves == 2 ? "pair_local" : "single",
                   rows);
    allowed = groat_spec_parse(drive_context, text, "cpu:sm_90a", &spec,
                               &error) == GROAT_OK;
    if (allowed) {
        check_value(spec, text, "BM", s.rows);
        check_value(spec, text, "BN", s.keys);
        check_value(spec, text, "slots", s.slots);
    }
    groat_error_clear(&error);
    groat_spec_free(spec);
    return allowed;
}

START_TEST(presets_have_published_shapes)
{
    static const int64_t pages[] = {0, 8, 16, 32, 64, 96, 128, 192, 256, 384};
    const struct kernel *k = &kernels[_i];
    int allowed = 0;

    for (int64_t depth = k->low; depth <= k->high; depth += k->step)
        for (int64_t elem = 1; elem <= 2; elem++)
            for (int64_t halves = 1; halves <= 2; halves++)
                for (size_t i = 0; i < COUNT(pages); i++) {
                    problem p = {depth, elem, pages[i], halves, k->rows};

                    allowed += check_preset(k, &p);
                }
    ck_assert_int_eq(allowed, k->allowed);
}
END_TEST

/* Order, pieces and swizzle; and slots where keys are not the kernel's: some
 * 96 KiB of them. */
START_TEST(other_presets)
{
    static const struct {
        const char *spec, *name;
        int64_t want;
    } of[] = {
        {"config=fa3,depth=128", "order", 1},
        {"config=fa4,depth=128", "order", 0},
        {"config=fa4_512,depth=256", "order", 3},
        {"config=fa4_512,depth=256", "pieces", 2},
        {"config=fa4_512,depth=512", "pieces", 4},
        {"config=fa4_512,depth=512", "swizzle", 128},
        {"config=fa4_512,depth=512,dtype=fp8", "swizzle", 64},
        {"config=fa4_paged,depth=128,dtype=fp8", "swizzle", 64},
        {"config=fa4,depth=128,dtype=fp8", "swizzle", 128},
        {"config=fa4,depth=128,page_size=0,BN=256", "slots", 2},
        {"config=fa4,depth=128,BN=64", "slots", 6},
        {"config=fa4_512,depth=512,BN=128", "slots", 3},
    };

    for (size_t i = 0; i < COUNT(of); i++) {
        groat_error error = GROAT_ERROR_INIT;
        groat_spec *spec = NULL;
        char text[200];

        (void)snprintf(text, sizeof(text), FAMILY ":%s", of[i].spec);
        ck_assert_msg(groat_spec_parse(drive_context, text, "cpu:sm_90a", &spec,
                                       &error) == GROAT_OK,
                      "%s", error.text);
        check_value(spec, text, of[i].name, of[i].want);
        groat_spec_free(spec);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kv_presets");
    TCase *tests = tcase_create("kv_presets");

    tcase_add_checked_fixture(tests, drive_setup, drive_teardown);
    tcase_add_test(tests, published_shapes_are_computed);
    tcase_add_test(tests, other_presets);
    tcase_add_loop_test(tests, presets_have_published_shapes, 0,
                        (int)COUNT(kernels));
    suite_add_tcase(suite, tests);
    return drive_main(suite);
}
