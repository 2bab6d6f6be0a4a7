/* SPDX-License-Identifier: Apache-2.0
 *
 * new.c - groat new: makes a family's folder that `groat run` can run at once.
 *
 * Owns a new folder until the command succeeds: a failure removes it.  With
 * --refresh a failure leaves the folder partly updated.
 */
#include "cli/family/new.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "cli/family/folder.h"

enum { NAME_BYTES_MAX = 48, ALL_MAY_READ = 0644 };

static const char token[] = "FAMILY";

typedef struct work {
    groat__cli *cli;
    const char *name; /* of the family */
    const char *word; /* the folder, as given on the command line */
    const char *from; /* name of the template */
    bool draws;       /* its kernel uses shared memory */
    bool refresh;     /* rewrite the editor files of an existing folder */
    groat__str folder;
    groat_error error;
} work;

/* ---- texts -----------------------------------------------------------------
 */

/* Appends text with FAMILY replaced by the family's name. */
static void add_named(const char *text, const char *name, groat__str *out)
{
    const char *at;

    while ((at = strstr(text, token)) != NULL) {
        groat__str_addn(out, text, (size_t)(at - text));
        groat__str_add(out, name);
        text = at + strlen(token);
    }
    groat__str_add(out, text);
}

static groat_status write_file(work *w, const char *name, groat__str *text)
{
    groat__str path = {0};
    groat_status status;

    groat__str_addf(&path, "%s/%s", w->folder.data, name);
    status = path.failed || text->failed
                 ? groat__fail(&w->error, GROAT_NO_MEMORY, "out of memory")
                 : groat__fs_write(path.data, text->data, text->len,
                                   ALL_MAY_READ, &w->error);
    groat__str_free(&path);
    groat__str_free(text);
    return status;
}

/* Writes the files of the template. */
static groat_status copy_template(work *w)
{
    size_t len = strlen(w->from);
    groat_status status = GROAT_OK;

    for (size_t i = 0; groat__templates[i].path && !status; i++) {
        const char *path = groat__templates[i].path;
        groat__str name = {0};
        groat__str text = {0};

        if (strncmp(path, w->from, len) != 0 || path[len] != '/')
            continue;
        add_named(path + len + 1, w->name, &name);
        if (!name.failed)
            name.data[name.len - strlen(".in")] = '\0';
        add_named(groat__templates[i].text, w->name, &text);
        w->draws |= strstr(groat__templates[i].text, "shared_") != NULL;
        if (name.failed)
            text.failed = true;
        status = write_file(w, name.failed ? "" : name.data, &text);
        groat__str_free(&name);
    }
    return status;
}

/* ---- what editors want ----------------------------------------------------
 */

/* Writes params.h: the constants of the default spec, cut from its source. */
static groat_status write_params(work *w, groat_spec *spec)
{
    groat__str text = {0};
    groat__str start = {0};
    char *source = NULL;
    groat_status status = groat_spec_source(spec, &source, &w->error);
    const char *from = NULL;

    if (status)
        return status;
    groat__str_addf(&start, "#line 1 \"%s/params.h\"\n", w->name);
    if (!start.failed)
        from = strstr(source, start.data);
    groat__str_add(&text,
                   "// The defaults of params.def, which has their units and "
                   "meanings, for editors:\n// made by groat new.  A build "
                   "of a kernel never reads this file; it gets the\n"
                   "// constants of its spec.\n"
                   "#pragma once\n\n");
    if (from) {
        const char *end;

        from += start.len;
        end = strstr(from, "\n#line ");
        groat__str_addn(&text, from,
                        end ? (size_t)(end - from) + 1 : strlen(from));
    }
    groat__str_free(&start);
    groat_free(source);
    return write_file(w, "params.h", &text);
}

