/* SPDX-License-Identifier: Apache-2.0
 *
 * test_metrics.c: the counters and times that a context keeps on the way to a
 * kernel, as text; and what it reports of each compile.
 */
#include "rig.h"

#include "core/tally.h"

#include <inttypes.h>
#include <jansson.h>

#include "core/metrics.h"
#include "groat_serve.h"

static rig fix;
static const char target[] = "cpu:gfx950";

/* The last compile event, and the number of events. */
typedef struct told {
    unsigned count;
    groat_reason reason;
    groat_status status;
    char spec[64];
    char key[33];
    bool failed; /* with a message */
    double ms;
} told;

static void setup(void)
{
    rig_make(&fix);
    rig_write_adder(&fix);
}

static void teardown(void)
{
    rig_drop(&fix);
}

static void on_compiled(void *user, const groat_compile_event *event)
{
    told *t = user;

    ck_assert_uint_eq(event->size, sizeof(*event));
    ck_assert_str_eq(event->target, target);
    t->count++;
    t->reason = event->reason;
    t->status = event->status;
    t->ms = event->ms;
    (void)snprintf(t->spec, sizeof(t->spec), "%s", event->spec);
    (void)snprintf(t->key, sizeof(t->key), "%s", event->key);
    t->failed = event->error != NULL && event->error->text[0] != '\0';
}

static groat_context *open_told(told *t, unsigned flags)
{
    groat_options options = rig_options(&fix);

    memset(t, 0, sizeof(*t));
    options.flags = flags;
    options.compiled = on_compiled;
    options.compiled_user = t;
    return rig_open_with(&fix, &options);
}

/* ---- the text ------------------------------------------------------------ */

static char *metrics(groat_context *context, groat_metrics_format format)
{
    char *text = NULL;

    ck_assert_int_eq(groat_metrics(context, format, &text, &fix.error),
                     GROAT_OK);
    return text;
}

/* Returns the value of a sample; -1: there is none. */
static double sample(groat_context *context, const char *name)
{
    char *text = metrics(context, GROAT_METRICS_PROMETHEUS);
    size_t len = strlen(name);
    double value = -1;

    for (const char *at = text; *at != '\0'; at = strchr(at, '\n') + 1)
        if (strncmp(at, name, len) == 0 && at[len] == ' ')
            value = strtod(at + len, NULL);
    groat_free(text);
    return value;
}

static double stage(groat_context *context, const char *name)
{
    char text[96];

    (void)snprintf(text, sizeof(text),
                   "groat_stage_seconds_count{stage=\"%s\"}", name);
    return sample(context, text);
}

/* One of 256 hits is timed on each CPU that the thread ran on. */
static bool is_sampled(groat_context *context, int hits)
{
    double timed = stage(context, "lookup");
    int least = (hits + GROAT__SAMPLED - 1) / GROAT__SAMPLED;

    /* Including the first on each. */
    return timed >= least && timed <= least + GROAT__TALLY_PARTS;
}

START_TEST(counts_follow_the_path)
{
    groat_context *context = rig_open(&fix);

    ck_assert(sample(context, "groat_compiles_total") == 0);
    ck_assert(stage(context, "compile") == 0);
    rig_kernel(&fix, context, 3, GROAT_FROM_COMPILER);
    for (int i = 0; i < 128; i++)
        rig_kernel(&fix, context, 3, GROAT_FROM_MEMORY);
    ck_assert(sample(context, "groat_compiles_total") == 1);
    ck_assert(sample(context, "groat_loads_total") == 1);
    ck_assert(sample(context, "groat_memory_hits_total") == 128);
    ck_assert(sample(context, "groat_store_misses_total") == 1);
    ck_assert(sample(context, "groat_store_entries") == 1);
    ck_assert(stage(context, "compile") == 1);
    ck_assert(stage(context, "put") == 1);
    ck_assert(stage(context, "load") == 1);
    ck_assert(stage(context, "first_launch") == 1);
    ck_assert(stage(context, "read") == 0);
    ck_assert(stage(context, "verify") == 0);
    ck_assert(is_sampled(context, 128));
    groat_close(context);

    context = rig_open(&fix);
    rig_kernel(&fix, context, 3, GROAT_FROM_DISK);
    ck_assert(stage(context, "read") == 1);
    ck_assert(stage(context, "verify") == 1);
    ck_assert(stage(context, "compile") == 0);
    ck_assert(sample(context, "groat_store_hits_total") == 1);
    groat_close(context);
}
END_TEST

