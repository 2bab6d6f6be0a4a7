/* SPDX-License-Identifier: Apache-2.0
 *
 * trial.c - plans, launches and verifies one kernel.
 *
 * Owns the host and device buffers of a launch, from allocation to release.
 * The family's driver fills them and computes the expected outputs; files.c
 * reads and writes files, compare.c compares, cmd_run.c and cmd_demo.c print,
 * report.c writes the JSON.
 * Invariant: output memory is poisoned on both sides before the launch, and so
 * is the expected copy, so that a byte which must stay untouched is compared
 * like any other.
 */
#include "cli/run/trial.h"
#include "cli/run/files.h"
#include "cli/run/places.h"
#include "cli/run/watch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cores.h"
#include "base/fs.h"
#include "base/near.h"

/* The buffers of one launch. */
typedef struct buffers {
    void *host[GROAT_PLAN_BUFFERS];
    uint64_t address[GROAT_PLAN_BUFFERS];
    bool placed[GROAT_PLAN_BUFFERS];
} buffers;

/* Returns the bytes of memory that programs may take without swapping;
 * UINT64_MAX if they are unknown.  A container's limit is not looked at. */
static uint64_t free_memory(void)
{
    FILE *file = fopen("/proc/meminfo", "re");
    uint64_t bytes = UINT64_MAX;
    uint64_t kib;
    char line[128];

    while (file && bytes == UINT64_MAX && fgets(line, sizeof(line), file))
        if (sscanf(line, "MemAvailable: %" SCNu64 " kB", &kib) == 1)
            bytes = kib * 1024;
    if (file)
        (void)fclose(file);
    return bytes;
}

/* Returns whether launches are timed by the host's clock. */
static bool is_cpu(const groat__trial *trial)
{
    return strncmp(groat_spec_target(trial->spec), "cpu:", 4) == 0;
}

/* Refuses buffers that the host has no room for: malloc() may give more memory
 * than there is, and the kernel then kills the tool while it fills it. */
static groat_status check_room(const groat__trial *trial, groat_error *error)
{
    const uint64_t copies = is_cpu(trial) ? 2 : 1; /* the device's is another */
    const uint64_t free_bytes = free_memory();
    uint64_t bytes = 0;

    /* A plan has some dozen buffers of 2^40 bytes at most. */
    for (size_t i = 0; i < trial->plan.buffer_count; i++)
        bytes += trial->plan.buffers[i].bytes;
    return bytes * copies <= free_bytes
               ? GROAT_OK
               : groat__fail(error, GROAT_NO_MEMORY,
                             "the buffers have %" PRIu64
                             " bytes, and the host needs %" PRIu64
                             " copies of them: it has %" PRIu64 " bytes free",
                             bytes, copies, free_bytes);
}

/* Never calls malloc(0), which may return NULL: a buffer may be empty. */
static void *take(size_t bytes, const char *what, groat_error *error)
{
    void *data = malloc(bytes ? bytes : 1);

    if (!data)
        (void)groat__fail(error, GROAT_NO_MEMORY,
                          "no %zu bytes of host memory for buffer %s", bytes,
                          what);
    return data;
}

void *groat__trials_take(size_t count, size_t bytes)
{
    void *all = NULL;

    /* Each object contains a trial, so bytes is a multiple of its alignment. */
    if (bytes > 0 && count <= SIZE_MAX / bytes)
        all = aligned_alloc(_Alignof(groat__trial), count * bytes);
    if (all)
        memset(all, 0, count * bytes);
    return all;
}

static groat_status refuse_number(const groat_driver *driver,
                                  const groat_driver_arg *arg, const char *text,
                                  groat_error *error)
{
    if (arg->type == GROAT_ARG_FLOAT)
        return groat__fail(error, GROAT_INVALID,
                           "%s of family %s is '%.64s', not a number",
                           arg->name, driver->family, text);
    return groat__fail(error, GROAT_INVALID,
                       "%s of family %s is %.64s, allowed are %" PRId64
                       " to %" PRId64 "%s%s, in decimal",
                       arg->name, driver->family, text, arg->min, arg->max,
                       strcmp(arg->unit, "-") == 0 ? "" : " ",
                       strcmp(arg->unit, "-") == 0 ? "" : arg->unit);
}

