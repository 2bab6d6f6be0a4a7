/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_demo.c - groat demo: gets kernels for the KV caches of real models in
 * three ways: compiled, from disk in a new process, from memory.
 *
 * Owns the new processes; measured.h lists the models.  scratch.c makes the
 * private store, trial.c runs a kernel, spawn.c a process.
 * Invariant: exits with 0 only when every byte of every run was right and the
 * second get really came from disk.
 */
#include "cli/run/trial.h"
#include "cli/commands.h"
#include "cli/store/store.h"
#include "kernels-src/driver/measured.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = GROAT_DEMO_KERNELS };
enum { LOOKUPS = 100000, GPU_REPEATS = 50, ANSWER_MAX = 1 << 20 };

/* Measurements of one row. */
typedef struct demo_result {
    groat__trial trial;
    groat_error error;   /* the error that ended the row                  */
    groat_origin origin; /* of the first get                              */
    double cold_ms;
    bool cold_right;
    double disk_ms;
    bool disk_right; /* verified, and really from disk                */
    double hit_ns;
    bool memory_right;
    double gb_per_s; /* of the tile's stream entry; 0: not measured       */
} demo_result;

static bool all_right(const demo_result *result)
{
    return result->cold_right && result->disk_right && result->memory_right;
}

/* ---- the answer of a new process --------------------------------------- */

/* Returns the value of a top-level member of this tool's JSON, or NULL. */
static const char *member(const char *answer, const char *name)
{
    groat__str quoted = {0};
    const char *at = NULL;

    groat__str_addf(&quoted, "\n  \"%s\": ", name);
    if (!quoted.failed)
        at = strstr(answer, quoted.data);
    at = at ? at + quoted.len : NULL;
    groat__str_free(&quoted);
    return at;
}

static bool member_is(const char *answer, const char *name, const char *value)
{
    const char *at = member(answer, name);

    return at && strncmp(at, value, strlen(value)) == 0;
}

/* Runs `groat run` on a spec in a new process; free() *answer. */
static groat_status run_again(const char *folder, const char *spec,
                              demo_result *result, int device,
                              const char *repeat, char **answer, int *code)
{
    char number[16];
    char *argv[] = {"/proc/self/exe", "run",      "--json", "--cache-dir",
                    (char *)folder,   "--device", number,   "--repeat",
                    (char *)repeat,   "--target", NULL,     "--",
                    (char *)spec,     NULL};
    groat__spawn how = {.argv = argv, .max = ANSWER_MAX};

    (void)snprintf(number, sizeof(number), "%d", device);
    argv[10] = (char *)groat_spec_target(result->trial.spec);
    return groat__spawn_run(&how, answer, code, &result->error);
}

/* Runs the same spec in a new process, which finds the kernel on disk. */
static groat_status from_disk(const char *folder, const groat_demo_kernel *row,
                              demo_result *result, int device)
{
    char *answer = NULL;
    const char *at;
    groat_status status;
    int code = 0;

    status = run_again(folder, row->spec, result, device, "1", &answer, &code);
    if (status)
        return status;
    at = member(answer, "get_ms");
    result->disk_ms = at ? strtod(at, NULL) : 0;
    result->disk_right = code == 0 && at &&
                         member_is(answer, "verified", "t") &&
                         member_is(answer, "origin", "\"disk\"");
    free(answer);
    return GROAT_OK;
}

/* Returns the row's spec with entry=stream: one tile is too small to time. */
static groat_spec *stream_of(groat__cli *cli, const groat_demo_kernel *row)
{
    groat_spec *spec = NULL;
    int64_t stages = 4;

    if (groat_spec_parse(cli->context, row->spec, cli->values.target, &spec,
                         NULL) != GROAT_OK)
        return NULL;
    (void)groat_spec_set(spec, "entry", 1, NULL);
    while (stages > 1 &&
           groat_spec_set(spec, "stages", stages, NULL) != GROAT_OK)
        stages--;
    return spec;
}

static void measure_bandwidth(groat__cli *cli, const char *folder,
                              const groat_demo_kernel *row, demo_result *result)
{
    groat_spec *spec = stream_of(cli, row);
    char *answer = NULL;
    const char *at;
    int code = 0;

    if (spec != NULL &&
        run_again(folder, groat_spec_text(spec), result,
                  (int)cli->values.device, "20", &answer, &code) == GROAT_OK) {
        at = member(answer, "gb_per_s");
        if (code == 0 && at && member_is(answer, "verified", "t"))
            result->gb_per_s = strtod(at, NULL);
        free(answer);
    }
    groat_spec_free(spec);
}

