/* SPDX-License-Identifier: Apache-2.0
 *
 * test_kv_buffer_lds.c: the tests of kv_suite.c for kv_buffer_lds, and a test
 * that its copies are the bursts of the definition: how many a wave issues,
 * where each begins in shared memory and what each lane reads.
 */
#include "tests/kernels/kv_suite.h"

extern const groat_driver groat_driver_kv_buffer_lds;

const groat_driver *const kv_driver = &groat_driver_kv_buffer_lds;

/* ---- bursts ------------------------------------------------------------- */

/* Where a lane of copy q of a burst reads, from the first byte of the slab; -1
 * where that is past the view. */
static int64_t source_of(const kv_case *t, const kv_burst *b, int64_t q,
                         int64_t lane, int64_t bytes)
{
    int64_t vector = bytes == 4 ? 16 * q + lane / 4 : lane;
    int64_t at =
        b->soffset + b->voffset[vector] + (bytes == 4 ? lane % 4 * 4 : 0);
    int64_t end = t->rows == 0 ? 0 : ((t->rows - 1) * t->ld + t->depth) * 2;

    return at < end ? at : -1;
}

/* _i: known tile, then arch. */
START_TEST(bursts_are_the_known_ones)
{
    const char *target = _i % 2 == 0 ? "cpu:gfx950" : "cpu:gfx90a";
    kv_case t = kv_on(&kv_known_tiles[_i / 2], target);
    int64_t bytes = _i % 2 == 0 ? 16 : 4;
    size_t parts = (size_t)(16 / bytes);
    unsigned char *image = malloc((size_t)kv_tile_bytes(&t));
    static kv_tape seen;
    groat_context *context = kv_record(&seen, 1u << GROAT_ACCESS_COPY);
    size_t next[16] = {0};
    kv_burst bursts[8];
    uint64_t base = 0;
    size_t count;

    ck_assert_ptr_nonnull(image);
    count = kv_walk(&t, image, bursts);
    kv_run(context, "image", target, &t, 1, 1, image,
           (size_t)kv_tile_bytes(&t));
    ck_assert_uint_eq(seen.count, count * parts);
    for (size_t n = 0; n < seen.count; n++) {
        unsigned wave = seen.events[n].wave;
        size_t nth = next[wave]++; /* number in the wave's copies */
        const kv_burst *b =
            &bursts[wave * (count / (size_t)t.warps) + nth / parts];

        ck_assert_int_eq(b->wave, wave);
        ck_assert_uint_eq(seen.events[n].bytes, (unsigned)bytes);
        ck_assert_uint_eq(seen.events[n].active, UINT64_MAX);
        for (int64_t lane = 0; lane < LANES; lane++) {
            int64_t from =
                source_of(&t, b, (int64_t)(nth % parts), lane, bytes);

            ck_assert_int_eq(seen.events[n].shared[lane],
                             b->m0 + (int64_t)(nth % parts) * 256 +
                                 lane * bytes);
            if (n == 0 && lane == 0)
                base = seen.events[n].source[lane] - (uint64_t)from;
            ck_assert_uint_eq(seen.events[n].source[lane],
                              from < 0 ? 0 : base + (uint64_t)from);
        }
    }
    for (unsigned wave = 0; wave < (unsigned)t.warps; wave++)
        ck_assert_uint_eq(next[wave], count / (size_t)t.warps * parts);
    groat_close(context);
    free(image);
}
END_TEST

/* The number of bursts that params.def promises to code that counts waits. */
START_TEST(copies_are_as_many_as_said)
{
    static const struct {
        const char *spec, *target;
        int64_t copies, mmas, k_tiles, bytes;
    } known[] = {
        {"", "cpu:gfx950", 2, 1, 2, 8192},
        {"", "cpu:gfx90a", 8, 1, 2, 8192},
        {"mma=m32x32x8", "cpu:gfx950", 2, 1, 2, 8192},
        {"BN=256,WN=64", "cpu:gfx950", 4, 2, 2, 16384},
        {"BN=64,depth=64,mma=m16x16x32", "cpu:gfx950", 2, 2, 1, 4096},
        {"role=V", "cpu:gfx950", 2, 1, 2, 8192},
    };
    static const char *const names[] = {"vm_instrs_per_load", "num_mmas",
                                        "num_k_tiles", "tile_bytes"};
    groat_context *context = drive_open_context(NULL, NULL);

    for (size_t i = 0; i < COUNT(known); i++) {
        const int64_t want[] = {known[i].copies, known[i].mmas,
                                known[i].k_tiles, known[i].bytes};
        groat_spec *spec;
        char text[100];

        (void)snprintf(text, sizeof(text), "kv_buffer_lds:%s", known[i].spec);
        spec = drive_spec(context, text, known[i].target);
        for (size_t k = 0; k < COUNT(names); k++)
            ck_assert_int_eq(drive_value(spec, names[k]), want[k]);
        groat_spec_free(spec);
    }
    groat_close(context);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kv_buffer_lds");
    TCase *tests = tcase_create("bursts");

    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, bursts_are_the_known_ones, 0, 2 * KV_KNOWN);
    tcase_add_test(tests, copies_are_as_many_as_said);
    suite_add_tcase(suite, tests);
    kv_add_tests(suite, true);
    return drive_main(suite);
}
