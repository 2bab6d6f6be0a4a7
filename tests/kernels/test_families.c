/* SPDX-License-Identifier: Apache-2.0
 *
 * test_families.c runs every family that has a driver over its params.def:
 * each value of each parameter in some spec, and random legal specs, each with
 * the driver's own run-time arguments and with random ones; outputs must be
 * those that the driver expects.  A family's own test checks the driver itself
 * against another oracle and known images.
 *
 * Runs on cpu targets, and on the device of GROAT_TEST_TARGET when that is
 * set.  GROAT_TEST_VALUES is how many values of a range are tested at most, 8
 * or as said, GROAT_TEST_SPECS the number of random specs, GROAT_TEST_SEED
 * their seed, GROAT_TEST_FAMILY the only family to test; CK_RUN_CASE=random
 * leaves the other specs out, and random_on_device runs those of the device
 * alone.
 */
#include "cli/tool/cmd.h"
#include "tests/kernels/drive.h"
#include "tests/kernels/grid.h"

enum {
    TARGETS = 2 * 32,
    /* Limits for a spec on the judge. */
    BYTES_MAX = 8 << 20,
    THREADS_MAX = 40000
};

static uint64_t seed(void)
{
    return drive_number("GROAT_TEST_SEED", 20260000);
}

/* ---- run-time arguments -------------------------------------------------- */

static size_t arg_count(const groat_driver *driver)
{
    size_t count = 0;

    while (driver->args[count].name != NULL)
        count++;
    return count;
}

static bool is_cheap(groat_spec *spec, const groat_plan *plan)
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

static bool plan_like(const groat_driver *driver, groat_spec *spec,
                      const int64_t *values, groat_plan *plan)
{
    groat_error error = GROAT_ERROR_INIT;
    bool planned;

    memset(plan, 0, sizeof(*plan));
    planned = driver->plan(spec, values, plan, &error) == GROAT_OK;
    groat_error_clear(&error);
    return planned;
}

