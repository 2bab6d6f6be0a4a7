/* SPDX-License-Identifier: Apache-2.0
 *
 * test_sizes.c: each call with a structure of the caller's, in each size that
 * is too short, in its own, and in longer ones, as a later header has them.  A
 * structure that is too short is INVALID and changes nothing; of a longer one,
 * no byte past those that this version knows is read or written.
 */
#include "rig.h"
#include "groat_serve.h"
#include "groat_attention.h"
#include "groat_tensor.h"

enum { ROOM = 4096, LONGER = 64 };

static const char *const target = "cpu:gfx950";
static rig fix;
static groat_context *context;
static groat_kernel *kernel;
static groat_spec *spec;
static char bundle[300];

/* Opens a context with a remote that can be written to. */
static groat_context *open_sender(void)
{
    groat_options options = rig_options(&fix);
    char public_key[65];
    char key[300];
    char url[300];

    (void)snprintf(key, sizeof(key), "%s/key", fix.root);
    (void)snprintf(url, sizeof(url), "file://%s", fix.root);
    ck_assert_int_eq(groat_bundle_keygen(key, public_key, &fix.error),
                     GROAT_OK);
    options.remote = url;
    options.remote_key = key;
    return rig_open_with(&fix, &options);
}

static void setup(void)
{
    uint64_t written = 0;

    rig_make(&fix);
    rig_write_adder(&fix);
    (void)snprintf(bundle, sizeof(bundle), "%s/bundle", fix.root);
    context = open_sender();
    kernel =
        rig_get(&fix, context, "adder:step=3", target, GROAT_FROM_COMPILER);
    spec = rig_parse(&fix, context, "adder:step=3", target);
    ck_assert_int_eq(groat_bundle_export(context, bundle, NULL, 0, NULL,
                                         &written, &fix.error),
                     GROAT_OK);
}

static void teardown(void)
{
    groat_spec_free(spec);
    groat_kernel_release(kernel);
    groat_close(context);
    rig_drop(&fix);
}

/* ---- calls that fill in a structure -------------------------------------- */

static groat_status param(void *at, groat_error *error)
{
    return groat_family_param(groat_family_find(context, "adder"), 0, at,
                              error);
}

static groat_status kernel_info(void *at, groat_error *error)
{
    return groat_kernel_info_get(kernel, at, error);
}

static groat_status build_info(void *at, groat_error *error)
{
    return groat_build(spec, NULL, NULL, at, error);
}

static groat_status stat_of(void *at, groat_error *error)
{
    return groat_cache_stat_get(context, at, error);
}

static groat_status remote_of(void *at, groat_error *error)
{
    return groat_remote_stat(context, at, error);
}

static groat_status push_of(void *at, groat_error *error)
{
    return groat_remote_push(context, at, NULL, NULL, error);
}

static groat_status names_of(void *at, groat_error *error)
{
    return groat_remote_names_get(spec, at, error);
}

static groat_status explain(void *at, groat_error *error)
{
    return groat_explain(spec, at, NULL, NULL, error);
}

static groat_status bundle_info(void *at, groat_error *error)
{
    return groat_bundle_verify(bundle, NULL, at, error);
}

static groat_status warm_result(void *at, groat_error *error)
{
    const groat_warm_item item = {sizeof(item), "adder:step=3", target};

    return groat_warm(context, &item, 1, 0, NULL, NULL, at, error);
}

/* ---- calls that read a structure ----------------------------------------- */

static groat_status open_with(void *at, groat_error *error)
{
    groat_context *other = NULL;
    groat_status status = groat_open(at, &other, error);

    groat_close(other);
    return status;
}

static const groat_options options = {
    .size = sizeof(groat_options),
    .flags = GROAT_OPEN_NO_DISK,
};

static groat_status warm_item(void *at, groat_error *error)
{
    return groat_warm(context, at, 1, 0, NULL, NULL, NULL, error);
}

static const groat_warm_item item = {sizeof(groat_warm_item), "adder:step=3",
                                     "cpu:gfx950"};

static groat_status tensor_map(void *at, groat_error *error)
{
    groat_tensor_map map;

    return groat_tensor_map_make(context, "cpu:sm_90a", at, &map, error);
}

static const groat_tensor tensor = {
    .size = sizeof(groat_tensor),
    .address = 4096,
    .elem_bytes = 2,
    .rank = 2,
    .dims = {64, 64},
    .strides = {128},
    .box = {16, 16},
};

static const groat_kv_cache cache = {
    .size = sizeof(groat_kv_cache),
    .address = 4096,
    .elem_bytes = 2,
    .blocks = 4,
    .planes = 2,
    .layers = 1,
    .page = 16,
    .heads = 2,
    .dim = 64,
};

static const groat_kv_box box = {
    .size = sizeof(groat_kv_box),
    .page = 16,
    .tile_rows = 16,
};

static groat_status view_of(void *at, groat_error *error)
{
    return groat_kv_view_get(&cache, 0, 0, at, error);
}

static groat_status tensor_of(void *at, groat_error *error)
{
    return groat_kv_tensor(&cache, 0, 0, &box, at, error);
}

static groat_status cache_of(void *at, groat_error *error)
{
    groat_kv_view view = {.size = sizeof(view)};

    return groat_kv_view_get(at, 0, 0, &view, error);
}

static groat_status box_of(void *at, groat_error *error)
{
    groat_tensor out = GROAT_TENSOR_INIT;

    return groat_kv_tensor(&cache, 0, 0, at, &out, error);
}

static groat_status get_with(void *at, groat_error *error)
{
    groat_kernel *same = NULL;
    groat_status status = groat_kernel_get_spec(spec, at, &same, NULL, error);

    groat_kernel_release(same);
    return status;
}

