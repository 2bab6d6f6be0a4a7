/* SPDX-License-Identifier: Apache-2.0
 *
 * trial.c - plans, feeds, launches and judges one kernel.
 *
 * Owns the host and device buffers of a launch, from allocation to release, and
 * the files that its bytes come from and go to.
 * Leaves to the family's driver what the bytes mean, to cmd_run.c and
 * cmd_demo.c what is said about them, to report.c the JSON.
 * Invariant: output memory is poisoned on both sides before the launch and so
 * is the expected copy, so that a byte which must stay untouched is compared
 * like any other.
 */
#include "cli/run/trial.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The buffers of one launch. */
typedef struct buffers {
    void *host[GROAT_PLAN_BUFFERS];
    uint64_t address[GROAT_PLAN_BUFFERS];
    bool placed[GROAT_PLAN_BUFFERS];
} buffers;

/* malloc(0) may be NULL, and a plan may have an empty buffer. */
static void *take(size_t bytes, const char *what, groat_error *error)
{
    void *data = malloc(bytes ? bytes : 1);

    if (!data)
        (void)groat__cli_error(error, GROAT_NO_MEMORY,
                               "no %zu bytes of host memory for buffer %s",
                               bytes, what);
    return data;
}

void *groat__trials_take(size_t count, size_t bytes)
{
    void *all = NULL;

    /* Whole units of the alignment: each object has one. */
    if (bytes > 0 && count <= SIZE_MAX / bytes)
        all = aligned_alloc(_Alignof(groat__trial), count * bytes);
    if (all)
        memset(all, 0, count * bytes);
    return all;
}

static groat_status set_argument(const groat_driver *driver,
                                 const groat__assignment *said, int64_t *values,
                                 groat_error *error)
{
    for (size_t i = 0; driver->args[i].name; i++) {
        const groat_driver_arg *arg = &driver->args[i];

        if (strcmp(arg->name, said->name) != 0)
            continue;
        if (said->value < arg->min || said->value > arg->max)
            return groat__cli_error(error, GROAT_INVALID,
                                    "%s of family %s is %" PRId64
                                    ", allowed are %" PRId64 " to %" PRId64
                                    " %s",
                                    arg->name, driver->family, said->value,
                                    arg->min, arg->max, arg->unit);
        values[i] = said->value;
        return GROAT_OK;
    }
    return groat__cli_error(
        error, GROAT_INVALID,
        "family %s has no run-time argument %s; see groat families %s",
        driver->family, said->name, driver->family);
}

/* The first output buffer, or NULL. */
static const groat_buffer *first_output(const groat_plan *plan)
{
    for (size_t i = 0; i < plan->buffer_count; i++)
        if (plan->buffers[i].output)
            return &plan->buffers[i];
    return NULL;
}

static void list_inputs(const groat_plan *plan, groat__str *out)
{
    for (size_t i = 0; i < plan->buffer_count; i++)
        if (!plan->buffers[i].output)
            groat__str_addf(out, "%s%s", out->len ? ", " : "",
                            plan->buffers[i].name);
}

/* The buffer of "NAME=FILE", or of "FILE", which is the first, and the path. */
static groat_status find_input(const char *word, const groat_plan *plan,
                               size_t *index, const char **path,
                               groat_error *error)
{
    const char *equals = strchr(word, '=');
    size_t len = equals ? (size_t)(equals - word) : 0;
    groat__str names = {0};
    groat_status status;

    for (size_t i = 0; i < plan->buffer_count; i++) {
        const groat_buffer *buffer = &plan->buffers[i];
        bool named = equals && strlen(buffer->name) == len &&
                     strncmp(buffer->name, word, len) == 0;

        if (buffer->output || (equals && !named))
            continue;
        *index = i;
        *path = equals ? equals + 1 : word;
        return GROAT_OK;
    }
    list_inputs(plan, &names);
    status = groat__cli_error(error, GROAT_INVALID,
                              "--input %s: the family has no such input "
                              "buffer; it has %s",
                              word, names.len ? names.data : "none");
    groat__str_free(&names);
    return status;
}