static groat_status refuse_name(const groat_driver *driver, const char *name,
                                size_t len, groat_error *error)
{
    groat__near near;
    groat__str out = {0};

    groat__str_addf(&out, "family %s has no run-time argument %.*s",
                    driver->family, len < 64 ? (int)len : 64, name);
    groat__near_start(&near, name, len);
    for (size_t i = 0; driver->args[i].name; i++)
        groat__near_try(&near, driver->args[i].name,
                        strlen(driver->args[i].name));
    if (driver->args[0].name)
        groat__near_tell(&near, "it has", &out);
    else
        groat__str_add(&out, "; it has none");
    for (size_t i = 0; driver->args[i].name; i++)
        groat__str_addf(&out, "%s%s", i > 0 ? ", " : "", driver->args[i].name);
    (void)groat__fail(error, GROAT_INVALID, "%s",
                      out.failed ? "out of memory" : out.data);
    groat__str_free(&out);
    return GROAT_INVALID;
}

static bool same_word(const char *name, const char *typed, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (typed[i] != name[i] && (typed[i] != '-' || name[i] != '_'))
            return false;
    return name[len] == '\0';
}

/* Sets the argument `name`, of len bytes, to the value in text. */
static groat_status set_argument(const groat_driver *driver, const char *name,
                                 size_t len, const char *text, bool *set,
                                 int64_t *values, groat_error *error)
{
    for (size_t i = 0; driver->args[i].name; i++) {
        const groat_driver_arg *arg = &driver->args[i];
        bool fits;
        double real = 0;

        if (!same_word(arg->name, name, len))
            continue;
        if (set[i])
            return groat__fail(error, GROAT_INVALID,
                               "argument %s is given twice", arg->name);
        set[i] = true;
        if (arg->type == GROAT_ARG_FLOAT) {
            fits = groat__opt_real(text, &real);
            values[i] = groat_arg_of_real(real);
        } else
            fits = groat__opt_whole(text, &values[i]) &&
                   values[i] >= arg->min && values[i] <= arg->max;
        return fits ? GROAT_OK : refuse_number(driver, arg, text, error);
    }
    return refuse_name(driver, name, len, error);
}

static groat_status set_arguments(const groat_driver *driver,
                                  const groat__values *options, int64_t *values,
                                  groat_error *error)
{
    bool set[GROAT_DRIVER_ARGS] = {false};
    groat_status status = GROAT_OK;

    for (size_t i = 0; driver->args[i].name; i++)
        values[i] = driver->args[i].deflt;
    for (size_t i = 0; i < options->arg_count && !status; i++)
        status = set_argument(driver, options->arg[i].name,
                              strlen(options->arg[i].name),
                              options->arg[i].text, set, values, error);
    for (size_t i = 0; i < options->args.count && !status; i++) {
        const char *word = options->args.item[i];
        size_t len = strcspn(word, "=");

        status = word[len] == '='
                     ? set_argument(driver, word, len, word + len + 1, set,
                                    values, error)
                     : groat__fail(error, GROAT_INVALID,
                                   "--arg %s: NAME=VALUE expected", word);
    }
    return status;
}

/* Replaces the driver's grid by that of --grid, "3,1,1". */
static groat_status set_grid(const char *text, groat__trial *trial,
                             groat_error *error)
{
    const char *at = text;
    size_t count = 0;

    if (!trial->folder)
        return groat__fail(error, GROAT_INVALID,
                           "--grid is for families with a run.def; the "
                           "grid of %s follows from its run-time "
                           "arguments",
                           trial->driver->family);
    for (; count < 3; count++) {
        char *end = NULL;
        unsigned long value = 0;

        if (*at < '0' || *at > '9')
            break;
        errno = 0;
        value = strtoul(at, &end, 10);
        if (errno || value < 1 || value > INT32_MAX ||
            (*end != ',' && *end != '\0'))
            break;
        trial->plan.grid[count] = (unsigned)value;
        at = end + (*end == ',');
        if (*end == '\0')
            return GROAT_OK;
    }
    return groat__fail(error, GROAT_INVALID,
                       "--grid is '%.64s', expected X[,Y[,Z]] blocks, each "
                       "from 1 to 2^31 - 1",
                       text);
}

/* CUDA bounds two of the dimensions, which run.def may compute. */
static groat_status check_grid(const groat__trial *trial, groat_error *error)
{
    const unsigned *grid = trial->plan.grid;

    if (strstr(groat_spec_target(trial->spec), ":sm_") == NULL ||
        (grid[1] <= UINT16_MAX && grid[2] <= UINT16_MAX))
        return GROAT_OK;
    return groat__fail(error, GROAT_INVALID,
                       "the grid of %s is %u, %u, %u blocks; CUDA allows "
                       "65535 of Y and of Z",
                       groat_spec_family(trial->spec), grid[0], grid[1],
                       grid[2]);
}

