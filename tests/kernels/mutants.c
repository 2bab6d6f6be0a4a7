/* SPDX-License-Identifier: Apache-2.0
 *
 * mutants.c writes the families of a suite's table into folders of its own and
 * runs them.  The files that a family includes, its own and those of common/,
 * are inlined, so a mutant may change those too; the vendor's primitives stay
 * as they are.
 */
#include "tests/kernels/mutants.h"

#include "spec/family.h"
#include "tests/kernels/drive.h"
#include "tests/pipe/rig.h"

/* A context knows 64 families, the library's own among them: so each rig gets a
 * part of the table.  Input is of whole numbers where a driver's seed chooses
 * the kind. */
enum { BATCH = 48, INPUT_SEED = 2 };

const char *const mutants_calls[] = {"async_wait<", BARRIER, FENCE, COMMIT,
                                     NULL};
const char *const mutants_targets[] = {"cpu:gfx950", "cpu:gfx90a", "cpu:sm_90a",
                                       NULL};

/* The suite that main passed in, and a rig for each batch. */
static mutants_suite suite;
static rig *rigs;

static int length(const char *const *list)
{
    int count = 0;

    while (list[count] != NULL)
        count++;
    return count;
}

static int batches(void)
{
    return (suite.count + BATCH - 1) / BATCH;
}

static int vendor_of(const char *target)
{
    return strstr(target, ":sm_") != NULL ? NV : AMD;
}

/* ---- commands ----------------------------------------------------------- */

/* A row's command, taken apart. */
typedef struct command {
    char family[80];
    char spec[400];
    const char *arguments;
} command;

static command read_command(const mutant *m)
{
    size_t spec = strcspn(m->command, " ");
    size_t family = strcspn(m->command, ": ");
    command c;

    ck_assert_uint_lt(family, sizeof(c.family));
    ck_assert_uint_lt(spec, sizeof(c.spec));
    memcpy(c.family, m->command, family);
    c.family[family] = '\0';
    memcpy(c.spec, m->command, spec);
    c.spec[spec] = '\0';
    c.arguments = m->command + spec + strspn(m->command + spec, " ");
    return c;
}

static bool is_as_it_is(const mutant *m)
{
    return m->change.from[0] == '\0' && m->change.to[0] == '\0';
}

/* ---- sources ------------------------------------------------------------ */

/* Whether a file is a vendor's instructions, which mutants may not change. */
static bool is_vendor(const char *name, size_t len)
{
    static const char *const files[] = {"vendor", "cpu_hooks", "tma", "wgmma",
                                        "tensor_map"};
    bool is = false;

    for (size_t i = 0; i < COUNT(files) && !is; i++)
        is = len >= strlen(files[i]) &&
             memcmp(name, files[i], strlen(files[i])) == 0;
    return is;
}

/* Returns the file that a line includes, with its name's length, and sets its
 * folder if it is common/ instead of the line's own.  Returns NULL for other
 * lines, and for files that the mutant has of its own. */
static const char *included(const char *line, const char **folder, size_t *len)
{
    const char *name = NULL;

    if (strncmp(line, "#include \"../common/", 20) == 0) {
        name = line + 20;
        *folder = "common";
    } else if (strncmp(line, "#include \"", 10) == 0) {
        name = line + 10;
    }
    if (name == NULL || strncmp(name, "params.h", 8) == 0 ||
        strncmp(name, "args.h", 6) == 0)
        return NULL;
    *len = strcspn(name, "\"");
    return name;
}

static const char *embedded(const char *folder, const char *file, size_t len)
{
    const char *text;
    char path[200];

    (void)snprintf(path, sizeof(path), "%s/%.*s", folder, (int)len, file);
    text = groat__embedded_find(path);
    ck_assert_msg(text != NULL, "no %s", path);
    return text;
}

/* Inlines the files that a text of this folder includes, each once. */
static void put_in_place(const char *text, const char *folder, groat__str *seen,
                         groat__str *out)
{
    for (const char *line = text; *line != '\0';) {
        size_t len = strcspn(line, "\n") + (line[strcspn(line, "\n")] != '\0');
        const char *from = folder;
        size_t chars = 0;
        const char *name = included(line, &from, &chars);
        char mark[160];

        if (name == NULL) {
            if (strncmp(line, "#pragma once", 12) != 0)
                groat__str_addn(out, line, len);
        } else if (is_vendor(name, chars)) {
            groat__str_addf(out, "#include \"../common/%.*s\"\n", (int)chars,
                            name);
        } else {
            (void)snprintf(mark, sizeof(mark), "<%s/%.*s>", from, (int)chars,
                           name);
            if (seen->len == 0 || strstr(seen->data, mark) == NULL) {
                groat__str_add(seen, mark);
                put_in_place(embedded(from, name, chars), from, seen, out);
            }
        }
        line += len;
    }
}

