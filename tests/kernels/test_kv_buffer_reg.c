/* SPDX-License-Identifier: Apache-2.0
 *
 * test_kv_buffer_reg.c: the tests of kv_suite.c for kv_buffer_reg, whose images
 * are those of kv_buffer_lds, and that each thread moves the vectors that are
 * its own: row t / 4 and then every num_threads / 4-th, columns t % 4 * 8.
 */
#include "tests/kernels/kv_suite.h"

extern const groat_driver groat_driver_kv_buffer_reg;
const char *const kv_family = "kv_buffer_reg";
const groat_driver *const kv_family_driver = &groat_driver_kv_buffer_reg;

/* ---- who stores what ---------------------------------------------------- */

typedef struct stores {
    uint32_t shared[16][32][LANES]; /* of a wave, in order */
    size_t count[16];
} stores;

static void record_store(void *user, const groat_trace *event)
{
    stores *to = user;

    if (event->access != GROAT_ACCESS_WRITE)
        return;
    ck_assert_uint_lt(to->count[event->wave], 32);
    ck_assert_uint_eq(event->bytes, 16);
    memcpy(to->shared[event->wave][to->count[event->wave]++], event->shared,
           sizeof(event->shared[0]) * LANES);
}

/* Byte of a number of a tile with one column of squares. */
static int64_t place_of(const kv_case *t, int64_t row, int64_t col)
{
    return row / 32 * SQUARE + kv_swizzle(t, row % 32 * 4 + col / 8) * 16;
}

/* _i: the known K tiles, whose rows are 32 numbers. */
START_TEST(threads_store_their_rows)
{
    const kv_case *t = &kv_known_tiles[_i].t;
    size_t bytes = (size_t)kv_tile_bytes(t);
    int64_t threads = t->warps * LANES;
    size_t each = bytes / 16 / (size_t)threads;
    unsigned char *image = malloc(bytes);
    static stores seen;
    groat_context *context = kv_open(record_store, &seen);
    char spec[400];

    memset(&seen, 0, sizeof(seen));
    ck_assert_ptr_nonnull(image);
    kv_spec(kv_family, "image", t, spec, sizeof(spec));
    kv_run(context, spec, "cpu:gfx950", t, 1, 1, image, bytes);
    for (int64_t thread = 0; thread < threads; thread++) {
        /* The poison comes first: as many stores again. */
        ck_assert_uint_eq(seen.count[thread / LANES], 2 * each);
        for (size_t i = 0; i < each; i++)
            ck_assert_int_eq(
                seen.shared[thread / LANES][each + i][thread % LANES],
                place_of(t, thread / 4 + (int64_t)i * (threads / 4),
                         thread % 4 * 8));
    }
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
    return kv_main(suite);
}