/* ---- the three ways ---------------------------------------------------- */

static void cold(groat__cli *cli, const groat_demo_kernel *row,
                 demo_result *result)
{
    groat__trial *trial = &result->trial;
    groat_error *error = &result->error;

    if (groat_spec_parse(cli->context, row->spec, cli->values.target,
                         &trial->spec, error) ||
        groat__trial_plan(cli, trial, error) ||
        groat__trial_get(cli, trial, error))
        return;
    result->origin = trial->origin;
    result->cold_ms = trial->get_ms;
    if (groat__trial_launch(cli, trial, error) == GROAT_OK)
        result->cold_right = trial->verdict == GROAT__RIGHT;
}

static void from_memory(groat__cli *cli, demo_result *result)
{
    groat__trial *trial = &result->trial;
    const groat_kernel *found = NULL;
    uint64_t hits = 0;
    double start = groat__now_ms();

    for (int i = 0; i < LOOKUPS; i++) {
        found = groat_kernel_lookup_spec(trial->spec);
        hits += found == trial->kernel;
    }
    result->hit_ns = (groat__now_ms() - start) * 1e6 / LOOKUPS;
    if (strncmp(groat_spec_target(trial->spec), "cpu:", 4) != 0)
        cli->values.repeat = GPU_REPEATS;
    if (groat__trial_launch(cli, trial, &result->error) == GROAT_OK)
        result->memory_right =
            hits == LOOKUPS && trial->verdict == GROAT__RIGHT;
    cli->values.repeat = 1;
}

static void run_rows(groat__cli *cli, const char *folder, demo_result *results)
{
    for (size_t i = 0; i < ROWS; i++) {
        groat__progress_show(&cli->progress, i, ROWS, "compiling for %s",
                             groat_demo_kernels[i].model);
        results[i].error = (groat_error)GROAT_ERROR_INIT;
        cold(cli, &groat_demo_kernels[i], &results[i]);
    }
    for (size_t i = 0; i < ROWS; i++) {
        const groat_demo_kernel *row = &groat_demo_kernels[i];
        demo_result *result = &results[i];

        if (!result->cold_right)
            continue;
        groat__progress_show(&cli->progress, i, ROWS, "again from disk, %s",
                             row->model);
        if (from_disk(folder, row, result, (int)cli->values.device) == GROAT_OK)
            from_memory(cli, result);
        if (result->trial.device_clock)
            measure_bandwidth(cli, folder, row, result);
    }
    groat__progress_clear(&cli->progress);
}

/* ---- the report -------------------------------------------------------- */

static void row_json(groat__json *json, const groat_demo_kernel *row,
                     const demo_result *result)
{
    groat__json_object(json, NULL);
    groat__json_string(json, "model", row->model);
    groat__json_string(json, "cold_origin", groat_origin_name(result->origin));
    groat__json_real(json, "cold_ms", result->cold_ms);
    groat__json_real(json, "disk_ms", result->disk_ms);
    groat__json_real(json, "hit_ns", result->hit_ns);
    groat__json_real(json, "stream_gb_per_s",
                     result->gb_per_s > 0 ? result->gb_per_s : NAN);
    groat__json_bool(json, "cold_verified", result->cold_right);
    groat__json_bool(json, "disk_verified", result->disk_right);
    groat__json_bool(json, "memory_verified", result->memory_right);
    if (result->trial.spec)
        groat__trial_json(json, &result->trial, &result->error);
    else
        groat__json_string(json, "spec", row->spec);
    if (result->error.status)
        groat__cli_json_error(json, &result->error);
    groat__json_end(json);
}

static void row_cells(groat__table *table, const groat_demo_kernel *row,
                      const demo_result *result)
{
    const groat_spec *spec = result->trial.spec;
    const char *target = spec ? groat_spec_target(spec) : "-";
    size_t family = strcspn(row->spec, ":");

    groat__table_add(table, "%s", row->model);
    groat__table_add(table, "%.*s", (int)family, row->spec);
    groat__table_add(table, "%s", row->shape);
    groat__table_add(table, "%s", target);
    groat__table_add(table, "%.1f", result->cold_ms);
    groat__table_add(table, "%.2f", result->disk_ms);
    groat__table_add(table, "%.1f", result->hit_ns);
    if (result->gb_per_s > 0)
        groat__table_add(table, "%.0f", result->gb_per_s);
    else
        groat__table_add(table, "-");
    if (all_right(result))
        groat__table_add(table, "3 x %" PRIu64 " B", result->trial.sum.bytes);
    else
        groat__table_add(table, "NO");
}