/* Returns the source of a family as mutations see it; free it. */
static char *source_of(const char *family)
{
    groat__str seen = {0};
    groat__str out = {0};
    char file[100];
    int len = snprintf(file, sizeof(file), "%s.h", family);

    put_in_place(embedded(family, file, (size_t)len), family, &seen, &out);
    groat__str_free(&seen);
    return groat__str_take(&out);
}

/* Writes row i as the family "mutant<i>". */
static void write_family(int i)
{
    const mutant *m = &suite.table[i];
    rig *r = &rigs[i / BATCH];
    command c = read_command(m);
    char *source = source_of(c.family);
    char name[40];
    char file[48];
    const mutation rename = {"family ", c.family, 0, name};

    (void)snprintf(name, sizeof(name), "mutant%d", i);
    (void)snprintf(file, sizeof(file), "%s.h", name);
    rig_write_source(r, name, "args.h", embedded(c.family, "args.h", 6));
    mutation_write(r, name, "params.def", embedded(c.family, "params.def", 10),
                   &rename);
    mutation_write(r, name, file, source, &m->change);
    free(source);
}

static void once_before(void)
{
    rigs = calloc((size_t)batches(), sizeof(*rigs));
    ck_assert_ptr_nonnull(rigs);
    for (int i = 0; i < batches(); i++)
        rig_make(&rigs[i]);
    for (int i = 0; i < suite.count; i++)
        write_family(i);
}

static void once_after(void)
{
    for (int i = 0; i < batches(); i++)
        rig_drop(&rigs[i]);
    free(rigs);
}

/* ---- mutants ------------------------------------------------------------ */

/* Launches row i with d's arguments; notes unexpected outcomes in `wrong`. */
static void try_one(drive *d, int i, groat__str *wrong)
{
    const mutant *m = &suite.table[i];
    const char *target = groat_spec_target(d->spec);
    bool judged = (m->judged & vendor_of(target)) != 0;
    bool off = false;
    groat_error error = GROAT_ERROR_INIT;
    groat_kernel *kernel = NULL;
    groat_status status;
    command c = read_command(m);
    char spec[480];

    (void)snprintf(spec, sizeof(spec), "mutant%d%s", i,
                   c.spec + strlen(c.family));
    ck_assert_msg(groat_kernel_get(d->context, spec, target, &kernel, NULL,
                                   &error) == GROAT_OK,
                  "%s: %s %s", spec, error.text,
                  error.log == NULL ? "" : error.log);
    status = drive_launch(d, kernel, &error);
    groat_kernel_release(kernel);
    for (size_t b = 0; status == GROAT_OK && b < d->plan.buffer_count; b++)
        off =
            off || (d->plan.buffers[b].output && drive_wrong(d, b) != SIZE_MAX);
    if (status != (judged ? GROAT_JUDGED : GROAT_OK) ||
        (judged && strstr(error.text, " thread ") == NULL) ||
        off != ((m->wrong & vendor_of(target)) != 0))
        groat__str_addf(wrong,
                        "row %d, '%s' for '%s' number %d behind '%s', shown by "
                        "%s on %s: %s, %s output %s\n",
                        i, m->change.to, m->change.from, m->change.nth,
                        m->change.behind, m->command, target,
                        groat_status_name(status),
                        status != GROAT_OK ? "no"
                        : off              ? "wrong"
                                           : "right",
                        error.text);
    groat_error_clear(&error);
}

/* Returns whether a spec runs on this target. */
static bool is_run(groat_context *context, const char *spec, const char *target)
{
    if (!drive_allows(context, spec, target))
        return false;
    for (int t = 0; suite.once && strcmp(suite.targets[t], target) != 0; t++)
        if (vendor_of(suite.targets[t]) == vendor_of(target) &&
            drive_allows(context, spec, suite.targets[t]))
            return false;
    return true;
}

/* Tries all rows from `first` to `end` with the command of row `first`; the
 * driver's input and expected output are made once. */
static void try_command(groat_context *context, const char *target, int first,
                        int end, groat__str *wrong)
{
    command c = read_command(&suite.table[first]);
    const groat_driver *driver = groat_driver_find(c.family);
    int64_t values[GROAT_DRIVER_ARGS];
    drive d;

    ck_assert_msg(driver != NULL, "no driver of %s", c.family);
    if (!is_run(context, c.spec, target))
        return;
    drive_values(driver, values, "%s", c.arguments);
    drive_open(&d, context, driver, c.spec, target, values);
    drive_fill(&d, INPUT_SEED);
    for (int i = first; i < end; i++)
        if (strcmp(suite.table[i].command, suite.table[first].command) == 0)
            try_one(&d, i, wrong);
    drive_close(&d);
}

/* Returns whether no row from `first` to i has the command of row i. */
static bool is_new_command(int first, int i)
{
    for (int n = first; n < i; n++)
        if (strcmp(suite.table[n].command, suite.table[i].command) == 0)
            return false;
    return true;
}