/* Finds the library's driver, or makes one from the family's run.def. */
static groat_status find_driver(groat__cli *cli, groat__trial *trial,
                                groat_error *error)
{
    const groat_family *family =
        groat_family_find(cli->context, groat_spec_family(trial->spec));

    if (family == NULL)
        return GROAT_OK;
    trial->own = groat_family_folder(family) != NULL;
    return groat__folder_driver(cli->context, family, cli->judge_seconds,
                                &trial->driver, &trial->folder, error);
}

void groat__trial_limit(groat__cli *cli)
{
    enum { SECONDS = 60 };

    cli->judge_seconds =
        cli->values.timeout_s ? (unsigned)cli->values.timeout_s : SECONDS;
    cli->judge_jobs =
        cli->values.jobs ? (unsigned)cli->values.jobs : groat__cores();
}

groat_status groat__trial_plan(groat__cli *cli, groat__trial *trial,
                               groat_error *error)
{
    const groat__values *options = &cli->values;
    int64_t values[GROAT_DRIVER_ARGS] = {0};
    groat_status status = find_driver(cli, trial, error);

    if (status)
        return status;
    if (!trial->driver &&
        (options->arg_count || options->args.count || options->inputs.count ||
         options->expected.count || options->grid || options->outputs.count))
        return groat__fail(
            error, GROAT_INVALID,
            "family %s has no run.def: it is built and loaded, and takes no "
            "--input, --expect, --output, --grid or run-time argument",
            groat_spec_family(trial->spec));
    if (!trial->driver)
        return GROAT_OK;
    status = set_arguments(trial->driver, options, values, error);
    if (status)
        return status;
    memset(&trial->plan, 0, sizeof(trial->plan));
    trial->plan.driver = trial->driver;
    status = trial->driver->plan(trial->spec, values, &trial->plan, error);
    if (!status && options->grid)
        status = set_grid(options->grid, trial, error);
    if (!status)
        status = check_grid(trial, error);
    return status ? status : groat__files_take(options, trial, error);
}

/* Compiles a kernel that cannot run here, to report its facts. */
static void build_only(groat__trial *trial)
{
    double start = groat__now_ms();

    trial->made =
        groat_build(trial->spec, NULL, NULL, &trial->info, NULL) == GROAT_OK;
    trial->origin = trial->info.origin;
    trial->get_ms = groat__now_ms() - start;
}

/* Names the line of params.def in the error of a compiler that found another
 * size of args.h than it says. */
static void tell_args_line(const groat__cli *cli, const groat__trial *trial,
                           groat_error *error)
{
    static const char words[] = "args.h and 'launch args' of params.def";
    const groat_family *family =
        groat_family_find(cli->context, groat_spec_family(trial->spec));
    const char *folder = family ? groat_family_folder(family) : NULL;
    groat__str path = {0};
    char *text = NULL;
    size_t len;
    int number = 1;

    if (!error || !error->log || !strstr(error->log, words) || !folder)
        return;
    groat__str_addf(&path, "%s/params.def", folder);
    if (path.failed || groat__fs_read(path.data, 1 << 20, &text, &len, NULL))
        text = NULL;
    for (char *line = text; line; line = strchr(line, '\n'), number++) {
        int end = 0;

        line += *line == '\n';
        (void)sscanf(line, "launch args%*[ \t=]%n", &end);
        if (end > 0)
            (void)snprintf(error->text, sizeof(error->text),
                           "%s:%d: launch args is not the size of the "
                           "structure of args.h",
                           path.data, number);
    }
    free(text);
    groat__str_free(&path);
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
    if (status == GROAT_COMPILE_FAILED)
        tell_args_line(cli, trial, error);
    if (status)
        return status;
    trial->made = true;
    status = groat_kernel_info_get(trial->kernel, &trial->info, NULL);
    return status ? groat__fail(error, status, "the kernel gave no information")
                  : GROAT_OK;
}

groat_status groat__trial_fill(const groat__cli *cli, const groat__trial *trial,
                               size_t index, void *data, groat_error *error)
{
    const groat_buffer *buffer = &trial->plan.buffers[index];
    const char *path = trial->inputs[index];

    if (path)
        return groat__files_read("--input", path, buffer, data, error);
    if (!groat_buffer_is_input(buffer))
        groat__element_spoil(buffer->element, buffer->bytes, data);
    else
        trial->driver->fill(trial->spec, &trial->plan, index, cli->values.seed,
                            data);
    return GROAT_OK;
}

