/* SPDX-License-Identifier: Apache-2.0
 *
 * drive.c runs a spec by its family's driver, for tests that look at the
 * outcome themselves.
 */
#include "tests/kernels/drive.h"

void drive_defaults(const groat_driver *driver, int64_t *values)
{
    for (size_t i = 0; driver->args[i].name != NULL; i++)
        values[i] = driver->args[i].deflt;
}

size_t drive_argument(const groat_driver *driver, const char *name)
{
    size_t i = 0;

    while (driver->args[i].name != NULL &&
           strcmp(driver->args[i].name, name) != 0)
        i++;
    ck_assert_msg(driver->args[i].name != NULL, "no argument %s", name);
    return i;
}

void drive_set(const groat_driver *driver, const char *text, int64_t *values)
{
    while (*text != '\0') {
        size_t len = strcspn(text, "=");
        char name[64];
        char *end;

        ck_assert(len < sizeof(name) && text[len] == '=');
        memcpy(name, text, len);
        name[len] = '\0';
        values[drive_argument(driver, name)] =
            strtoll(text + len + 1, &end, 10);
        text = *end == ' ' ? end + 1 : end;
    }
}

uint64_t drive_upload(groat_context *context, const char *target,
                      const void *data, size_t bytes)
{
    uint64_t address = 0;
    groat_error error = GROAT_ERROR_INIT;

    ck_assert_msg(groat_memory_alloc(context, target, bytes, &address,
                                     &error) == GROAT_OK,
                  "%s", error.text);
    ck_assert_msg(groat_memory_write(context, target, address, data, bytes,
                                     &error) == GROAT_OK,
                  "%s", error.text);
    return address;
}

groat_status drive_launch(groat_context *context, const char *spec,
                          const char *target, const unsigned grid[3],
                          const void *args, size_t args_bytes,
                          groat_error *error)
{
    groat_launch how = GROAT_LAUNCH_INIT;
    groat_kernel *kernel = NULL;
    groat_status status;

    memcpy(how.grid, grid, sizeof(how.grid));
    ck_assert_msg(groat_kernel_get(context, spec, target, &kernel, NULL,
                                   error) == GROAT_OK,
                  "%s on %s: %s %s", spec, target, error->text,
                  error->log == NULL ? "" : error->log);
    status = groat_kernel_launch(kernel, &how, args, args_bytes, error);
    groat_kernel_release(kernel);
    return status;
}

static const void *const *inputs_of(const driven *d, const void **inputs)
{
    for (size_t i = 0; i < d->plan.buffer_count; i++)
        inputs[i] = d->plan.buffers[i].output ? NULL : d->buffers[i];
    return inputs;
}

static void expect(const groat_driver *driver, driven *d)
{
    size_t last = d->plan.buffer_count - 1;
    const void *inputs[GROAT_PLAN_BUFFERS];
    groat_error error = GROAT_ERROR_INIT;

    d->want = malloc(d->plan.buffers[last].bytes + 1);
    d->allowed = malloc(d->plan.buffers[last].bytes + 1);
    ck_assert(d->want != NULL && d->allowed != NULL);
    ck_assert_msg(driver->expect(d->spec, &d->plan, inputs_of(d, inputs), last,
                                 d->want, &error) == GROAT_OK,
                  "%s", error.text);
    if (driver->bound == NULL ||
        !driver->bound(d->spec, &d->plan, inputs_of(d, inputs), last,
                       d->allowed)) {
        free(d->allowed);
        d->allowed = NULL;
    }
}

static void place(groat_context *context, const groat_driver *driver,
                  const char *target, const drive_how *how, driven *d,
                  uint64_t *places)
{
    for (size_t i = 0; i < d->plan.buffer_count; i++) {
        size_t bytes = d->plan.buffers[i].bytes;

        d->buffers[i] = malloc(bytes + 1);
        ck_assert_ptr_nonnull(d->buffers[i]);
        memset(d->buffers[i], 0xA5, bytes);
        if (!d->plan.buffers[i].output)
            driver->fill(d->spec, &d->plan, i, how->seed, d->buffers[i]);
        if (how->alter != NULL)
            how->alter(how->user, &d->plan, i, d->buffers[i]);
        places[i] = drive_upload(context, target, d->buffers[i], bytes);
    }
}

groat_status drive_try(groat_context *context, const groat_driver *driver,
                       const char *spec, const char *target,
                       const int64_t *values, const drive_how *how, driven *d,
                       groat_error *error)
{
    uint64_t places[GROAT_PLAN_BUFFERS] = {0};
    groat_status status;
    size_t last;

    memset(d, 0, sizeof(*d));
    ck_assert_msg(groat_spec_parse(context, spec, target, &d->spec, error) ==
                      GROAT_OK,
                  "%s", error->text);
    ck_assert_msg(driver->plan(d->spec, values, &d->plan, error) == GROAT_OK,
                  "%s: %s", spec, error->text);
    last = d->plan.buffer_count - 1;
    place(context, driver, target, how, d, places);
    ck_assert_msg(driver->bind(context, d->spec, &d->plan, places, error) ==
                      GROAT_OK,
                  "%s: %s", spec, error->text);
    status = drive_launch(context, spec, target, d->plan.grid, d->plan.args,
                          d->plan.args_bytes, error);
    if (status == GROAT_OK)
        ck_assert_int_eq(groat_memory_read(context, target, d->buffers[last],
                                           places[last],
                                           d->plan.buffers[last].bytes, NULL),
                         GROAT_OK);
    for (size_t i = 0; i <= last; i++)
        groat_memory_free(context, target, places[i]);
    expect(driver, d);
    return status;
}

void drive_run(groat_context *context, const groat_driver *driver,
               const char *spec, const char *target, const int64_t *values,
               uint64_t seed, driven *d)
{
    drive_how how = {seed, NULL, NULL};
    groat_error error = GROAT_ERROR_INIT;

    ck_assert_msg(drive_try(context, driver, spec, target, values, &how, d,
                            &error) == GROAT_OK,
                  "%s on %s: %s", spec, target, error.text);
}

size_t drive_wrong(const driven *d)
{
    const groat_buffer *output = &d->plan.buffers[d->plan.buffer_count - 1];
    const unsigned char *got = d->buffers[d->plan.buffer_count - 1];
    const unsigned char *want = d->want;

    for (size_t i = 0; i < output->bytes; i++)
        if (got[i] != want[i])
            return i;
    return SIZE_MAX;
}

void drive_free(driven *d)
{
    for (size_t i = 0; i < d->plan.buffer_count; i++)
        free(d->buffers[i]);
    free(d->want);
    free(d->allowed);
    groat_spec_free(d->spec);
}