static void print_rows(const demo_result *results)
{
    static const char *const heads[] = {
        "model",   "family", "tile", "target",   "cold ms",
        "disk ms", "hit ns", "GB/s", "verified",
    };
    groat__table table = {.columns = 9, .right = 0xf0};

    for (size_t i = 0; i < table.columns; i++)
        groat__table_add(&table, "%s", heads[i]);
    for (size_t i = 0; i < ROWS; i++)
        row_cells(&table, &groat_demo_kernels[i], &results[i]);
    groat__table_print(&table);
    (void)printf(
        "\ncold: compiled, kept, loaded; disk: the same in a new process;\n"
        "hit: one lookup in memory, mean of %d.  GB/s: 1 GiB through the\n"
        "tile's stream entry, by the GPU's clock; cpu targets have none.\n"
        "Each row is `groat run SPEC` of one of these:\n",
        LOOKUPS);
    for (size_t i = 0; i < ROWS; i++)
        (void)printf("  %s\n", groat_demo_kernels[i].spec);
}

static int report_store(groat__cli *cli)
{
    int code;

    if (!cli->values.json)
        (void)printf("\nThe store, as `groat cache stat` tells it:\n");
    groat__json_object(&cli->json, "store");
    code = groat__cache_stat(cli);
    groat__json_end(&cli->json);
    return code;
}

static int report(groat__cli *cli, demo_result *results)
{
    int code = GROAT__EXIT_DONE;
    int store;

    groat__json_array(&cli->json, "rows");
    for (size_t i = 0; i < ROWS; i++)
        row_json(&cli->json, &groat_demo_kernels[i], &results[i]);
    groat__json_end(&cli->json);
    if (!cli->values.json)
        print_rows(results);
    for (size_t i = 0; i < ROWS; i++) {
        int one =
            all_right(&results[i]) ? GROAT__EXIT_DONE : GROAT__EXIT_FAILED;

        if (results[i].error.status) {
            groat__cli_say(cli, "%s: %s", groat_demo_kernels[i].model,
                           results[i].error.text);
            one = groat__exit_of(results[i].error.status);
        } else if (one)
            groat__cli_say(cli, "%s: cold %s, disk %s, memory %s",
                           groat_demo_kernels[i].model,
                           results[i].cold_right ? "right" : "WRONG",
                           results[i].disk_right ? "right" : "WRONG",
                           results[i].memory_right ? "right" : "WRONG");
        code = code ? code : one;
    }
    groat__json_bool(&cli->json, "verified", code == GROAT__EXIT_DONE);
    store = report_store(cli);
    return code ? code : store;
}

/* Reports once, before the first row, an error that all rows would have. */
static int check(groat__cli *cli)
{
    groat_error error = GROAT_ERROR_INIT;
    groat_spec *spec = NULL;
    int code = groat__cache_needed(cli);

    if (code)
        return code;
    if (groat_spec_parse(cli->context, groat_demo_kernels[0].spec,
                         cli->values.target, &spec, &error) ||
        groat_synchronize(cli->context, groat_spec_target(spec), &error))
        code = groat__cli_fail(cli, &error);
    groat_spec_free(spec);
    return code;
}

int groat__cmd_demo(groat__cli *cli)
{
    groat__str folder = {0};
    demo_result *results = groat__trials_take(ROWS, sizeof(*results));
    int code;

    if (!results)
        return groat__cli_refuse(cli, GROAT_NO_MEMORY, "out of memory");
    code = groat__scratch_open(cli, NULL, &folder);
    if (!code)
        code = check(cli);
    if (!code) {
        run_rows(cli, cli->values.cache_dir, results);
        code = report(cli, results);
    }
    for (size_t i = 0; i < ROWS; i++) {
        groat__trial_free(&results[i].trial);
        groat_error_clear(&results[i].error);
    }
    groat__scratch_close(cli, &folder);
    free(results);
    return code;
}