/* Fills inputs[]: the host copies, NULL for buffers that are only outputs. */
static void name_inputs(const groat__trial *trial, const buffers *at,
                        const void *inputs[GROAT_PLAN_BUFFERS])
{
    for (size_t i = 0; i < GROAT_PLAN_BUFFERS; i++)
        inputs[i] = i < trial->plan.buffer_count &&
                            groat_buffer_is_input(&trial->plan.buffers[i])
                        ? at->host[i]
                        : NULL;
}

/* Fills the host copies; the driver checks the contents of input files. */
static groat_status fill_all(const groat__cli *cli, const groat__trial *trial,
                             buffers *at, groat_error *error)
{
    const void *inputs[GROAT_PLAN_BUFFERS];
    groat_status status = check_room(trial, error);

    for (size_t i = 0; i < trial->plan.buffer_count && !status; i++) {
        const groat_buffer *buffer = &trial->plan.buffers[i];

        at->host[i] = take(buffer->bytes, buffer->name, error);
        status = at->host[i]
                     ? groat__trial_fill(cli, trial, i, at->host[i], error)
                     : GROAT_NO_MEMORY;
    }
    if (status || !cli->values.inputs.count || !trial->driver->check)
        return status;
    name_inputs(trial, at, inputs);
    return trial->driver->check(trial->spec, &trial->plan, inputs, error);
}

/* Fills the host copies, and copies them to the device. */
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

/* Gets the expected output: the file of --expect, or from the driver. */
static groat_status expect(const groat__trial *trial, const void *const *inputs,
                           size_t index, void *want, groat_error *error)
{
    const groat_buffer *buffer = &trial->plan.buffers[index];
    const char *path = trial->expected[index];

    if (path)
        return groat__files_read("--expect", path, buffer, want, error);
    groat__element_spoil(buffer->element, buffer->bytes, want);
    return trial->driver->expect(trial->spec, &trial->plan, inputs, index, want,
                                 error);
}

/* Compares one output buffer with the expected one. */
static groat_status judge_one(groat__trial *trial, const void *const *inputs,
                              size_t index, const void *got, groat_error *error)
{
    const groat_buffer *buffer = &trial->plan.buffers[index];
    void *want = take(buffer->bytes, buffer->name, error);
    float *allowed = take(buffer->bytes, buffer->name, error);
    groat_status status = GROAT_NO_MEMORY;

    if (!want || !allowed)
        goto out;
    status = expect(trial, inputs, index, want, error);
    if (status)
        goto out;
    if (trial->driver->bound &&
        trial->driver->bound(trial->spec, &trial->plan, inputs, index, allowed))
        groat__compare(&trial->sum, buffer, allowed, want, got);
    else
        groat__compare(&trial->sum, buffer, NULL, want, got);
out:
    free(allowed);
    free(want);
    return status;
}

/* Reads a buffer back, into a new one; NULL on failure. */
static void *read_one(groat__cli *cli, const groat__trial *trial,
                      const buffers *at, size_t index, groat_error *error)
{
    const groat_buffer *buffer = &trial->plan.buffers[index];
    void *data = take(buffer->bytes, buffer->name, error);

    if (data &&
        groat_memory_read(cli->context, groat_spec_target(trial->spec), data,
                          at->address[index], buffer->bytes, error)) {
        free(data);
        return NULL;
    }
    return data;
}

/* Reads all outputs back: the inputs are still needed. */
static groat_status read_back(groat__cli *cli, const groat__trial *trial,
                              const buffers *at, void **got, groat_error *error)
{
    for (size_t i = 0; i < trial->plan.buffer_count; i++) {
        if (!trial->plan.buffers[i].output)
            continue;
        got[i] = read_one(cli, trial, at, i, error);
        if (!got[i])
            return error->status;
    }
    return GROAT_OK;
}

/* A kernel must leave its inputs as they are.  Errors: JUDGED. */
static groat_status check_input(groat__cli *cli, groat__trial *trial,
                                const buffers *at, size_t index,
                                groat_error *error)
{
    const groat_buffer *buffer = &trial->plan.buffers[index];
    const unsigned char *host = at->host[index];
    unsigned char *now = read_one(cli, trial, at, index, error);
    groat_status status = now ? GROAT_OK : error->status;
    uint64_t offset = 0;
    char place[160];

    if (now && memcmp(now, host, buffer->bytes) != 0) {
        while (now[offset] == host[offset])
            offset++;
        groat__compare_place(buffer, offset, place, sizeof(place));
        trial->verdict = GROAT__WRONG;
        status =
            groat__fail(error, GROAT_JUDGED, "%s changed %s, which is an input",
                        trial->info.name, place);
    }
    free(now);
    return status;
}

