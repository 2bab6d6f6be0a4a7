/* SPDX-License-Identifier: Apache-2.0
 *
 * test_families.c runs every family that has a driver over its params.def:
 * each value of each parameter in some spec, and random legal specs, each with
 * the driver's own run-time arguments and with random ones, every output
 * compared with what the driver expects.  A family's own test holds the driver
 * itself against another oracle and known images.
 *
 * cpu targets always; the device of GROAT_TEST_TARGET too when that is set.
 * GROAT_TEST_SPECS says how many random specs, GROAT_TEST_SEED how they are
 * drawn, GROAT_TEST_FAMILY which family alone.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/driver.h"
#include "groat.h"
#include "tests/kernels/grid.h"

enum {
    POISON = 0xA5,
    TARGETS = 2 * 32,
    FAMILIES = 32,
    /* What a spec may cost on the judge. */
    BYTES_MAX = 8 << 20,
    THREADS_MAX = 40000
};

static groat_context *context;

static void open_context(void)
{
    groat_options options = GROAT_OPTIONS_INIT;
    groat_error error = GROAT_ERROR_INIT;

    options.flags = GROAT_OPEN_NO_DISK;
    ck_assert_msg(groat_open(&options, &context, &error) == GROAT_OK, "%s",
                  error.text);
}

static void close_context(void)
{
    groat_close(context);
    context = NULL;
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text == NULL || *text == '\0' ? otherwise : strtoull(text, NULL, 0);
}

static uint64_t seed(void)
{
    return number_of("GROAT_TEST_SEED", 20260000);
}

/* ---- run-time arguments -------------------------------------------------- */

static size_t arg_count(const groat_driver *driver)
{
    size_t count = 0;

    while (driver->args[count].name != NULL)
        count++;
    return count;
}

static bool is_cheap(const groat_spec *spec, const groat_plan *plan)
{
    size_t bytes = 0;
    int64_t warps = 16;

    (void)groat_spec_get(spec, "num_warps", &warps, NULL);
    for (size_t i = 0; i < plan->buffer_count; i++)
        bytes += plan->buffers[i].bytes;
    return bytes <= BYTES_MAX && (int64_t)plan->grid[0] * plan->grid[1] *
                                         plan->grid[2] * warps * 64 <=
                                     THREADS_MAX;
}

static bool plan_like(const groat_driver *driver, const groat_spec *spec,
                      const int64_t *values, groat_plan *plan)
{
    groat_error error = GROAT_ERROR_INIT;
    bool planned;

    memset(plan, 0, sizeof(*plan));
    planned = driver->plan(spec, values, plan, &error) == GROAT_OK;
    groat_error_clear(&error);
    return planned;
}

/* The driver's own arguments, or one tile where those are much work. */
static bool plan_default(const groat_driver *driver, const groat_spec *spec,
                         groat_plan *plan)
{
    int64_t values[GROAT_DRIVER_ARGS] = {0};

    for (size_t i = 0; i < arg_count(driver); i++)
        values[i] = driver->args[i].deflt;
    if (plan_like(driver, spec, values, plan) && is_cheap(spec, plan))
        return true;
    for (size_t i = 0; i < arg_count(driver); i++)
        if (strstr(driver->args[i].name, "_tiles") != NULL)
            values[i] = 1;
    if (plan_like(driver, spec, values, plan) && is_cheap(spec, plan))
        return true;
    for (size_t i = 0; i < arg_count(driver); i++)
        if (strcmp(driver->args[i].name, "valid_rows") == 0)
            values[i] = 9;
    return plan_like(driver, spec, values, plan);
}

/* One or two arguments somewhere between their least and a little more than the
 * driver's choice; false when the driver refuses them. */
static bool plan_random(const groat_driver *driver, const groat_spec *spec,
                        const groat_plan *base, uint64_t *random,
                        groat_plan *plan)
{
    int64_t values[GROAT_DRIVER_ARGS];
    size_t count = arg_count(driver);

    memcpy(values, base->values, sizeof(values));
    for (int n = 0; n < 2 && count > 0; n++) {
        size_t i = (size_t)(next_random(random) % count);
        const groat_driver_arg *arg = &driver->args[i];
        int64_t most = base->values[i] + 2;

        most = most > arg->max ? arg->max : most;
        if (most >= arg->min)
            values[i] = arg->min + (int64_t)(next_random(random) %
                                             (uint64_t)(most - arg->min + 1));
    }
    return plan_like(driver, spec, values, plan);
}