static groat_status check_input(const char *path, const groat_buffer *buffer,
                                groat_error *error)
{
    struct stat facts;

    if (stat(path, &facts) || access(path, R_OK))
        return groat__cli_error(error, GROAT_IO, "--input %s: %s", path,
                                strerror(errno));
    if (S_ISDIR(facts.st_mode))
        return groat__cli_error(error, GROAT_IO, "--input %s: %s", path,
                                strerror(EISDIR));
    if (S_ISREG(facts.st_mode) && (uint64_t)facts.st_size != buffer->bytes)
        return groat__cli_error(
            error, GROAT_INVALID,
            "--input %s has %" PRIu64 " bytes, buffer %s has %zu bytes", path,
            (uint64_t)facts.st_size, buffer->name, buffer->bytes);
    return GROAT_OK;
}

static groat_status take_inputs(const groat__list *words, groat__trial *trial,
                                groat_error *error)
{
    groat_status status = GROAT_OK;

    for (size_t i = 0; i < words->count && !status; i++) {
        const char *path = NULL;
        size_t at = 0;

        status = find_input(words->item[i], &trial->plan, &at, &path, error);
        if (!status && trial->inputs[at])
            status = groat__cli_error(error, GROAT_INVALID,
                                      "--input is given twice for buffer %s",
                                      trial->plan.buffers[at].name);
        if (!status)
            status = check_input(path, &trial->plan.buffers[at], error);
        if (!status)
            trial->inputs[at] = path;
    }
    return status;
}

/* What can be wrong with the files is told before anything is compiled. */
static groat_status check_files(const groat__values *options,
                                groat__trial *trial, groat_error *error)
{
    groat_status status = GROAT_OK;

    status = take_inputs(&options->inputs, trial, error);
    if (status || !options->output)
        return status;
    if (!first_output(&trial->plan))
        return groat__cli_error(error, GROAT_INVALID,
                                "--output %s: the family has no output buffer",
                                options->output);
    return groat__output_open(&trial->output, options->output, error);
}

groat_status groat__trial_plan(groat__cli *cli, groat__trial *trial,
                               groat_error *error)
{
    const groat__values *options = &cli->values;
    const char *family = groat_spec_family(trial->spec);
    int64_t values[GROAT_DRIVER_ARGS] = {0};
    groat_status status;

    trial->driver = groat_driver_find(family);
    if (!trial->driver &&
        (options->arg_count || options->inputs.count || options->output))
        return groat__cli_error(
            error, GROAT_INVALID,
            "family %s has no driver here: it is built and loaded, "
            "and takes no --input, --output or run-time argument",
            family);
    if (!trial->driver)
        return GROAT_OK;
    for (size_t i = 0; trial->driver->args[i].name; i++)
        values[i] = trial->driver->args[i].deflt;
    for (size_t i = 0; i < options->arg_count; i++) {
        status = set_argument(trial->driver, &options->arg[i], values, error);
        if (status)
            return status;
    }
    memset(&trial->plan, 0, sizeof(trial->plan));
    status = trial->driver->plan(trial->spec, values, &trial->plan, error);
    return status ? status : check_files(options, trial, error);
}

/* What cannot run here can still be compiled, and its facts told. */
static void build_only(groat__trial *trial)
{
    double start = groat__now_ms();

    trial->made =
        groat_build(trial->spec, NULL, NULL, &trial->info, NULL) == GROAT_OK;
    trial->origin = trial->info.origin;
    trial->get_ms = groat__now_ms() - start;
}

groat_status groat__trial_get(groat__cli *cli, groat__trial *trial,
                              groat_error *error)
{
    groat_status status;
    double start;

    trial->info.size = sizeof(trial->info);
    status =
        groat_synchronize(cli->context, groat_spec_target(trial->spec), error);
    if (status == GROAT_NO_DEVICE)
        build_only(trial);
    if (status)
        return status;
    start = groat__now_ms();
    status = groat_kernel_get_spec(trial->spec, NULL, &trial->kernel,
                                   &trial->origin, error);
    trial->get_ms = groat__now_ms() - start;
    if (status == GROAT_NO_DEVICE)
        build_only(trial);
    if (status)
        return status;
    trial->made = true;
    status = groat_kernel_info_get(trial->kernel, &trial->info, NULL);
    return status ? groat__cli_error(error, status,
                                     "the kernel gave no information")
                  : GROAT_OK;
}

static groat_status read_input(const char *path, void *data, size_t bytes,
                               const char *name, groat_error *error)
{
    groat_status status = GROAT_OK;
    FILE *file = fopen(path, "rb");
    size_t got;

    if (!file)
        return groat__cli_error(error, GROAT_IO, "--input %s: %s", path,
                                strerror(errno));
    errno = 0;
    got = fread(data, 1, bytes, file);
    if (ferror(file))
        status = groat__cli_error(error, GROAT_IO, "--input %s: %s", path,
                                  strerror(errno));
    else if (got != bytes || fgetc(file) != EOF)
        status = groat__cli_error(
            error, GROAT_INVALID,
            "--input %s has %s than the %zu bytes of buffer %s", path,
            got == bytes ? "more" : "fewer", bytes, name);
    (void)fclose(file);
    return status;
}

