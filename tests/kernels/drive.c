/* SPDX-License-Identifier: Apache-2.0
 *
 * drive.c runs specs by the drivers of their families and compares their
 * outputs.  It is the only place of the tests that calls a driver's bind.
 */
#include "tests/kernels/drive.h"

#include <math.h>
#include <stdarg.h>

#include "cli/run/compare.h"

enum { UNWRITTEN = 0xA5 };

/* ---- contexts and specs ------------------------------------------------- */

groat_context *drive_context;

groat_context *drive_open_context(groat_trace_fn *trace, void *user)
{
    groat_options options = GROAT_OPTIONS_INIT;
    groat_error error = GROAT_ERROR_INIT;
    groat_context *context = NULL;

    options.flags = GROAT_OPEN_NO_DISK;
    options.trace = trace;
    options.trace_user = user;
    ck_assert_msg(groat_open(&options, &context, &error) == GROAT_OK, "%s",
                  error.text);
    return context;
}

void drive_setup(void)
{
    drive_context = drive_open_context(NULL, NULL);
}

void drive_teardown(void)
{
    groat_close(drive_context);
    drive_context = NULL;
}

uint64_t drive_number(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);

    return text == NULL || *text == '\0' ? otherwise : strtoull(text, NULL, 0);
}

int drive_main(Suite *suite)
{
    if (getenv("GROAT_TEST_TARGET") == NULL)
        (void)puts("SKIP: no device: GROAT_TEST_TARGET names none, the cpu "
                   "targets alone ran");
    (void)fflush(stdout);
    return run_suite(suite);
}

groat_spec *drive_spec(groat_context *context, const char *text,
                       const char *target)
{
    groat_error error = GROAT_ERROR_INIT;
    groat_spec *spec = NULL;

    if (groat_spec_parse(context, text, target, &spec, &error) != GROAT_OK)
        ck_abort_msg("%s on %s: %s", text, target, error.text);
    return spec;
}

bool drive_allows(groat_context *context, const char *text, const char *target)
{
    groat_spec *spec = NULL;
    bool allowed =
        groat_spec_parse(context, text, target, &spec, NULL) == GROAT_OK;

    groat_spec_free(spec);
    return allowed;
}

int64_t drive_value(groat_spec *spec, const char *name)
{
    int64_t value = 0;
    groat_error error = GROAT_ERROR_INIT;

    if (groat_spec_get(spec, name, &value, &error) != GROAT_OK)
        ck_abort_msg("%s", error.text);
    return value;
}

void drive_read(groat_spec *spec, const char *names, int64_t *values)
{
    while (*names != '\0') {
        size_t len = strcspn(names, " ");
        char name[64];

        (void)snprintf(name, sizeof(name), "%.*s", (int)len, names);
        *values++ = drive_value(spec, name);
        names += len + strspn(names + len, " ");
    }
}

/* ---- run-time arguments ------------------------------------------------- */

/* Returns the index of the argument with this name of `len` characters, or that
 * of the list's end. */
static size_t find_argument(const groat_driver *driver, const char *name,
                            size_t len)
{
    size_t i = 0;

    while (driver->args[i].name != NULL &&
           (strlen(driver->args[i].name) != len ||
            memcmp(driver->args[i].name, name, len) != 0))
        i++;
    return i;
}

static void set_value(const groat_driver *driver, int64_t *values,
                      const char *word)
{
    size_t len = strcspn(word, "= ");
    size_t i = find_argument(driver, word, len);
    char *end = NULL;

    if (driver->args[i].name != NULL && word[len] == '=')
        values[i] = strtoll(word + len + 1, &end, 10);
    if (end == NULL || end == word + len + 1 || (*end != ' ' && *end != '\0'))
        ck_abort_msg("%s takes no '%s'", driver->family, word);
}

void drive_values(const groat_driver *driver, int64_t values[GROAT_DRIVER_ARGS],
                  const char *said, ...)
{
    char text[400];
    va_list args;

    va_start(args, said);
    ck_assert_int_lt(vsnprintf(text, sizeof(text), said, args), 400);
    va_end(args);
    memset(values, 0, GROAT_DRIVER_ARGS * sizeof(values[0]));
    for (size_t i = 0; driver->args[i].name != NULL; i++)
        values[i] = driver->args[i].deflt;
    for (const char *word = text; *word != '\0'; word += strspn(word, " ")) {
        set_value(driver, values, word);
        word += strcspn(word, " ");
    }
}