/* A get by spec is timed like one by text: one of 256 hits, of either kind. */
START_TEST(lookups_of_both_kinds)
{
    groat_context *context = rig_open(&fix);
    groat_spec *spec = rig_parse(&fix, context, "adder:step=3", target);
    groat_kernel *kernel = NULL;

    rig_kernel(&fix, context, 3, GROAT_FROM_COMPILER);
    for (int i = 0; i < 4 * GROAT__SAMPLED; i++)
        ck_assert_int_eq(groat_kernel_get_spec(spec, NULL, &kernel, NULL, NULL),
                         GROAT_OK);
    ck_assert(is_sampled(context, 4 * GROAT__SAMPLED));
    for (int i = 0; i < GROAT__SAMPLED; i++)
        rig_get(&fix, context, "adder:step=3", target, GROAT_FROM_MEMORY);
    ck_assert(is_sampled(context, 5 * GROAT__SAMPLED));
    groat_spec_free(spec);
    groat_close(context);
}
END_TEST

/* Returns the least of several times to verify an entry, in ns. */
static uint64_t verify_ns(groat__store *store, const char *identity,
                          const void *data, size_t bytes)
{
    groat__digest key = groat__hash128(identity, strlen(identity));
    uint64_t least = UINT64_MAX;

    groat__store_put(store, &key, identity, data, bytes, "", NULL);
    for (int i = 0; i < 5; i++) {
        groat__store_blob blob = {0};

        ck_assert(groat__store_get(store, &key, identity, &blob));
        ck_assert_uint_eq(blob.bytes, bytes);
        least = blob.verify_ns < least ? blob.verify_ns : least;
        groat__store_blob_free(&blob);
    }
    return least;
}

/* Verifying covers the whole of an entry. */
START_TEST(verifying_is_timed_apart)
{
    enum { BYTES = 4 << 20 };
    groat__store_options options = {.dir = fix.cache, .max_bytes = 1 << 30};
    groat__store *store = NULL;
    void *data = calloc(1, BYTES);

    ck_assert_ptr_nonnull(data);
    ck_assert_int_eq(groat__store_open(&options, &store, NULL), GROAT_OK);
    ck_assert_uint_gt(verify_ns(store, "large", data, BYTES),
                      verify_ns(store, "small", data, 1));
    groat__store_close(store);
    free(data);
}
END_TEST

/* Bounds and counts of a histogram increase; the last count is the total. */
START_TEST(histograms_add_up)
{
    static const char bucket[] = "groat_stage_seconds_bucket{stage=\"";
    groat_context *context = rig_open(&fix);
    unsigned buckets = 0;
    char name[32] = "";
    double count = 0;
    double bound = 0;
    bool bounded = false; /* something took less than the largest bound */
    char *text;

    rig_kernel(&fix, context, 3, GROAT_FROM_COMPILER);
    text = metrics(context, GROAT_METRICS_PROMETHEUS);
    for (const char *at = text; *at != '\0'; at = strchr(at, '\n') + 1) {
        char of[32];
        char le[32];
        double value;

        if (*at == '#' || strncmp(at, bucket, strlen(bucket)) != 0)
            continue;
        ck_assert_int_eq(sscanf(at + strlen(bucket),
                                "%31[a-z_]\",le=\"%31[^\"]\"} %lf", of, le,
                                &value),
                         3);
        if (strcmp(of, name) != 0) {
            (void)snprintf(name, sizeof(name), "%s", of);
            count = bound = 0;
        }
        ck_assert(value >= count);
        bounded = bounded || (value > 0 && strcmp(le, "+Inf") != 0);
        ck_assert(strtod(le, NULL) > bound);
        ck_assert_ptr_null(strchr(".0", le[strlen(le) - 1]));
        count = value;
        bound = strtod(le, NULL);
        buckets++;
        if (strcmp(le, "+Inf") == 0)
            ck_assert(stage(context, name) == count);
    }
    ck_assert_uint_eq(buckets, 9 * 16);
    ck_assert(bounded);
    groat_free(text);
    groat_close(context);
}
END_TEST