static groat_status fill_one(const groat__cli *cli, const groat__trial *trial,
                             size_t index, void *data, groat_error *error)
{
    const groat_buffer *buffer = &trial->plan.buffers[index];
    const char *path = trial->inputs[index];

    if (path)
        return read_input(path, data, buffer->bytes, buffer->name, error);
    if (buffer->output)
        memset(data, GROAT__POISON, buffer->bytes);
    else
        trial->driver->fill(trial->spec, &trial->plan, index, cli->values.seed,
                            data);
    return GROAT_OK;
}

/* NULL in the place of an output. */
static void name_inputs(const groat__trial *trial, const buffers *at,
                        const void *inputs[GROAT_PLAN_BUFFERS])
{
    for (size_t i = 0; i < GROAT_PLAN_BUFFERS; i++)
        inputs[i] =
            i < trial->plan.buffer_count && !trial->plan.buffers[i].output
                ? at->host[i]
                : NULL;
}

/* Fills the host copies; what files say is looked at by the family. */
static groat_status fill_all(const groat__cli *cli, const groat__trial *trial,
                             buffers *at, groat_error *error)
{
    const void *inputs[GROAT_PLAN_BUFFERS];
    groat_status status = GROAT_OK;

    for (size_t i = 0; i < trial->plan.buffer_count && !status; i++) {
        const groat_buffer *buffer = &trial->plan.buffers[i];

        at->host[i] = take(buffer->bytes, buffer->name, error);
        status = at->host[i] ? fill_one(cli, trial, i, at->host[i], error)
                             : GROAT_NO_MEMORY;
    }
    if (status || !cli->values.inputs.count || !trial->driver->check)
        return status;
    name_inputs(trial, at, inputs);
    return trial->driver->check(trial->spec, &trial->plan, inputs, error);
}

/* Fills the host copies, and puts them on the device. */
static groat_status place(groat__cli *cli, groat__trial *trial, buffers *at,
                          groat_error *error)
{
    const char *target = groat_spec_target(trial->spec);
    groat_status status = fill_all(cli, trial, at, error);

    for (size_t i = 0; i < trial->plan.buffer_count && !status; i++) {
        const groat_buffer *buffer = &trial->plan.buffers[i];

        status = groat_memory_alloc(cli->context, target, buffer->bytes,
                                    &at->address[i], error);
        if (status)
            return status;
        at->placed[i] = true;
        status = groat_memory_write(cli->context, target, at->address[i],
                                    at->host[i], buffer->bytes, error);
    }
    return status;
}

static void note_first(groat__trial *trial, const groat_buffer *buffer,
                       size_t offset, const unsigned char *want,
                       const unsigned char *got)
{
    trial->first_buffer = buffer->name;
    trial->first_offset = offset;
    trial->first_expected = *want;
    trial->first_got = *got;
}

static void compare(groat__trial *trial, const groat_buffer *buffer,
                    const unsigned char *want, const unsigned char *got)
{
    trial->bytes += buffer->bytes;
    if (buffer->bytes == 0 || memcmp(want, got, buffer->bytes) == 0)
        return;
    for (size_t i = 0; i < buffer->bytes; i++)
        if (want[i] != got[i] && !trial->mismatches++)
            note_first(trial, buffer, i, want + i, got + i);
}

static void compare_floats(groat__trial *trial, const groat_buffer *buffer,
                           const float *allowed, const float *want,
                           const float *got)
{
    trial->bytes += buffer->bytes;
    for (size_t i = 0; i < buffer->bytes / sizeof(*want); i++) {
        /* Written so that a NaN is a mismatch. */
        if (fabsf(want[i] - got[i]) <= allowed[i])
            continue;
        if (!trial->mismatches)
            note_first(trial, buffer, i * sizeof(*want),
                       (const unsigned char *)&want[i],
                       (const unsigned char *)&got[i]);
        trial->mismatches += sizeof(*want);
    }
}