static const groat_driver *driver_of(const groat_spec *spec)
{
    char name[128] = "";
    size_t len = strcspn(groat_spec_text(spec), ":");

    ck_assert_uint_lt(len, sizeof(name));
    memcpy(name, groat_spec_text(spec), len);
    return groat_driver_find(name);
}

/* The same spec on the cpu target of its arch: a driver's own arguments are
 * small there.  Free it. */
static groat_spec *cpu_twin(const groat_spec *spec)
{
    const char *on = groat_spec_target(spec);
    groat_error error = GROAT_ERROR_INIT;
    groat_spec *twin = NULL;
    char target[64];

    (void)snprintf(target, sizeof(target), "cpu%s", strchr(on, ':'));
    ck_assert_msg(groat_spec_parse(context, groat_spec_text(spec), target,
                                   &twin, &error) == GROAT_OK,
                  "%s", error.text);
    return twin;
}

static bool fits(const groat_spec *spec)
{
    groat_plan plan;
    int64_t reader = 0;
    int64_t writer = 0;
    groat_spec *twin;
    bool fit;

    /* A reader of another layout than the writer's reads rubbish, by intent:
     * the family's own test says which. */
    if (groat_spec_get(spec, "reader", &reader, NULL) == GROAT_OK &&
        (groat_spec_get(spec, "placement", &writer, NULL) == GROAT_OK ||
         groat_spec_get(spec, "swizzle", &writer, NULL) == GROAT_OK) &&
        reader != writer)
        return false;
    twin = cpu_twin(spec);
    fit = plan_default(driver_of(twin), twin, &plan) && is_cheap(twin, &plan);
    groat_spec_free(twin);
    return fit;
}

/* ---- one launch ---------------------------------------------------------- */

typedef struct stage {
    const groat_driver *driver;
    groat_spec *spec;
    groat_kernel *kernel;
    const char *target;
    groat_plan plan;
    void *host[GROAT_PLAN_BUFFERS];
    uint64_t address[GROAT_PLAN_BUFFERS];
} stage;

static void place(stage *s, uint64_t number)
{
    groat_error error = GROAT_ERROR_INIT;

    for (size_t i = 0; i < s->plan.buffer_count; i++) {
        const groat_buffer *buffer = &s->plan.buffers[i];

        s->host[i] = malloc(buffer->bytes + 1);
        ck_assert_ptr_nonnull(s->host[i]);
        memset(s->host[i], POISON, buffer->bytes);
        if (!buffer->output)
            s->driver->fill(s->spec, &s->plan, i, number, s->host[i]);
        ck_assert_int_eq(groat_memory_alloc(context, s->target, buffer->bytes,
                                            &s->address[i], &error),
                         GROAT_OK);
        ck_assert_int_eq(groat_memory_write(context, s->target, s->address[i],
                                            s->host[i], buffer->bytes, &error),
                         GROAT_OK);
    }
    ck_assert_msg(s->driver->bind(context, s->spec, &s->plan, s->address,
                                  &error) == GROAT_OK,
                  "%s", error.text);
}

static void compare(const stage *s, size_t index, const void *want,
                    const void *got, const float *allowed)
{
    const groat_buffer *buffer = &s->plan.buffers[index];
    const unsigned char *a = want;
    const unsigned char *b = got;
    size_t unit = allowed == NULL ? 1 : sizeof(float);

    for (size_t i = 0; i < buffer->bytes / unit; i++) {
        bool same = allowed == NULL
                        ? a[i] == b[i]
                        : fabsf(((const float *)want)[i] -
                                ((const float *)got)[i]) <= allowed[i];

        if (same)
            continue;
        (void)printf("arguments:");
        for (size_t k = 0; k < arg_count(s->driver); k++)
            (void)printf(" %s=%lld", s->driver->args[k].name,
                         (long long)s->plan.values[k]);
        (void)printf("\n");
        (void)fflush(stdout);
        ck_abort_msg("%s on %s: %s differs at byte %zu of %zu",
                     groat_spec_text(s->spec), s->target, buffer->name,
                     i * unit, buffer->bytes);
    }
}