static groat_status write_run_header(work *w, const groat_family *family,
                                     const groat_spec *spec)
{
    int64_t values[GROAT_DRIVER_ARGS] = {0};
    const groat_driver *driver = NULL;
    groat__folder *folder = NULL;
    groat_plan plan = {0};
    groat__str text = {0};
    groat_status status = groat__folder_driver(w->cli->context, family, 0,
                                               &driver, &folder, &w->error);

    if (!status && folder) {
        plan.driver = driver;
        for (size_t i = 0; driver->args[i].name; i++)
            values[i] = driver->args[i].deflt;
        status = driver->plan(spec, values, &plan, &w->error);
    }
    if (!status && folder) {
        groat__reference_header(family, spec, &plan, &text);
        status = write_file(w, "run.h", &text);
    }
    groat__folder_close(folder);
    return status;
}

/* A kernel includes "../common/NAME.h", which editors find relative to the
 * library's folder of kernels. */
static groat_status write_editor_files(work *w)
{
    static const char *const flags[] = {"-xc++", "-std=c++17",
                                        "-Wno-pragma-once-outside-header",
                                        "-iquote" GROAT_KERNELS_DIR "/common"};
    groat__json json = {0};
    groat__str text = {0};
    groat__str file = {0};
    groat__str folder = {0};
    char *real = realpath(w->folder.data, NULL);
    char *commands;
    groat_status status;

    groat__str_add(&text, "CompileFlags:\n  Add:\n");
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
        groat__str_addf(&text, "    - \"%s\"\n", flags[i]);
    groat__str_add(&text, "---\nIf:\n  PathMatch: .*\\.c\nCompileFlags:\n"
                          "  Remove: [-xc++, -std=c++17]\n");
    status = write_file(w, ".clangd", &text);
    groat__str_add(&folder, real ? real : w->folder.data);
    groat__str_addf(&file, "%s.h", w->name);
    groat__json_array(&json, NULL);
    groat__json_object(&json, NULL);
    groat__json_string(&json, "directory", folder.failed ? "" : folder.data);
    groat__json_string(&json, "file", file.failed ? "" : file.data);
    groat__json_array(&json, "arguments");
    groat__json_string(&json, NULL, "c++");
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
        groat__json_string(&json, NULL, flags[i]);
    groat__json_string(&json, NULL, "-fsyntax-only");
    groat__json_string(&json, NULL, file.failed ? "" : file.data);
    commands = groat__json_take(&json);
    groat__str_addf(&text, "%s\n", commands ? commands : "");
    text.failed = text.failed || commands == NULL;
    if (!status)
        status = write_file(w, "compile_commands.json", &text);
    free(commands);
    groat__str_free(&text);
    groat__str_free(&file);
    groat__str_free(&folder);
    free(real);
    return status;
}

static groat_status write_readme(work *w)
{
    groat__str text = {0};

    groat__str_addf(
        &text,
        "# %s\n\nMade by `groat new %s --from %s`.\n\n"
        "    groat run %s --target cpu:sm_90a   run on the judge, compared "
        "with "
        "reference.c\n"
        "    groat run %s --target cuda:sm_90a  run on a GPU\n",
        w->name, w->name, w->from, w->folder.data, w->folder.data);
    if (w->draws)
        groat__str_addf(&text,
                        "    groat draw %s --target cpu:sm_90a -o %s.svg\n",
                        w->folder.data, w->name);
    groat__str_addf(
        &text,
        "    groat families %s                  its parameters, buffers, "
        "arguments\n\n"
        "| file | what it is |\n|---|---|\n"
        "| `%s.h` | the kernel |\n"
        "| `params.def` | its compile-time parameters, rules and launch shape "
        "|\n"
        "| `args.h` | its launch arguments |\n"
        "| `run.def` | its buffers, run-time arguments and grid, for `groat "
        "run` |\n"
        "| `reference.c` | what it should write, in C |\n"
        "| `params.h`, `run.h`, `.clangd`, `compile_commands.json` | for "
        "editors; groat reads none of them |\n",
        w->folder.data, w->name);
    return write_file(w, "README.md", &text);
}