static const groat_get_options get_options = {
    .size = sizeof(groat_get_options),
    .flags = GROAT_GET_ON_STREAM,
};

/* Launches over no numbers at all. */
static groat_status launch_of(void *at, groat_error *error)
{
    const struct adder_args args = {.count = 0};

    return groat_kernel_launch(kernel, at, &args, sizeof(args), error);
}

static const groat_launch launch = {
    .size = sizeof(groat_launch),
    .grid = {1, 1, 1},
};

/* Of no sequences, so nothing is computed. */
static const groat_decode_shape decode = {
    .size = sizeof(groat_decode_shape),
    .heads = 2,
    .kv_heads = 2,
    .q_len = 1,
    .head_dim = 64,
    .sequences = 1,
    .keys = 16,
};

static groat_status decode_of(void *at, groat_error *error)
{
    const groat_decode_arguments arguments = {.size = sizeof(arguments),
                                              .keys = &cache};
    double nothing;

    return groat_decode_reference(at, &arguments, &nothing, NULL, error);
}

static const groat_append_shape append = {
    .size = sizeof(groat_append_shape),
    .kv_heads = 2,
    .head_dim = 64,
};

static groat_status append_of(void *at, groat_error *error)
{
    const groat_append_arguments arguments = {.size = sizeof(arguments),
                                              .keys = &cache};

    return groat_append_reference(at, &arguments, error);
}

static const groat_remote_choice choice = {.size = sizeof(choice)};

static const struct {
    const char *words; /* in the refusal */
    size_t bytes;
    groat_status (*call)(void *at, groat_error *error);
    const void *input; /* NULL: the call fills it in */
    bool optional;     /* NULL may be passed */
} cases[] = {
    {"groat_param_info", sizeof(groat_param_info), param, NULL, false},
    {"groat_kernel_info", sizeof(groat_kernel_info), kernel_info, NULL, false},
    {"groat_kernel_info", sizeof(groat_kernel_info), build_info, NULL, true},
    {"groat_cache_stat", sizeof(groat_cache_stat), stat_of, NULL, false},
    {"groat_remote_info", sizeof(groat_remote_info), remote_of, NULL, false},
    {"groat_remote_choice", sizeof(groat_remote_choice), push_of, &choice,
     true},
    {"groat_remote_names", sizeof(groat_remote_names), names_of, NULL, false},
    {"groat_explanation", sizeof(groat_explanation), explain, NULL, false},
    {"groat_bundle_info", sizeof(groat_bundle_info), bundle_info, NULL, true},
    {"groat_warm_result", sizeof(groat_warm_result), warm_result, NULL, true},
    {"groat_options", sizeof(groat_options), open_with, &options, true},
    {"groat_warm_item", sizeof(groat_warm_item), warm_item, &item, false},
    {"groat_tensor", sizeof(groat_tensor), tensor_map, &tensor, false},
    {"groat_launch", sizeof(groat_launch), launch_of, &launch, false},
    {"groat_kv_view", sizeof(groat_kv_view), view_of, NULL, false},
    {"groat_tensor", sizeof(groat_tensor), tensor_of, NULL, false},
    {"groat_kv_cache", sizeof(groat_kv_cache), cache_of, &cache, false},
    {"groat_kv_box", sizeof(groat_kv_box), box_of, &box, false},
    {"groat_decode_shape", sizeof(groat_decode_shape), decode_of, &decode,
     false},
    {"groat_append_shape", sizeof(groat_append_shape), append_of, &append,
     false},
    {"groat_get_options", sizeof(groat_get_options), get_with, &get_options,
     true},
};

/* Lays out a structure of this size; each begins with its size. */
static void lay_out(int index, size_t size, unsigned char at[ROOM])
{
    memset(at, 0x5a, ROOM);
    if (cases[index].input != NULL)
        memcpy(at, cases[index].input, cases[index].bytes);
    memcpy(at, &size, sizeof(size));
}

/* There is no bundle, but the structure is checked first. */
START_TEST(no_bundle_info)
{
    ck_fails(groat_bundle_at(context, 0, NULL, &fix.error), GROAT_INVALID,
             &fix.error, "info is NULL; it is a groat_bundle_info");
}
END_TEST

START_TEST(each_size)
{
    const size_t bytes = cases[_i].bytes;
    _Alignas(64) unsigned char at[ROOM];
    unsigned char before[ROOM];

    if (cases[_i].optional)
        ck_assert_int_eq(cases[_i].call(NULL, &fix.error), GROAT_OK);
    else if (cases[_i].call != warm_item)
        ck_fails(cases[_i].call(NULL, &fix.error), GROAT_INVALID, &fix.error,
                 " is NULL; it is a groat_");
    ck_assert_uint_lt(bytes + LONGER, ROOM);
    for (size_t size = 0; size <= bytes + LONGER; size++) {
        groat_status status;

        lay_out(_i, size, at);
        memcpy(before, at, ROOM);
        status = cases[_i].call(at, &fix.error);
        if (size < bytes) {
            ck_assert_mem_eq(at, before, ROOM);
            ck_fails(status, GROAT_INVALID, &fix.error, cases[_i].words);
            continue;
        }
        ck_assert_msg(status == GROAT_OK, "%s of %zu bytes: %s",
                      cases[_i].words, size, fix.error.text);
        ck_assert_mem_eq(at, before, sizeof(size));
        ck_assert_mem_eq(at + bytes, before + bytes, ROOM - bytes);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sizes");
    TCase *tests = tcase_create("sizes");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, no_bundle_info);
    tcase_add_loop_test(tests, each_size, 0, COUNT(cases));
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
