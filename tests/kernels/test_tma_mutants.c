/* SPDX-License-Identifier: Apache-2.0
 *
 * test_tma_mutants.c: tma_probe's own source, with each wait, arrival, expected
 * byte, fence and barrier taken out in turn, or given a wrong operand, under
 * other family names.  The judge must find and describe each under every seed.
 */
#include "tests/kernels/mutation.h"
#include "tests/kernels/tma_rig.h"

enum { BOXES, RING, PAIR, PRODUCT };

#define COPIES  "void copies("
#define RING_OF "void ring("
#define PAIR_OF "void pair("
#define MAKE    "void make("
#define TIMES   "void product("

typedef struct mutant {
    int kernel;
    mutation change;
    const char *words; /* any of them, separated by '|'; NULL: no fault */
} mutant;

#define AGAIN "has had all of its 1 arrivals"
#define EARLY                                                                  \
    "in flight|did not wait for phase|which nobody has written|has not "       \
    "released"
#define FOREVER "waits for ever"
#define TAKEN   "has not released|in flight|did not wait for phase|" AGAIN

static const mutant mutants[] = {
    {BOXES, {"", "", 0, ""}, NULL},
    {RING, {"", "", 0, ""}, NULL},
    {PAIR, {"", "", 0, ""}, NULL},
    {PRODUCT, {"", "", 0, ""}, NULL},
    {BOXES,
     {COPIES, "async_proxy_fence();", 0, ""},
     "async_proxy_fence between is missing"},
    {BOXES, {COPIES, "mbarrier_wait(full(0), 0);", 0, ""}, EARLY},
    {BOXES,
     {COPIES,
      "mbarrier_expect(full(0), args.copies * args.copy_bytes, leader);", 0,
      ""},
     "bytes came that nobody expects: an expect is missing"},
    {BOXES,
     {COPIES, "args.copies * args.copy_bytes, leader", 0,
      "args.copy_bytes, leader"},
     "copies of 4096 bytes were issued, 2048 expected"},
    {BOXES,
     {COPIES, "args.copies * args.copy_bytes, leader", 0, "16384, leader"},
     "4096 of 16384 expected bytes (bytes are expected that no copy brings)"},
    {BOXES,
     {COPIES, "args.copies * args.copy_bytes, leader", 0, "1 << 20, leader"},
     "a phase counts at most 1048575"},
    {BOXES,
     {COPIES,
      "mbarrier_expect(full(0), args.copies * args.copy_bytes, leader);", 0,
      "mbarrier_expect(full(0), args.copy_bytes, true);"},
     "has had all of its 1 arrivals"},
    {BOXES,
     {COPIES, "copy(i, full(0), leader)", 0, "copy(i, full(0), true)"},
     "into it is in flight"},
    {RING, {RING_OF, "mbarrier_wait(empty(i), ~round & 1);", 0, ""}, TAKEN},
    {RING,
     {RING_OF, "mbarrier_wait(empty(i), ~round & 1);", 0,
      "mbarrier_wait(empty(i), round & 1);"},
     "for phase 0 (parity 0) of the mbarrier at byte 8, which has 0 of 4"},
    {RING,
     {RING_OF, "mbarrier_expect(full(i), args.copy_bytes, leader);", 0, ""},
     "bytes came that nobody expects: an expect is missing"},
    {RING,
     {RING_OF, "mbarrier_expect(full(i), args.copy_bytes, leader);", 0,
      "mbarrier_arrive(full(i), leader);"},
     EARLY},
    {RING, {RING_OF, "mbarrier_wait(full(i), round & 1);", 0, ""}, EARLY},
    {RING,
     {RING_OF, "mbarrier_wait(full(i), round & 1);", 0,
      "mbarrier_wait(full(i), ~round & 1);"},
     EARLY "|" FOREVER},
    {RING, {RING_OF, "warp_barrier();", 0, ""}, "has not released|in flight"},
    {RING,
     {RING_OF, "mbarrier_arrive(empty(i), leader);", 0, ""},
     "which has 0 of 4 arrivals"},
    {RING,
     {RING_OF, "make(slots, readers / 32);", 0, "make(slots, 3);"},
     "has had all of its 3 arrivals|" TAKEN},
    {RING,
     {RING_OF, "make(slots, readers / 32);", 0, "make(slots, 5);"},
     "which has 4 of 5 arrivals"},
    {RING,
     {RING_OF, "u32 round = t / slots;", 0, "u32 round = t;"},
     EARLY "|" FOREVER "|" AGAIN},
    {RING,
     {RING_OF, "u32 i = t % slots;", 0, "u32 i = 0;"},
     EARLY "|" FOREVER "|" AGAIN},
    {RING,
     {RING_OF,
      "mbarrier_wait(full(i), round & 1);\n"
      "                write_out(tile,",
      0,
      "mbarrier_wait(full(i), round & 1);\n"
      "                mbarrier_arrive(empty(i), leader);\n"
      "                write_out(tile,"},
     "has not released|in flight|has had all of its|did not wait"},
    {RING,
     {MAKE, "mbarrier_init_fence();", 0, ""},
     "did not make visible to the engine"},
    {RING,
     {MAKE, "cluster_barrier();", 0, ""},
     "where none was made|did not make visible"},
    {PAIR,
     {PAIR_OF,
      "/* The peer may still arrive here. */\n"
      "        cluster_barrier();",
      0, ""},
     "cluster_barrier is missing"},
    {PAIR,
     {PAIR_OF, "mbarrier_arrive_peer(empty(0), 1, leader);", 0, ""},
     FOREVER},
    {PAIR,
     {PAIR_OF, "full(0), at, 3, leader", 0, "full(0), at, 1, leader"},
     FOREVER "|copies of 8192 bytes were issued"},
    {PAIR,
     {PAIR_OF, "full(0), at, 3, leader", 0, "full(0), at, 7, leader"},
     "copies to the blocks of mask 0x7; its cluster has 2"},
    {PAIR,
     {PAIR_OF, "mbarrier_expect(full(0), bytes, leader);", 0,
      "mbarrier_expect(full(0), args.copy_bytes, leader);"},
     "is in flight on it: copies of|in flight: phase"},
    {PAIR,
     {PAIR_OF, "make(1, 2 * readers / 32);", 0, "make(1, readers / 32);"},
     "has had all of its 4 arrivals|" TAKEN},
    {PRODUCT,
     {TIMES, "wgmma_fence();", 0, ""},
     "since the last wgmma_fence: one is missing"},
    {PRODUCT,
     {TIMES, "wgmma_commit();", 0, ""},
     "ends with a wgmma that no wgmma_wait waited for"},
    {PRODUCT,
     {TIMES, "wgmma_wait<0>(acc);", 0, "wgmma_wait<1>(acc);"},
     "ends with a wgmma that no wgmma_wait waited for"},
    {PRODUCT,
     {TIMES, "mbarrier_wait(full(0), 0);", 0, ""},
     "multiplies by A with byte"},
    {PRODUCT,
     {TIMES, "mbarrier_wait(full(0), 0);", 0,
      "if (lane_index() == 0) mbarrier_wait(full(0), 0);"},
     "multiplies by A with byte"},
};

