/* SPDX-License-Identifier: Apache-2.0
 *
 * test_kv_buffer_reg.c: the tests of kv_suite.c for kv_buffer_reg, whose
 * images are those of kv_buffer_lds, and a test that each thread moves its own
 * vectors: row t / 4 and then every num_threads / 4-th, columns t % 4 * 8.
 */
#include "tests/kernels/kv_suite.h"

extern const groat_driver groat_driver_kv_buffer_reg;

const groat_driver *const kv_driver = &groat_driver_kv_buffer_reg;

/* ---- stores per thread ------------------------------------------------ */

/* Byte offset of a number in a tile with one column of squares. */
static int64_t place_of(const kv_case *t, int64_t row, int64_t col)
{
    return row / 32 * SQUARE + kv_swizzle(t, row % 32 * 4 + col / 8) * 16;
}

/* _i: the known K tiles, whose rows have 32 numbers. */
START_TEST(threads_store_their_rows)
{
    const kv_case *t = &kv_known_tiles[_i];
    size_t bytes = (size_t)kv_tile_bytes(t);
    int64_t threads = t->warps * LANES;
    size_t each = bytes / 16 / (size_t)threads;
    unsigned char *image = malloc(bytes);
    static kv_tape seen;
    groat_context *context = kv_record(&seen, 1u << GROAT_ACCESS_WRITE);
    size_t next[16] = {0};

    ck_assert_ptr_nonnull(image);
    kv_run(context, "image", "cpu:gfx950", t, 1, 1, image, bytes);
    for (size_t n = 0; n < seen.count; n++) {
        unsigned wave = seen.events[n].wave;
        size_t nth = next[wave]++; /* number in the wave's stores */

        ck_assert_uint_eq(seen.events[n].bytes, 16);
        /* The poison is stored first, with as many stores. */
        for (int64_t lane = 0; lane < LANES && nth >= each; lane++) {
            int64_t thread = wave * LANES + lane;
            int64_t row = (int64_t)(nth - each) * (threads / 4) + thread / 4;

            ck_assert_int_eq(seen.events[n].shared[lane],
                             place_of(t, row, thread % 4 * 8));
        }
    }
    for (unsigned wave = 0; wave < (unsigned)t->warps; wave++)
        ck_assert_uint_eq(next[wave], 2 * each);
    groat_close(context);
    free(image);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kv_buffer_reg");
    TCase *tests = tcase_create("stores");

    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, threads_store_their_rows, 0, 3);
    suite_add_tcase(suite, tests);
    kv_add_tests(suite, false);
    return drive_main(suite);
}