/* Compares one output buffer, read back over its poison, with its oracle. */
static groat_status judge_one(groat__trial *trial, const buffers *at,
                              const void *const *inputs, size_t index,
                              groat_error *error)
{
    const groat_buffer *buffer = &trial->plan.buffers[index];
    void *want = take(buffer->bytes, buffer->name, error);
    float *allowed = take(buffer->bytes, buffer->name, error);
    groat_status status = GROAT_NO_MEMORY;

    if (!want || !allowed)
        goto out;
    memset(want, GROAT__POISON, buffer->bytes);
    status = trial->driver->expect(trial->spec, &trial->plan, inputs, index,
                                   want, error);
    if (status)
        goto out;
    if (trial->driver->bound &&
        trial->driver->bound(trial->spec, &trial->plan, inputs, index, allowed))
        compare_floats(trial, buffer, allowed, want, at->host[index]);
    else
        compare(trial, buffer, want, at->host[index]);
out:
    free(allowed);
    free(want);
    return status;
}

static groat_status judge(groat__cli *cli, groat__trial *trial, buffers *at,
                          groat_error *error)
{
    const groat_buffer *first = first_output(&trial->plan);
    const void *inputs[GROAT_PLAN_BUFFERS];
    groat_status status = GROAT_OK;

    name_inputs(trial, at, inputs);
    for (size_t i = 0; i < trial->plan.buffer_count && !status; i++) {
        const groat_buffer *buffer = &trial->plan.buffers[i];

        if (!buffer->output)
            continue;
        status = groat_memory_read(cli->context, groat_spec_target(trial->spec),
                                   at->host[i], at->address[i], buffer->bytes,
                                   error);
        if (!status)
            status = judge_one(trial, at, inputs, i, error);
    }
    if (!status)
        trial->verdict = trial->mismatches ? GROAT__WRONG : GROAT__RIGHT;
    if (!status && trial->output.file)
        status = groat__output_write(&trial->output,
                                     at->host[first - trial->plan.buffers],
                                     first->bytes, error);
    return status;
}

/* Whose launches the host's clock times. */
static bool is_cpu(const groat__trial *trial)
{
    return strncmp(groat_spec_target(trial->spec), "cpu:", 4) == 0;
}

static groat_status launch(groat__cli *cli, groat__trial *trial, buffers *at,
                           groat_error *error)
{
    groat_launch how = GROAT_LAUNCH_INIT;
    groat_plan *plan = &trial->plan;
    uint64_t repeat = cli->values.repeat;
    groat_status status;
    double start;

    memcpy(how.grid, plan->grid, sizeof(how.grid));
    start = groat__now_ms();
    cli->tracing = true;
    status = groat_kernel_launch(trial->kernel, &how, plan->args,
                                 plan->args_bytes, error);
    cli->tracing = false;
    if (!status)
        status = groat_synchronize(cli->context, groat_spec_target(trial->spec),
                                   error);
    if (status == GROAT_JUDGED)
        trial->verdict = GROAT__WRONG;
    if (status)
        return status;
    trial->launch_us = (groat__now_ms() - start) * 1e3;
    status = judge(cli, trial, at, error);
    if (status || (repeat <= 1 && !cli->values.time))
        return status;
    status =
        groat_kernel_time(trial->kernel, &how, plan->args, plan->args_bytes,
                          (unsigned)repeat, &trial->launch_us, error);
    trial->device_clock = !status && !is_cpu(trial);
    return status;
}

groat_status groat__trial_launch(groat__cli *cli, groat__trial *trial,
                                 groat_error *error)
{
    buffers at = {{NULL}, {0}, {false}};
    groat_status status;

    if (!trial->driver)
        return GROAT_OK;
    trial->verdict = GROAT__UNKNOWN;
    trial->bytes = 0;
    trial->mismatches = 0;
    trial->launch_us = 0;
    trial->device_clock = false;
    status = place(cli, trial, &at, error);
    if (!status) {
        memcpy(trial->address, at.address, sizeof(trial->address));
        status = trial->driver->bind(cli->context, trial->spec, &trial->plan,
                                     at.address, error);
    }
    if (!status)
        status = launch(cli, trial, &at, error);
    for (size_t i = 0; i < trial->plan.buffer_count; i++) {
        if (at.placed[i])
            groat_memory_free(cli->context, groat_spec_target(trial->spec),
                              at.address[i]);
        free(at.host[i]);
    }
    return status;
}

void groat__trial_free(groat__trial *trial)
{
    groat__output_drop(&trial->output);
    groat_kernel_release(trial->kernel);
    groat_spec_free(trial->spec);
    trial->kernel = NULL;
    trial->spec = NULL;
}