/* Every sample has a TYPE line before it. */
START_TEST(samples_have_types)
{
    groat_context *context = rig_open(&fix);
    char *text = metrics(context, GROAT_METRICS_PROMETHEUS);
    unsigned samples = 0;

    for (const char *at = text; *at != '\0'; at = strchr(at, '\n') + 1) {
        char type[128];
        size_t len = strcspn(at, "{ ");

        if (*at == '#')
            continue;
        if (strncmp(at, "groat_stage_seconds", 19) == 0)
            len = 19;
        (void)snprintf(type, sizeof(type), "\n# TYPE %.*s ", (int)len, at);
        ck_assert_msg(strstr(text, type) != NULL, "%.60s", at);
        samples++;
    }
    ck_assert_uint_gt(samples, 100);
    groat_free(text);
    groat_close(context);
}
END_TEST

/* Checks that each counter of one text is in the other. */
static void ck_each_counter(groat_context *context, const char *json)
{
    char *lines = metrics(context, GROAT_METRICS_PROMETHEUS);
    char *save = NULL;
    int counters = 0;

    for (char *line = strtok_r(lines, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        char name[80];
        char kind[20];
        char member[100];

        if (sscanf(line, "# TYPE groat_%79s %19s", name, kind) != 2 ||
            strcmp(kind, "histogram") == 0)
            continue;
        (void)snprintf(member, sizeof(member), "\"%s\": ", name);
        ck_assert_msg(strstr(json, member) != NULL, "%s", name);
        counters++;
    }
    ck_assert_int_gt(counters, 10);
    groat_free(lines);
}

/* The last bucket of the compiles. */
static void root_last_bucket(json_t *root, const char **bound,
                             json_int_t *count)
{
    json_t *stages = json_object_get(root, "stages");
    json_t *buckets =
        json_object_get(json_object_get(stages, "compile"), "buckets");

    ck_assert_int_eq(
        json_unpack(json_array_get(buckets, json_array_size(buckets) - 1),
                    "{s:s, s:I}", "le_s", bound, "count", count),
        0);
}

START_TEST(the_same_as_json)
{
    groat_context *context = rig_open(&fix);
    json_int_t format, compiles, count, in_last;
    const char *last;
    json_t *root;
    double sum;
    char *text;

    rig_kernel(&fix, context, 3, GROAT_FROM_COMPILER);
    text = metrics(context, GROAT_METRICS_JSON);
    root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_int_eq(
        json_unpack(root, "{s:I, s:{s:I}, s:{s:{s:f, s:I, s:[]}}}", "format",
                    &format, "counters", "compiles_total", &compiles, "stages",
                    "compile", "sum_s", &sum, "count", &count, "buckets"),
        0);
    ck_assert(format == 1 && compiles == 1 && count == 1);
    ck_assert(sum > 0 && sum < 600);
    root_last_bucket(root, &last, &in_last);
    ck_assert_str_eq(last, "+Inf");
    ck_assert_int_eq(in_last, 1);
    json_decref(root);
    ck_each_counter(context, text);
    groat_free(text);
    ck_fails(groat_metrics(context, (groat_metrics_format)7, &text, &fix.error),
             GROAT_INVALID, &fix.error, "format is 7; allowed: 0");
    groat_close(context);
}
END_TEST

START_TEST(without_a_store)
{
    told t;
    groat_context *context = open_told(&t, GROAT_OPEN_NO_DISK);

    rig_kernel(&fix, context, 3, GROAT_FROM_COMPILER);
    ck_assert(stage(context, "compile") == 1);
    ck_assert(stage(context, "put") == 0);
    ck_assert(sample(context, "groat_store_entries") == 0);
    groat_close(context);
}
END_TEST

/* ---- compiles -------------------------------------------------------------
 */

START_TEST(each_compile_is_told)
{
    told t;
    groat_context *context = open_told(&t, 0);
    groat_kernel_info info = {.size = sizeof(info)};
    groat_kernel *kernel;

    kernel =
        rig_get(&fix, context, "adder:step=3", target, GROAT_FROM_COMPILER);
    ck_assert_int_eq(groat_kernel_info_get(kernel, &info, NULL), GROAT_OK);
    ck_assert_uint_eq(t.count, 1);
    ck_assert_int_eq(t.reason, GROAT_REASON_ABSENT);
    ck_assert_int_eq(t.status, GROAT_OK);
    ck_assert_str_eq(t.spec, "adder:step=3,doubled=6");
    ck_assert_str_eq(t.key, info.key);
    ck_assert(t.ms == info.compile_ms && t.ms > 0);
    (void)rig_get(&fix, context, "adder:step=3", target, GROAT_FROM_MEMORY);
    ck_assert_uint_eq(t.count, 1);
    groat_close(context);

    context = open_told(&t, 0);
    (void)rig_get(&fix, context, "adder:step=3", target, GROAT_FROM_DISK);
    ck_assert_uint_eq(t.count, 0);
    groat_close(context);

    context = open_told(&t, GROAT_OPEN_NO_DISK);
    (void)rig_get(&fix, context, "adder:step=3", target, GROAT_FROM_COMPILER);
    ck_assert_uint_eq(t.count, 1);
    ck_assert_int_eq(t.reason, GROAT_REASON_NO_STORE);
    groat_close(context);
}
END_TEST

START_TEST(failed_compiles_are_told)
{
    told t;
    groat_context *context;
    groat_kernel *kernel = NULL;

    rig_write_source(&fix, "adder", "adder.h",
                     "#include \"params.h\"\nslip;\n");
    context = open_told(&t, 0);
    ck_fails(
        groat_kernel_get(context, "adder", target, &kernel, NULL, &fix.error),
        GROAT_COMPILE_FAILED, &fix.error, "refused the source");
    ck_assert_uint_eq(t.count, 1);
    ck_assert_int_eq(t.status, GROAT_COMPILE_FAILED);
    ck_assert(t.failed);
    ck_assert(sample(context, "groat_compile_failures_total") == 1);
    ck_assert(sample(context, "groat_compiles_total") == 0);
    groat_close(context);
}
END_TEST

START_TEST(reasons_have_names)
{
    ck_assert_str_eq(groat_reason_name(GROAT_REASON_ABSENT), "absent");
    ck_assert_str_eq(groat_reason_name(GROAT_REASON_NO_STORE), "no store");
    ck_assert_str_eq(groat_reason_name(GROAT_REASON_REFUSED), "refused");
    ck_assert_str_eq(groat_reason_name(GROAT_REASON_ALONE), "alone");
    ck_assert_str_eq(groat_reason_name((groat_reason)99), "unknown");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("metrics");
    TCase *tests = tcase_create("metrics");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, counts_follow_the_path);
    tcase_add_test(tests, lookups_of_both_kinds);
    tcase_add_test(tests, verifying_is_timed_apart);
    tcase_add_test(tests, histograms_add_up);
    tcase_add_test(tests, samples_have_types);
    tcase_add_test(tests, the_same_as_json);
    tcase_add_test(tests, without_a_store);
    tcase_add_test(tests, each_compile_is_told);
    tcase_add_test(tests, failed_compiles_are_told);
    tcase_add_test(tests, reasons_have_names);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