static groat_status check_inputs(groat__cli *cli, groat__trial *trial,
                                 const buffers *at, groat_error *error)
{
    groat_status status = GROAT_OK;

    for (size_t i = 0; i < trial->plan.buffer_count && !status; i++)
        if (!trial->plan.buffers[i].output)
            status = check_input(cli, trial, at, i, error);
    return status;
}

static groat_status judge(groat__cli *cli, groat__trial *trial,
                          const buffers *at, groat_error *error)
{
    void *got[GROAT_PLAN_BUFFERS] = {NULL};
    const void *inputs[GROAT_PLAN_BUFFERS];
    groat_status status = read_back(cli, trial, at, got, error);
    bool compared = false;

    name_inputs(trial, at, inputs);
    if (!status)
        status = groat__files_write(trial, got, error);
    for (size_t i = 0; i < trial->plan.buffer_count && !status; i++) {
        const groat_buffer *buffer = &trial->plan.buffers[i];

        if (trial->unjudged || !buffer->output ||
            buffer->tolerance == GROAT_TOLERANCE_NONE)
            continue;
        compared = true;
        status = judge_one(trial, inputs, i, got[i], error);
    }
    if (!status && compared)
        trial->verdict = trial->sum.mismatches ? GROAT__WRONG : GROAT__RIGHT;
    for (size_t i = 0; i < GROAT_PLAN_BUFFERS; i++) {
        free(trial->keeps ? trial->kept[i] : got[i]);
        if (trial->keeps)
            trial->kept[i] = got[i];
    }
    return status;
}

groat_status groat__trial_time(groat__cli *cli, groat__trial *trial,
                               const groat_launch *how, unsigned repeats,
                               double *us, groat_error *error)
{
    groat__watch watch = {.more = repeats > 0 ? repeats - 1 : 0};
    groat_status status;

    if (is_cpu(trial))
        groat__watch_start(&watch, cli, trial);
    status = groat_kernel_time(trial->kernel, how, trial->plan.args,
                               trial->plan.args_bytes, repeats, us, error);
    groat__watch_stop(&watch);
    return status;
}

static groat_status launch(groat__cli *cli, groat__trial *trial, buffers *at,
                           groat_error *error)
{
    groat_launch how = GROAT_LAUNCH_INIT;
    groat_plan *plan = &trial->plan;
    uint64_t repeat = cli->values.repeat;
    groat__watch watch = {0};
    groat_status status;
    double start;

    memcpy(how.grid, plan->grid, sizeof(how.grid));
    start = groat__now_ms();
    if (is_cpu(trial))
        groat__watch_start(&watch, cli, trial);
    cli->tracing = true;
    status = groat_kernel_launch(trial->kernel, &how, plan->args,
                                 plan->args_bytes, error);
    cli->tracing = false;
    groat__watch_stop(&watch);
    if (!status)
        status = groat_synchronize(cli->context, groat_spec_target(trial->spec),
                                   error);
    if (status == GROAT_JUDGED)
        trial->verdict = GROAT__WRONG;
    if (status)
        return status;
    trial->launch_us = (groat__now_ms() - start) * 1e3;
    status = judge(cli, trial, at, error);
    if (!status && trial->verdict != GROAT__WRONG)
        status = check_inputs(cli, trial, at, error);
    if (status || (repeat <= 1 && !cli->values.time))
        return status;
    status = groat__trial_time(cli, trial, &how, (unsigned)repeat,
                               &trial->launch_us, error);
    if (status == GROAT_JUDGED)
        trial->verdict = GROAT__WRONG;
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
    if (trial->plan.args_bytes != trial->info.args_bytes)
        return groat__fail(
            error, GROAT_INVALID,
            "%s: launch args of params.def is %u bytes, and %s %zu",
            trial->info.name, trial->info.args_bytes,
            trial->folder
                ? "the fields of args.h, read without its #if, #pragma and "
                  "attributes, take"
                : "the driver that run.def names writes",
            trial->plan.args_bytes);
    trial->verdict = GROAT__UNKNOWN;
    trial->sum = (groat__comparison){0};
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
    if (status == GROAT_JUDGED)
        groat__places_tell(cli, trial, error);
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
    groat__folder_close(trial->folder);
    for (size_t i = 0; i < GROAT_PLAN_BUFFERS; i++) {
        groat__output_drop(&trial->outputs[i]);
        free(trial->own_path[i]);
        free(trial->own_expected[i]);
        free(trial->kept[i]);
    }
    groat_kernel_release(trial->kernel);
    groat_spec_free(trial->spec);
    trial->kernel = NULL;
    trial->spec = NULL;
}