static char *read_probe(const char *file)
{
    char path[1024];
    char *text = NULL;
    size_t bytes = 0;

    probe_path(path, sizeof(path), file);
    ck_assert_int_eq(groat__fs_read(path, 1 << 20, &text, &bytes, NULL),
                     GROAT_OK);
    return text;
}

/* Family `mutant`: tma_probe with one change. */
static void write_mutant(const mutation *change)
{
    static const mutation rename = {"family ", "tma_probe", 0, "mutant"};
    static const char *const files[] = {"args.h", "params.def", "mutant.h"};
    char *text[3] = {read_probe("/args.h"), read_probe("/params.def"),
                     read_probe("/tma_probe.h")};

    rig_write_source(&bench.fix, "mutant", files[0], text[0]);
    mutation_write(&bench.fix, "mutant", files[1], text[1], &rename);
    mutation_write(&bench.fix, "mutant", files[2], text[2], change);
    for (unsigned i = 0; i < 3; i++)
        free(text[i]);
}

static groat_status run_mutant(int kernel)
{
    operand_form a = {.form = FORM_K, .swizzle = 3};
    operand_form b = a;

    switch (kernel) {
    case BOXES:
        rows_of_128(16);
        bench.args.copies = 2;
        bench.args.slot_bytes = 8192;
        bench.args.to[1] = 4096;
        bench.args.at[1][1] = 40;
        return launch("mutant:what=boxes", 1);
    case RING:
        rows_of_128(32);
        bench.args.tiles = 11;
        return launch("mutant:what=ring", 1);
    case PAIR:
        rows_of_128(32);
        bench.args.tiles = 5;
        return launch("mutant:what=pair", 2);
    default:
        put_operands(&a, &b, FORM_BF16, 64, 64);
        return launch("mutant:what=product", 1);
    }
}

static bool is_right(int kernel)
{
    if (kernel == BOXES)
        return memcmp(bench.output + 4096, bench.source + 40 * 128, 2048) == 0;
    if (kernel == RING)
        return memcmp(bench.output, bench.source, 11 * 4096) == 0;
    if (kernel == PAIR)
        return memcmp(bench.output + 9 * 8192, bench.source + 4 * 8192, 8192) ==
               0;
    return wrong_product(64, 64) == 64 * 64;
}

static bool says_one_of(const char *text, const char *words)
{
    while (*words != '\0') {
        char one[160];
        size_t len = strcspn(words, "|");

        (void)snprintf(one, sizeof(one), "%.*s", (int)len, words);
        if (strstr(text, one) != NULL)
            return true;
        words += len + (words[len] == '|');
    }
    return false;
}

/* _i: a mutant, under three seeds. */
START_TEST(test_mutant)
{
    const mutant *m = &mutants[_i];

    for (uint64_t seed = 0; seed < 3; seed++) {
        groat_status status;

        bench_make("cpu:sm_90a", seed);
        write_mutant(&m->change);
        bench_open(NULL);
        status = run_mutant(m->kernel);
        if (m->words == NULL)
            ck_assert_msg(status == GROAT_OK && is_right(m->kernel), "%s",
                          bench.fix.error.text);
        else
            ck_assert_msg(status == GROAT_JUDGED &&
                              says_one_of(bench.fix.error.text, m->words),
                          "seed %u: '%s' does not say '%s'", (unsigned)seed,
                          bench.fix.error.text, m->words);
        bench_close();
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("tma_mutants");
    TCase *t = tcase_create("all");

    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, test_mutant, 0, (int)COUNT(mutants));
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return run_suite(suite());
}