static void check_output(const stage *s, size_t index)
{
    size_t bytes = s->plan.buffers[index].bytes;
    const void *inputs[GROAT_PLAN_BUFFERS] = {NULL};
    groat_error error = GROAT_ERROR_INIT;
    void *want = malloc(bytes + 1);
    void *got = malloc(bytes + 1);
    float *allowed = malloc(bytes + 1);
    bool bounded;

    ck_assert(want != NULL && got != NULL && allowed != NULL);
    for (size_t i = 0; i < s->plan.buffer_count; i++)
        inputs[i] = s->plan.buffers[i].output ? NULL : s->host[i];
    memset(want, POISON, bytes);
    ck_assert_int_eq(groat_memory_read(context, s->target, got,
                                       s->address[index], bytes, &error),
                     GROAT_OK);
    ck_assert_int_eq(
        s->driver->expect(s->spec, &s->plan, inputs, index, want, &error),
        GROAT_OK);
    bounded = s->driver->bound != NULL &&
              s->driver->bound(s->spec, &s->plan, inputs, index, allowed);
    compare(s, index, want, got, bounded ? allowed : NULL);
    free(allowed);
    free(got);
    free(want);
}

static void run_once(stage *s, uint64_t number)
{
    groat_launch how = GROAT_LAUNCH_INIT;
    groat_error error = GROAT_ERROR_INIT;

    place(s, number);
    memcpy(how.grid, s->plan.grid, sizeof(how.grid));
    ck_assert_msg(groat_kernel_launch(s->kernel, &how, s->plan.args,
                                      s->plan.args_bytes, &error) == GROAT_OK,
                  "%s on %s: %s", groat_spec_text(s->spec), s->target,
                  error.text);
    for (size_t i = 0; i < s->plan.buffer_count; i++)
        if (s->plan.buffers[i].output)
            check_output(s, i);
    for (size_t i = 0; i < s->plan.buffer_count; i++) {
        groat_memory_free(context, s->target, s->address[i]);
        free(s->host[i]);
    }
    groat_error_clear(&error);
}

/* The driver's own arguments, and `more` random ones; launches made. */
static size_t check_spec(groat_spec *spec, uint64_t *random, size_t more)
{
    groat_error error = GROAT_ERROR_INIT;
    stage s = {.spec = spec, .target = groat_spec_target(spec)};
    groat_spec *small = cpu_twin(spec);
    groat_plan base;
    size_t launches = 1;

    s.driver = driver_of(spec);
    ck_assert_msg(groat_kernel_get_spec(spec, &s.kernel, NULL, &error) ==
                      GROAT_OK,
                  "%s on %s: %s\n%s", groat_spec_text(spec), s.target,
                  error.text, error.log == NULL ? "" : error.log);
    ck_assert(plan_default(s.driver, small, &base));
    ck_assert(plan_like(s.driver, spec, base.values, &s.plan));
    run_once(&s, next_random(random));
    for (size_t n = 0; n < more; n++)
        if (plan_random(s.driver, spec, &base, random, &s.plan) &&
            is_cheap(spec, &s.plan)) {
            run_once(&s, next_random(random));
            launches++;
        }
    groat_spec_free(small);
    groat_kernel_release(s.kernel);
    groat_error_clear(&error);
    return launches;
}

/* ---- specs of params.def ------------------------------------------------ */

static void open_grid(grid *g, const groat_driver *driver)
{
    grid_open(g, context, driver->family, seed());
    g->fits = fits;
}

static bool is_wanted(const groat_driver *driver)
{
    const char *only = getenv("GROAT_TEST_FAMILY");

    return only == NULL || strcmp(only, driver->family) == 0;
}

/* Every value of every parameter, on the targets in turn. */
static void check_values(const groat_driver *driver, const char *const *targets,
                         size_t count)
{
    uint64_t random = seed();
    size_t launches = 0;
    size_t values = 0;
    size_t missing;
    groat_spec *spec;
    grid g;

    open_grid(&g, driver);
    while ((spec = grid_next(&g, targets, count)) != NULL) {
        launches += check_spec(spec, &random, 1);
        grid_ran(&g, spec);
        groat_spec_free(spec);
    }
    (void)printf("%zu launches\n", launches);
    missing = grid_report(&g);
    for (size_t i = 0; i < g.count; i++)
        values += g.param[i].count;
    /* What the search did not find a legal spec for is printed; it may not be
     * more than a few of the ends of long ranges. */
    ck_assert_uint_le(5 * missing, values);
    grid_close(&g);
}

