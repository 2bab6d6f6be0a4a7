/* SPDX-License-Identifier: Apache-2.0
 *
 * test_convert.c checks common/convert.h against rounding in float64, by a
 * division into units of the last place: every pattern of a float's upper half
 * with lower halves around each tie.  The kernel runs on a cpu target; the
 * arithmetic is on integers, so it is the same on all targets.
 */
#include <math.h>

#include "kernels-src/driver/kv_host.h"
#include "tests/pipe/rig.h"

static const char probe_params[] =
    "family probe \"rounds floats to bf16 (low half) and f16 (high half)\"\n"
    "param unused int 0..1 0 - \"nothing\"\n"
    "launch block_x = 64\n"
    "launch args = 16\n"
    "entry probe_{unused}\n";

static const char probe_args[] =
    "#pragma once\n"
    "struct probe_args {\n    unsigned long long input, output;\n};\n";

static const char probe_kernel[] =
    "#include \"params.h\"\n"
    "#include \"../common/vendor.h\"\n"
    "#include \"../common/convert.h\"\n"
    "#include \"args.h\"\n"
    "\n"
    "inline unsigned both(unsigned x)\n"
    "{\n"
    "    return groat::bf16_of(x) | groat::f16_of(x) << 16;\n"
    "}\n"
    "\n"
    "GROAT_KERNEL(probe_args)\n"
    "{\n"
    "    using namespace groat;\n"
    "    u64 at = (block_index() * 64ull + thread_index()) * 16;\n"
    "    vec4 v = global_load16(args.input + at);\n"
    "    global_store16(args.output + at, vec4{both(v.x), both(v.y),\n"
    "                                          both(v.z), both(v.w)});\n"
    "}\n";

/* Ties of bf16, then those of f16 and one unit around them. */
static const uint32_t lows[] = {0x0000, 0x0001, 0x7fff, 0x8000, 0x8001, 0xffff,
                                0x0fff, 0x1000, 0x1001, 0x2fff, 0x3000, 0x3001,
                                0x4000, 0x6000, 0xa000, 0xf000};

enum { LOWS = COUNT(lows), FLOATS = 65536 * LOWS };

static rig fix;

static void setup(void)
{
    rig_make(&fix);
    rig_write_source(&fix, "probe", "params.def", probe_params);
    rig_write_source(&fix, "probe", "args.h", probe_args);
    rig_write_source(&fix, "probe", "probe.h", probe_kernel);
}

static void teardown(void)
{
    rig_drop(&fix);
}

static void check_one(bool f16, uint32_t bits, uint16_t got)
{
    uint16_t want;
    float x;

    memcpy(&x, &bits, sizeof(x));
    want = groat__kv_round(f16, (double)x);
    if (isnan(x))
        ck_assert_msg(isnan(groat__kv_number(f16, got)) &&
                          got >> 15 == bits >> 31,
                      "the NaN 0x%08x became 0x%04x", bits, got);
    else
        ck_assert_msg(got == want, "%s of 0x%08x (%a) is 0x%04x, not 0x%04x",
                      f16 ? "f16" : "bf16", bits, (double)x, got, want);
}

START_TEST(every_upper_half)
{
    const char *target = rig_targets[_i];
    uint32_t *floats = malloc(FLOATS * sizeof(*floats));
    groat_context *context = rig_open(&fix);
    groat_kernel *kernel =
        rig_get(&fix, context, "probe", target, GROAT_FROM_COMPILER);
    groat_launch launch = GROAT_LAUNCH_INIT;
    uint64_t places[2];

    ck_assert_ptr_nonnull(floats);
    for (uint32_t i = 0; i < FLOATS; i++)
        floats[i] = i / LOWS << 16 | lows[i % LOWS];
    places[0] = rig_upload(context, target, floats, FLOATS * sizeof(*floats));
    places[1] = rig_upload(context, target, floats, FLOATS * sizeof(*floats));
    launch.grid[0] = FLOATS / 4 / 64;
    ck_assert_msg(groat_kernel_launch(kernel, &launch, places, sizeof(places),
                                      &fix.error) == GROAT_OK,
                  "%s", fix.error.text);
    ck_assert_int_eq(groat_memory_read(context, target, floats, places[1],
                                       FLOATS * sizeof(*floats), NULL),
                     GROAT_OK);
    for (uint32_t i = 0; i < FLOATS; i++) {
        uint32_t bits = i / LOWS << 16 | lows[i % LOWS];

        check_one(false, bits, (uint16_t)floats[i]);
        check_one(true, bits, (uint16_t)(floats[i] >> 16));
    }
    groat_kernel_release(kernel);
    groat_close(context);
    free(floats);
}
END_TEST

/* The reference itself on known numbers. */
START_TEST(known_numbers)
{
    static const struct {
        double x;
        uint16_t bf16, f16;
    } known[] = {
        {0.0, 0x0000, 0x0000},        {-0.0, 0x8000, 0x8000},
        {1.0, 0x3f80, 0x3c00},        {-2.5, 0xc020, 0xc100},
        {257.0, 0x4380, 0x5c04},      {259.0, 0x4382, 0x5c0c},
        {65504.0, 0x4780, 0x7bff},    {65519.0, 0x4780, 0x7bff},
        {65520.0, 0x4780, 0x7c00},    {0x1p-14, 0x3880, 0x0400},
        {0x1p-24, 0x3380, 0x0001},    {0x1p-25, 0x3300, 0x0000},
        {0x1.8p-24, 0x33c0, 0x0002},  {0x1.8p-25, 0x3340, 0x0001},
        {0x1.fep127, 0x7f7f, 0x7c00}, {0x1.ffp127, 0x7f80, 0x7c00},
        {0x1p-133, 0x0001, 0x0000},   {INFINITY, 0x7f80, 0x7c00},
    };

    for (size_t i = 0; i < COUNT(known); i++) {
        ck_assert_uint_eq(groat__kv_round(false, known[i].x), known[i].bf16);
        ck_assert_uint_eq(groat__kv_round(true, known[i].x), known[i].f16);
    }
    ck_assert(groat__kv_number(false, 0xc020) == -2.5);
    ck_assert(groat__kv_number(true, 0xc100) == -2.5);
    ck_assert(groat__kv_number(true, 0x0001) == 0x1p-24);
    ck_assert(groat__kv_number(false, 0x0001) == 0x1p-133);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("convert");
    TCase *tests = tcase_create("convert");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, known_numbers);
    tcase_add_loop_test(tests, every_upper_half, 0, RIG_TARGETS);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