void drive_ck_refused(groat_context *context, const groat_driver *driver,
                      const char *text, const int64_t *values,
                      const char *words)
{
    groat_spec *spec = drive_spec(context, text, "cpu:gfx950");
    groat_error error = GROAT_ERROR_INIT;
    groat_plan plan = {0};

    ck_assert_int_eq(driver->plan(spec, values, &plan, NULL), GROAT_INVALID);
    ck_assert_int_eq(driver->plan(spec, values, &plan, &error), GROAT_INVALID);
    ck_assert_msg(strstr(error.text, driver->family) == error.text, "%s",
                  error.text);
    ck_fails(error.status, GROAT_INVALID, &error, words);
    groat_spec_free(spec);
}

/* ---- launches ----------------------------------------------------------- */

static void *take(size_t bytes, int value)
{
    void *data = malloc(bytes + 1);

    if (data == NULL)
        ck_abort_msg("no %zu bytes", bytes);
    memset(data, value, bytes + 1);
    return data;
}

void drive_open(drive *d, groat_context *context, const groat_driver *driver,
                const char *spec, const char *target, const int64_t *values)
{
    groat_error error = GROAT_ERROR_INIT;

    memset(d, 0, sizeof(*d));
    d->context = context;
    d->driver = driver;
    d->spec = drive_spec(context, spec, target);
    if (driver->plan(d->spec, values, &d->plan, &error) != GROAT_OK)
        ck_abort_msg("%s on %s: %s", spec, target, error.text);
    for (size_t i = 0; i < d->plan.buffer_count; i++)
        d->host[i] = take(d->plan.buffers[i].bytes, 0);
    while (d->output < d->plan.buffer_count &&
           !d->plan.buffers[d->output].output)
        d->output++;
    ck_assert_uint_lt(d->output, d->plan.buffer_count);
}

void drive_close(drive *d)
{
    for (size_t i = 0; i < d->plan.buffer_count; i++) {
        free(d->host[i]);
        free(d->want[i]);
        free(d->allowed[i]);
    }
    groat_spec_free(d->spec);
}

int64_t drive_argument(const drive *d, const char *name)
{
    size_t i = find_argument(d->driver, name, strlen(name));

    ck_assert_msg(d->driver->args[i].name != NULL, "no argument %s", name);
    return d->plan.values[i];
}

void drive_fill(drive *d, uint64_t seed)
{
    d->seed = seed;
    for (size_t i = 0; i < d->plan.buffer_count; i++)
        if (!d->plan.buffers[i].output)
            d->driver->fill(d->spec, &d->plan, i, seed, d->host[i]);
}

groat_kernel *drive_kernel(const drive *d)
{
    groat_error error = GROAT_ERROR_INIT;
    groat_kernel *kernel = NULL;

    if (groat_kernel_get_spec(d->spec, NULL, &kernel, NULL, &error) != GROAT_OK)
        ck_abort_msg("%s on %s: %s\n%s", groat_spec_text(d->spec),
                     groat_spec_target(d->spec), error.text,
                     error.log == NULL ? "" : error.log);
    return kernel;
}

void drive_place(drive *d)
{
    const char *target = groat_spec_target(d->spec);
    groat_error error = GROAT_ERROR_INIT;

    for (size_t i = 0; i < d->plan.buffer_count; i++) {
        size_t bytes = d->plan.buffers[i].bytes;

        if (d->plan.buffers[i].output && d->plan.buffers[i].filled)
            d->driver->fill(d->spec, &d->plan, i, d->seed, d->host[i]);
        else if (d->plan.buffers[i].output)
            memset(d->host[i], UNWRITTEN, bytes);
        if (groat_memory_alloc(d->context, target, bytes, &d->address[i],
                               &error) != GROAT_OK ||
            groat_memory_write(d->context, target, d->address[i], d->host[i],
                               bytes, &error) != GROAT_OK)
            ck_abort_msg("%s: %s", target, error.text);
    }
    if (d->driver->bind(d->context, d->spec, &d->plan, d->address, &error) !=
        GROAT_OK)
        ck_abort_msg("%s: %s", target, error.text);
}

groat_status drive_go(drive *d, groat_kernel *kernel, groat_error *error)
{
    const char *target = groat_spec_target(d->spec);
    groat_launch how = GROAT_LAUNCH_INIT;
    groat_status status;

    memcpy(how.grid, d->plan.grid, sizeof(how.grid));
    status = groat_kernel_launch(kernel, &how, d->plan.args, d->plan.args_bytes,
                                 error);
    for (size_t i = 0; i < d->plan.buffer_count; i++)
        if (d->plan.buffers[i].output && status == GROAT_OK)
            status =
                groat_memory_read(d->context, target, d->host[i], d->address[i],
                                  d->plan.buffers[i].bytes, error);
    for (size_t i = 0; i < d->plan.buffer_count; i++)
        groat_memory_free(d->context, target, d->address[i]);
    return status;
}

groat_status drive_launch(drive *d, groat_kernel *kernel, groat_error *error)
{
    drive_place(d);
    return drive_go(d, kernel, error);
}