/* Whether the family builds for a target at all. */
static bool is_for(const groat_driver *driver, const char *target)
{
    groat_error error = GROAT_ERROR_INIT;
    groat_spec *spec = NULL;
    bool can = groat_spec_parse(context, driver->family, target, &spec,
                                &error) == GROAT_OK;

    groat_spec_free(spec);
    groat_error_clear(&error);
    return can;
}

/* One of each kind of arch: their sources differ. */
static size_t cpu_targets(const groat_driver *driver, char text[TARGETS][48],
                          const char **targets)
{
    static const char *const archs[] = {"gfx950", "gfx942", "sm_90a", "gfx90a"};
    size_t count = 0;

    for (size_t i = 0; i < 4; i++) {
        (void)snprintf(text[count], sizeof(text[count]), "cpu:%s", archs[i]);
        targets[count] = text[count];
        count += is_for(driver, text[count]);
    }
    ck_assert_uint_gt(count, 0);
    return count;
}

START_TEST(every_value_on_cpu)
{
    const groat_driver *driver = groat__driver_at((size_t)_i);
    char text[TARGETS][48];
    const char *targets[TARGETS];

    if (is_wanted(driver))
        check_values(driver, targets, cpu_targets(driver, text, targets));
}
END_TEST

START_TEST(every_value_on_device)
{
    const groat_driver *driver = groat__driver_at((size_t)_i);
    const char *target = getenv("GROAT_TEST_TARGET");
    uint64_t random = seed();
    size_t launches = 0;
    groat_spec *spec;
    grid g;

    ck_assert_ptr_nonnull(target); /* left out without */
    if (!is_wanted(driver))
        return;
    /* Values that only other archs allow are reported and left. */
    open_grid(&g, driver);
    while ((spec = grid_next(&g, &target, 1)) != NULL) {
        launches += check_spec(spec, &random, 3);
        grid_ran(&g, spec);
        groat_spec_free(spec);
    }
    (void)printf("%zu launches on %s\n", launches, target);
    (void)grid_report(&g);
    ck_assert_uint_gt(launches, 0);
    grid_close(&g);
}
END_TEST

START_TEST(random_specs)
{
    const groat_driver *driver = groat__driver_at((size_t)_i);
    char text[TARGETS][48];
    const char *targets[TARGETS];
    size_t count = cpu_targets(driver, text, targets);
    uint64_t specs = number_of("GROAT_TEST_SPECS", 4);
    uint64_t random = seed() + 1;
    size_t rejected = 0;
    size_t launches = 0;
    grid g;

    if (!is_wanted(driver))
        return;
    open_grid(&g, driver);
    for (uint64_t n = 0; n < specs; n++) {
        groat_spec *spec =
            grid_random(&g, targets[grid_pick(&g, count)], &rejected);

        launches += check_spec(spec, &random, 2);
        groat_spec_free(spec);
    }
    (void)printf("%s: %llu random specs, %zu launches, %zu draws rejected\n",
                 driver->family, (unsigned long long)specs, launches, rejected);
    (void)fflush(stdout);
    grid_close(&g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("families");
    TCase *tests = tcase_create("families");
    int families = 0;

    while (groat__driver_at((size_t)families) != NULL)
        families++;
    tcase_set_timeout(tests,
                      900 + 2 * (double)number_of("GROAT_TEST_SPECS", 0));
    tcase_add_checked_fixture(tests, open_context, close_context);
    tcase_add_loop_test(tests, every_value_on_cpu, 0, families);
    tcase_add_loop_test(tests, random_specs, 0, families);
    if (getenv("GROAT_TEST_TARGET") != NULL)
        tcase_add_loop_test(tests, every_value_on_device, 0, families);
    else
        (void)puts("SKIP: no device: GROAT_TEST_TARGET names none, the cpu "
                   "targets alone ran");
    (void)printf("GROAT_TEST_SEED=%llu\n", (unsigned long long)seed());
    (void)fflush(stdout);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