/* Plans the driver's own arguments, or one tile if they are too much work. */
static bool plan_default(const groat_driver *driver, groat_spec *spec,
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

/* Draws one or two arguments from their minimum to a little over the driver's
 * choice; false when the driver refuses them or they are too much work. */
static bool values_random(const groat_driver *driver, groat_spec *spec,
                          const groat_plan *base, uint64_t *random,
                          int64_t *values)
{
    size_t count = arg_count(driver);
    groat_plan plan;

    memcpy(values, base->values, sizeof(base->values));
    for (int n = 0; n < 2 && count > 0; n++) {
        size_t i = (size_t)(next_random(random) % count);
        const groat_driver_arg *arg = &driver->args[i];
        int64_t most = base->values[i] + 2;

        most = most > arg->max ? arg->max : most;
        if (most >= arg->min)
            values[i] = arg->min + (int64_t)(next_random(random) %
                                             (uint64_t)(most - arg->min + 1));
    }
    return plan_like(driver, spec, values, &plan) && is_cheap(spec, &plan);
}

static const groat_driver *driver_of(groat_spec *spec)
{
    return groat_driver_find(groat_spec_family(spec));
}

/* Returns the same spec on the cpu target of its arch, where a driver's own
 * arguments are small.  Free it. */
static groat_spec *cpu_twin(groat_spec *spec)
{
    char target[64];

    (void)snprintf(target, sizeof(target), "cpu%s",
                   strchr(groat_spec_target(spec), ':'));
    return drive_spec(drive_context, groat_spec_text(spec), target);
}

static bool fits(groat_spec *spec)
{
    groat_plan plan;
    int64_t reader = 0;
    int64_t writer = 0;
    groat_spec *twin;
    bool fit;

    /* A reader of another layout than the writer's reads other data on purpose:
     * the family's own test checks which. */
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

/* ---- launches ------------------------------------------------------------ */

/* `groat run` prints a compiler's warnings: the tree's sources have none. */
static void ck_no_warning(const drive *d)
{
    groat_kernel_info info = {.size = sizeof(info)};
    groat_kernel *kernel = drive_kernel(d);

    ck_assert_int_eq(groat_kernel_info_get(kernel, &info, NULL), GROAT_OK);
    ck_assert_msg(strstr(info.log, "warning") == NULL, "%s on %s: %.999s",
                  groat_spec_text(d->spec), groat_spec_target(d->spec),
                  info.log);
    groat_kernel_release(kernel);
}

static void run_once(const groat_driver *driver, groat_spec *spec,
                     const int64_t *values, uint64_t number)
{
    drive d;

    drive_open(&d, drive_context, driver, groat_spec_text(spec),
               groat_spec_target(spec), values);
    drive_fill(&d, number);
    drive_run(&d);
    drive_ck_right(&d);
    ck_no_warning(&d);
    drive_close(&d);
}

/* State of the random arguments, and the number of draws per spec. */
typedef struct draws {
    uint64_t random;
    int more;
} draws;

/* Runs the driver's own arguments and `more` random ones. */
static size_t check_spec(groat_spec *spec, void *user)
{
    draws *from = user;
    const groat_driver *driver = driver_of(spec);
    groat_spec *small = cpu_twin(spec);
    groat_plan base;
    size_t launches = 1;

    ck_assert(plan_default(driver, small, &base));
    run_once(driver, spec, base.values, next_random(&from->random));
    for (int n = 0; n < from->more; n++) {
        int64_t values[GROAT_DRIVER_ARGS];

        if (!values_random(driver, spec, &base, &from->random, values))
            continue;
        run_once(driver, spec, values, next_random(&from->random));
        launches++;
    }
    groat_spec_free(small);
    return launches;
}

/* ---- specs of params.def ------------------------------------------------ */

static void open_grid(grid *g, const groat_driver *driver)
{
    grid_open_some(g, drive_context, driver->family, seed(),
                   (long long)drive_number("GROAT_TEST_VALUES", 8));
    g->fits = fits;
}

static bool is_wanted(const groat_driver *driver)
{
    const char *only = getenv("GROAT_TEST_FAMILY");

    return only == NULL || strcmp(only, driver->family) == 0;
}

/* Runs every value of every parameter, on the targets in turn. */
static void check_values(const groat_driver *driver, const char *const *targets,
                         size_t count)
{
    draws from = {seed(), 1};
    size_t values = 0;
    size_t missing;
    grid g;

    open_grid(&g, driver);
    (void)grid_run_values(&g, targets, count, check_spec, &from);
    missing = grid_report(&g);
    for (size_t i = 0; i < g.count; i++)
        values += g.param[i].count;
    /* Values for which the search found no legal spec are printed; they may be
     * at most a fifth: the ends of long ranges. */
    ck_assert_uint_le(5 * missing, values);
    grid_close(&g);
}

/* Lists the targets on which the family's defaults are legal, one for each kind
 * of arch: their sources differ. */
static size_t cpu_targets(const groat_driver *driver, char text[TARGETS][48],
                          const char **targets)
{
    static const char *const archs[] = {"gfx950", "gfx942", "sm_90a", "gfx90a"};
    size_t count = 0;

    for (size_t i = 0; i < COUNT(archs); i++) {
        groat_spec *spec = NULL;

        (void)snprintf(text[count], sizeof(text[count]), "cpu:%s", archs[i]);
        targets[count] = text[count];
        if (groat_spec_parse(drive_context, driver->family, targets[count],
                             &spec, NULL) == GROAT_OK)
            count++;
        groat_spec_free(spec);
    }
    ck_assert_uint_gt(count, 0);
    return count;
}

START_TEST(every_value_on_cpu)
{
    const groat_driver *driver = groat_drivers[_i];
    char text[TARGETS][48];
    const char *targets[TARGETS];

    if (is_wanted(driver))
        check_values(driver, targets, cpu_targets(driver, text, targets));
}
END_TEST

START_TEST(every_value_on_device)
{
    const groat_driver *driver = groat_drivers[_i];
    const char *target = getenv("GROAT_TEST_TARGET");
    draws from = {seed(), 3};
    grid g;

    ck_assert_ptr_nonnull(target); /* not added without it */
    if (!is_wanted(driver))
        return;
    /* Values that only other archs allow are reported, not failed. */
    open_grid(&g, driver);
    ck_assert_uint_gt(grid_run_values(&g, &target, 1, check_spec, &from), 0);
    (void)grid_report(&g);
    grid_close(&g);
}
END_TEST

static void check_random(const groat_driver *driver, const char *const *targets,
                         size_t count)
{
    draws from = {seed() + 1, 2};
    grid g;

    open_grid(&g, driver);
    grid_run_random(&g, targets, count, drive_number("GROAT_TEST_SPECS", 2),
                    check_spec, &from);
    grid_close(&g);
}

START_TEST(random_specs)
{
    const groat_driver *driver = groat_drivers[_i];
    char text[TARGETS][48];
    const char *targets[TARGETS];
    size_t count;

    if (!is_wanted(driver))
        return;
    count = cpu_targets(driver, text, targets);
    check_random(driver, targets, count);
}
END_TEST

START_TEST(random_specs_on_device)
{
    const groat_driver *driver = groat_drivers[_i];
    const char *target = getenv("GROAT_TEST_TARGET");

    ck_assert_ptr_nonnull(target); /* not added without it */
    if (is_wanted(driver))
        check_random(driver, &target, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("families");
    TCase *tests = tcase_create("families");
    TCase *drawn = tcase_create("random");
    TCase *there = tcase_create("random_on_device");
    int families = 0;

    while (groat_drivers[families] != NULL)
        families++;
    tcase_set_timeout(tests, 900);
    tcase_set_timeout(drawn,
                      900 + 2 * (double)drive_number("GROAT_TEST_SPECS", 0));
    tcase_set_timeout(there,
                      900 + 2 * (double)drive_number("GROAT_TEST_SPECS", 0));
    tcase_add_checked_fixture(tests, drive_setup, drive_teardown);
    tcase_add_checked_fixture(drawn, drive_setup, drive_teardown);
    tcase_add_checked_fixture(there, drive_setup, drive_teardown);
    tcase_add_loop_test(tests, every_value_on_cpu, 0, families);
    tcase_add_loop_test(drawn, random_specs, 0, families);
    if (getenv("GROAT_TEST_TARGET") != NULL) {
        tcase_add_loop_test(tests, every_value_on_device, 0, families);
        tcase_add_loop_test(there, random_specs_on_device, 0, families);
    }
    (void)printf("GROAT_TEST_SEED=%llu\n", (unsigned long long)seed());
    (void)fflush(stdout);
    suite_add_tcase(suite, tests);
    suite_add_tcase(suite, drawn);
    suite_add_tcase(suite, there);
    return drive_main(suite);
}