void drive_run(drive *d)
{
    groat_kernel *kernel = drive_kernel(d);
    groat_error error = GROAT_ERROR_INIT;

    if (drive_launch(d, kernel, &error) != GROAT_OK)
        ck_abort_msg("%s on %s: %s", groat_spec_text(d->spec),
                     groat_spec_target(d->spec), error.text);
    groat_kernel_release(kernel);
}

/* ---- expected outputs -------------------------------------------------- */

static void expect_one(drive *d, const void *const *inputs, size_t index)
{
    size_t bytes = d->plan.buffers[index].bytes;
    groat_error error = GROAT_ERROR_INIT;

    d->want[index] = take(bytes, UNWRITTEN);
    d->allowed[index] = take(bytes, 0);
    if (d->driver->expect(d->spec, &d->plan, inputs, index, d->want[index],
                          &error) != GROAT_OK)
        ck_abort_msg("%s: %s", groat_spec_text(d->spec), error.text);
    if (d->driver->bound != NULL &&
        d->driver->bound(d->spec, &d->plan, inputs, index, d->allowed[index]))
        return;
    free(d->allowed[index]);
    d->allowed[index] = NULL;
}

void drive_expect(drive *d)
{
    const void *inputs[GROAT_PLAN_BUFFERS] = {NULL};
    void *filled[GROAT_PLAN_BUFFERS] = {NULL};

    for (size_t i = 0; i < d->plan.buffer_count; i++) {
        const groat_buffer *buffer = &d->plan.buffers[i];

        inputs[i] = buffer->output ? NULL : d->host[i];
        if (!buffer->output || !buffer->filled)
            continue;
        /* The contents before the launch: the host's copy is overwritten. */
        inputs[i] = filled[i] = take(buffer->bytes, 0);
        d->driver->fill(d->spec, &d->plan, i, d->seed, filled[i]);
    }
    for (size_t i = 0; i < d->plan.buffer_count; i++)
        if (d->plan.buffers[i].output && d->want[i] == NULL)
            expect_one(d, inputs, i);
    for (size_t i = 0; i < d->plan.buffer_count; i++)
        free(filled[i]);
}

static size_t first_difference(const void *got, const void *want, size_t bytes)
{
    const unsigned char *a = got;
    const unsigned char *b = want;
    size_t i = 0;

    if (memcmp(got, want, bytes) == 0)
        return SIZE_MAX;
    while (a[i] == b[i])
        i++;
    return i;
}

size_t drive_wrong(drive *d, size_t index)
{
    const groat_buffer *buffer = &d->plan.buffers[index];
    size_t bytes = buffer->bytes;
    const float *got = d->host[index];
    const float *want;

    drive_expect(d);
    want = d->want[index];
    if (buffer->tolerance == GROAT_TOLERANCE_NONE)
        return SIZE_MAX;
    if (buffer->element != NULL) {
        groat__comparison sum = {0};

        groat__compare(&sum, buffer, NULL, want, got);
        return sum.mismatches > 0 ? (size_t)sum.first_offset : SIZE_MAX;
    }
    if (d->allowed[index] == NULL)
        return first_difference(got, want, bytes);
    /* The condition makes a NaN wrong. */
    for (size_t i = 0; i < bytes / sizeof(float); i++)
        if (!(fabsf(got[i] - want[i]) <= d->allowed[index][i]))
            return i * sizeof(float);
    return SIZE_MAX;
}

/* Fails with the launch's arguments and the first differing byte. */
static void fail_at(const drive *d, const char *what, const void *got,
                    const void *want, size_t at, size_t bytes)
{
    (void)printf("arguments:");
    for (size_t k = 0; d->driver->args[k].name != NULL; k++)
        (void)printf(" %s=%lld", d->driver->args[k].name,
                     (long long)d->plan.values[k]);
    (void)printf("\n");
    (void)fflush(stdout);
    ck_abort_msg("%s of %s on %s: byte %zu of %zu is 0x%02x, not 0x%02x", what,
                 groat_spec_text(d->spec), groat_spec_target(d->spec), at,
                 bytes, ((const unsigned char *)got)[at],
                 ((const unsigned char *)want)[at]);
}

void drive_ck_right(drive *d)
{
    for (size_t i = 0; i < d->plan.buffer_count; i++) {
        const groat_buffer *buffer = &d->plan.buffers[i];
        size_t at = buffer->output ? drive_wrong(d, i) : SIZE_MAX;

        if (at != SIZE_MAX)
            fail_at(d, buffer->name, d->host[i], d->want[i], at, buffer->bytes);
    }
}

void drive_ck_same(const drive *d, const char *what, const void *got,
                   const void *want, size_t bytes)
{
    size_t at = first_difference(got, want, bytes);

    if (at != SIZE_MAX)
        fail_at(d, what, got, want, at, bytes);
}