/* Whether one of the words of a line is `name`. */
static bool has_word(const char *line, size_t len, const char *name)
{
    for (size_t at = 0; at < len;) {
        size_t end = at;

        while (end < len && groat__is_word(line[end]))
            end++;
        if (groat__is_text(line + at, end - at, name))
            return true;
        at = end + (end == at);
    }
    return false;
}

/* Refuses a name that a file of the library has, as far as the family includes
 * it: the kernel is in a namespace of this name, beside the library's. */
static groat_status check_free(work *w, groat_spec *spec)
{
    char *source = NULL;
    groat_status status = groat_spec_source(spec, &source, &w->error);
    const char *file = "";
    size_t len;

    for (const char *line = source; !status && *line;
         line += len + (line[len] == '\n')) {
        const char *quote = strchr(line, '"');

        len = strcspn(line, "\n");
        if (strncmp(line, "#line ", 6) == 0)
            file = quote ? quote + 1 : "";
        else if (strncmp(file, "common/", 7) == 0 &&
                 has_word(line, len, w->name))
            status = groat__fail(&w->error, GROAT_INVALID,
                                 "a family is not called %s: %.*s has "
                                 "something of that name",
                                 w->name, (int)strcspn(file, "\""), file);
    }
    groat_free(source);
    return status;
}

/* Opens a context that sees the folder, and writes the generated files. */
static int write_made(work *w)
{
    /* Both vendors: a family may need a feature that only one has. */
    static const char *const targets[] = {"cpu:sm_90a", "cpu:gfx950"};
    groat_spec *spec = NULL;
    const groat_family *family;
    groat_status status = GROAT_OK;
    int code;

    /* As if given by --family-path: a path of one folder, the family's own. */
    w->cli->values.family_path = w->word;
    code = groat__cli_open(w->cli, GROAT_OPEN_NO_DISK);
    if (code)
        return code;
    family = groat_family_find(w->cli->context, w->name);
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        status = groat_spec_parse(w->cli->context, w->name, targets[i], &spec,
                                  &w->error);
        if (!status)
            break;
    }
    if (!status && !w->refresh)
        status = check_free(w, spec);
    if (!status)
        status = write_params(w, spec);
    if (!status && family)
        status = write_run_header(w, family, spec);
    if (!status)
        status = write_editor_files(w);
    if (!status && !w->refresh)
        status = write_readme(w);
    groat_spec_free(spec);
    return status ? groat__cli_fail(w->cli, &w->error) : GROAT__EXIT_DONE;
}

/* ---- the command -----------------------------------------------------------
 */

static int check_name(groat__cli *cli, const char *name)
{
    static const char *const taken[] = {"args", "params", "run"};
    /* Words of C++20, functions that compilers know, and what holds the
     * library's files and names. */
    static const char *const words[] = {"concept", "requires", "fma",
                                        "sqrt",    "common",   "groat"};
    bool is_word = groat__is_keyword(name);

    if (!groat__is_name(name) || strlen(name) > NAME_BYTES_MAX)
        return groat__cli_refuse(cli, GROAT_INVALID,
                                 "'%.64s' is no name of a family: a letter, "
                                 "then letters, digits and _, %d at most",
                                 name, NAME_BYTES_MAX);
    /* The kernel NAME.h would collide with args.h, params.h or run.h. */
    for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
        if (strcmp(name, taken[i]) == 0)
            return groat__cli_refuse(cli, GROAT_INVALID,
                                     "a family is not called %s: %s.h is "
                                     "another of its files",
                                     name, name);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        is_word = is_word || strcmp(name, words[i]) == 0;
    if (is_word)
        return groat__cli_refuse(cli, GROAT_INVALID,
                                 "a family is not called %s: that is a word of "
                                 "C++ or of the library",
                                 name);
    return GROAT__EXIT_DONE;
}