/* _i: target, batch and seed. */
START_TEST(each_mutant_is_found)
{
    const char *target = suite.targets[_i % length(suite.targets)];
    int batch = _i / length(suite.targets) % batches();
    int first = batch * BATCH;
    int end = first + BATCH < suite.count ? first + BATCH : suite.count;
    groat_options options = rig_options(&rigs[batch]);
    groat__str wrong = {0};
    groat_context *context;

    options.seed = (uint64_t)(_i / length(suite.targets) / batches());
    context = rig_open_with(&rigs[batch], &options);
    for (int i = first; i < end; i++)
        if (is_new_command(first, i))
            try_command(context, target, i, end, &wrong);
    ck_assert_msg(wrong.len == 0, "%s", wrong.data);
    groat__str_free(&wrong);
    groat_close(context);
}
END_TEST

/* ---- the table ---------------------------------------------------------- */

/* Returns whether row i takes out the call at this place of its source. */
static bool takes_out(int i, const char *source, const char *at,
                      const char *call)
{
    const mutation *m = &suite.table[i].change;

    return strncmp(m->from, call, strlen(call)) == 0 &&
           m->to[strspn(m->to, " ;")] == '\0' && mutation_find(source, m) == at;
}

/* Returns the next call at or behind `at`, outside comments. */
static const char *next_call(const char *source, const char *at,
                             const char *call)
{
    while (at != NULL && (at = strstr(at, call)) != NULL) {
        const char *line = at;

        while (line > source && line[-1] != '\n')
            line--;
        while (line < at && strncmp(line, "//", 2) != 0)
            line++;
        if (line == at)
            return at;
        at += strlen(call);
    }
    return NULL;
}

/* Notes the calls of a family that no row takes out; returns how many calls it
 * has. */
static int look_for(const char *family, const char *call, groat__str *missing)
{
    char *source = source_of(family);
    const char *at = next_call(source, source, call);
    int count = 0;

    for (; at != NULL; at = next_call(source, at + 1, call)) {
        bool found = false;

        count++;
        for (int i = 0; i < suite.count && !found; i++) {
            command c = read_command(&suite.table[i]);

            found =
                strcmp(c.family, family) == 0 && takes_out(i, source, at, call);
        }
        if (!found)
            groat__str_addf(missing, "%s: no row takes out number %d: %.*s\n",
                            family, count, (int)strcspn(at, "\n"), at);
    }
    free(source);
    return count;
}

/* Each wait, barrier, fence and commit has a mutant. */
START_TEST(the_table_is_complete)
{
    groat__str missing = {0};

    for (int k = 0; suite.calls[k] != NULL; k++) {
        int count = 0;

        for (int i = 0; i < suite.count; i++) {
            command c = read_command(&suite.table[i]);
            bool seen = false;

            for (int n = 0; n < i && !seen; n++)
                seen =
                    strcmp(read_command(&suite.table[n]).family, c.family) == 0;
            if (!seen)
                count += look_for(c.family, suite.calls[k], &missing);
        }
        ck_assert_msg(count > 0, "no family has '%s'", suite.calls[k]);
    }
    ck_assert_msg(missing.len == 0, "%s", missing.data);
    groat__str_free(&missing);
}
END_TEST

/* A row runs on at least one target, and on one of each vendor on which it is
 * said to be found; so does the family as it is. */
START_TEST(every_row_runs)
{
    groat_context *context = drive_open_context(NULL, NULL);

    for (int i = 0; i < suite.count; i++) {
        const mutant *m = &suite.table[i];
        command c = read_command(m);
        bool sound = false;
        int runs = 0;

        for (int t = 0; suite.targets[t] != NULL; t++)
            if (drive_allows(context, c.spec, suite.targets[t]))
                runs |= vendor_of(suite.targets[t]);
        for (int n = 0; n < suite.count && !sound; n++)
            sound = is_as_it_is(&suite.table[n]) &&
                    strcmp(suite.table[n].command, m->command) == 0;
        ck_assert_msg(runs != 0, "row %d: no target takes %s", i, c.spec);
        ck_assert_msg(((m->judged | m->wrong) & ~runs) == 0,
                      "row %d is found where no target takes %s", i, c.spec);
        ck_assert_msg(sound, "%s: the family as it is does not run",
                      m->command);
        ck_assert_msg((m->judged & m->wrong) == 0,
                      "row %d: what is judged has no output", i);
    }
    groat_close(context);
}
END_TEST

int mutants_main(const mutants_suite *given)
{
    Suite *tests = suite_create(given->name);
    TCase *mutants = tcase_create(given->name);
    int seeds = is_tsan() ? 1 : given->seeds;

    suite = *given;
    if (suite.calls == NULL)
        suite.calls = mutants_calls;
    if (suite.targets == NULL)
        suite.targets = mutants_targets;
    /* All tests share the caches: one compile per mutant and target. */
    tcase_add_unchecked_fixture(mutants, once_before, once_after);
    tcase_set_timeout(mutants, 600);
    tcase_add_test(mutants, the_table_is_complete);
    tcase_add_test(mutants, every_row_runs);
    tcase_add_loop_test(mutants, each_mutant_is_found, 0,
                        length(suite.targets) * batches() * seeds);
    suite_add_tcase(tests, mutants);
    return run_suite(tests);
}