/* Returns whether there is such a template, and lists all templates. */
static bool is_template(const char *name, groat__str *all)
{
    const char *last = "";
    bool found = false;

    for (size_t i = 0; groat__templates[i].path; i++) {
        const char *path = groat__templates[i].path;
        size_t len = strcspn(path, "/");

        if (strncmp(path, last, len + 1) == 0)
            continue;
        last = path;
        groat__str_addf(all, "%s%.*s", all->len ? ", " : "", (int)len, path);
        found = found || groat__is_text(path, len, name);
    }
    return found;
}

static int check_path(groat__cli *cli, const char *path)
{
    return strchr(path, ':') == NULL
               ? GROAT__EXIT_DONE
               : groat__cli_refuse(cli, GROAT_INVALID,
                                   "'%.64s' has a ':', which stands between a "
                                   "family and its parameters",
                                   path);
}

static int check_template(groat__cli *cli, const char *name)
{
    groat__str all = {0};
    int code = GROAT__EXIT_DONE;

    if (!is_template(name, &all))
        code = groat__cli_refuse(cli, GROAT_INVALID,
                                 "there is no template '%.64s'; templates: %s",
                                 name, all.failed ? "" : all.data);
    groat__str_free(&all);
    return code;
}

static void answer(groat__cli *cli, const work *w)
{
    if (cli->values.json) {
        groat__json_string(&cli->json, "family", w->name);
        groat__json_string(&cli->json, "folder", w->folder.data);
        groat__json_string(&cli->json, "from", w->from);
    } else if (w->refresh) {
        (void)printf("%s: params.h, run.h, .clangd and compile_commands.json "
                     "are those of params.def and run.def\n",
                     w->folder.data);
    } else {
        (void)printf("%s: a family from template %s; try\n"
                     "    groat run %s --target cpu:sm_90a\n",
                     w->folder.data, w->from, w->folder.data);
    }
}

static int make_family(work *w)
{
    groat__cli *cli = w->cli;
    int code;

    if (mkdir(w->folder.data, 0777) != 0)
        return groat__cli_refuse(cli, GROAT_IO, "cannot make folder %s: %s",
                                 w->folder.data, strerror(errno));
    code = copy_template(w) ? groat__cli_fail(cli, &w->error) : write_made(w);
    if (code)
        groat__scratch_remove(&w->folder);
    return code;
}

static int refresh_family(work *w)
{
    if (!groat__file_is_in(w->folder.data, w->folder.len, "params.def"))
        return groat__cli_refuse(w->cli, GROAT_INVALID,
                                 "%s has no params.def: --refresh is for the "
                                 "folder of a family",
                                 w->folder.data);
    return write_made(w);
}

int groat__cmd_new(groat__cli *cli)
{
    const groat__values *values = &cli->values;
    groat__str word = {0};
    work w = {
        .cli = cli, .refresh = values->refresh, .error = GROAT_ERROR_INIT};
    const char *slash;
    int code;

    if (values->refresh && values->from)
        return groat__cli_refuse(cli, GROAT_INVALID,
                                 "--from makes a folder, --refresh is for one "
                                 "that is there");
    groat__str_add(&word, cli->words[0]);
    while (word.len > 1 && word.data[word.len - 1] == '/')
        word.data[--word.len] = '\0';
    if (word.failed)
        return groat__cli_refuse(cli, GROAT_NO_MEMORY, "out of memory");
    slash = strrchr(word.data, '/');
    w.word = word.data;
    w.name = slash ? slash + 1 : word.data;
    if (!values->refresh)
        w.from = values->from ? values->from : "reduce";
    groat__str_addf(&w.folder, "%s%s", slash ? "" : "./", word.data);
    code = check_path(cli, word.data);
    if (!code)
        code = check_name(cli, w.name);
    if (!code && w.from)
        code = check_template(cli, w.from);
    if (!code && w.folder.failed)
        code = groat__cli_refuse(cli, GROAT_NO_MEMORY, "out of memory");
    if (!code)
        code = w.refresh ? refresh_family(&w) : make_family(&w);
    if (!code)
        answer(cli, &w);
    groat__str_free(&w.folder);
    groat__str_free(&word);
    return code;
}
