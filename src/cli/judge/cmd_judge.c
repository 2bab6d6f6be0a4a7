/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_judge.c - groat judge: runs a kernel of a file of CUDA C++ on the judge.
 *
 * Reads the file and the command line's launch options, of which cuda_family.c
 * makes a family's folder, and runs it as groat run does.  Owns the folder.
 */
#include "cli/judge/judge.h"

#include <stdlib.h>
#include <string.h>

#include "cli/judge/cuda_family.h"
#include "cli/judge/cuda_needed.h"
#include "cli/judge/cuda_ptx.h"
#include "cli/run/trial.h"

enum { ENTRY_BYTES_MAX = 256, BLOCK_Z_MAX = 64 };

/* ---- what the command line says -------------------------------------------
 */

static int read_block(groat__cuda_work *w)
{
    const char *words = w->cli->values.block;
    const char *at = words;
    unsigned long long threads = 1;
    char *end = NULL;

    for (int i = 0; i < 3; i++)
        w->block[i] = 1;
    for (int i = 0; at && i < 3; i++) {
        unsigned long value =
            *at >= '0' && *at <= '9' ? strtoul(at, &end, 10) : 0;

        if (value == 0 ||
            value > (i == 2 ? BLOCK_Z_MAX : GROAT__CUDA_BLOCK_MAX) ||
            (*end != '\0' && *end != ','))
            break;
        w->block[i] = (unsigned)value;
        threads *= value;
        at = *end == ',' ? end + 1 : NULL;
    }
    if (words && at == NULL && threads <= GROAT__CUDA_BLOCK_MAX)
        return GROAT__EXIT_DONE;
    return groat__cli_refuse(w->cli, GROAT_INVALID,
                             "--block is %s%.64s%s; expected X, X,Y or X,Y,Z "
                             "threads, %d together at most, and Z %d",
                             words ? "'" : "", words ? words : "not given",
                             words ? "'" : "", GROAT__CUDA_BLOCK_MAX,
                             BLOCK_Z_MAX);
}

/* Takes the kernel's name of an entry that was given, or found. */
static int take_entry(groat__cuda_work *w, const char *entry)
{
    const char *name = groat__cuda_name(entry);
    size_t len = strcspn(name, "<");
    bool fits = len > 0 && len <= ENTRY_BYTES_MAX && groat__is_letter(*name);

    for (size_t i = 0; fits && i < len; i++)
        fits = groat__is_word(name[i]);
    for (const char *at = entry; fits && at < name; at++)
        fits = groat__is_word(*at) || *at == ':';
    if (!fits)
        return groat__cli_refuse(w->cli, GROAT_INVALID,
                                 "--entry is '%.64s'; expected the name of a "
                                 "__global__ function, at most %d characters, "
                                 "with template arguments where it has "
                                 "parameters",
                                 entry, ENTRY_BYTES_MAX);
    memcpy(w->name, name,
           len < GROAT__CUDA_NAME_BYTES ? len : GROAT__CUDA_NAME_BYTES);
    if (strcmp(w->name, "args") == 0)
        return groat__cli_refuse(w->cli, GROAT_INVALID,
                                 "--entry is args, which groat's file of "
                                 "arguments is called; rename the kernel");
    return GROAT__EXIT_DONE;
}

static int check_target(const groat__cuda_work *w)
{
    const char *target = w->cli->values.target;

    if (!target || strncmp(target, "cpu:sm_", 7) == 0)
        return GROAT__EXIT_DONE;
    return groat__cli_refuse(w->cli, GROAT_INVALID,
                             "--target is %.64s; the judge runs CUDA C++ as "
                             "cpu:sm_80, cpu:sm_90a or another cpu:sm_",
                             target);
}

/* As a device refuses a block that is larger than the kernel's bound. */
static int check_bounds(const groat__cuda_work *w)
{
    unsigned threads = w->block[0] * w->block[1] * w->block[2];

    if (w->source.most_threads == 0 || threads <= w->source.most_threads)
        return GROAT__EXIT_DONE;
    return groat__cli_refuse(w->cli, GROAT_INVALID,
                             "--block has %u threads; __launch_bounds__ of %s "
                             "allows %u",
                             threads, w->name, w->source.most_threads);
}

/* Lists the kernel's parameters as "type name, ...". */
static void list_params(const groat__cuda_work *w, groat__str *out)
{
    for (size_t i = 0; i < w->source.param_count; i++)
        groat__str_addf(out, "%s%s %s", i ? ", " : "",
                        w->source.params[i].type.data,
                        w->source.params[i].name.data);
}

/* Whether the parameter may be a structure: no pointer, and no known number. */
static bool may_be_structure(const groat__cuda_param *param)
{
    return !param->pointer && !param->map && param->owner == 0 &&
           (!param->dtype || groat__cuda_is_vector(param->type.data));
}

/* Appends "p_a_w_2" for "p.a.w[2]", which is what arguments can be called;
 * false for what is no path to a member. */
static bool add_name(const char *text, size_t len, groat__str *out)
{
    const char *at = text;
    const char *end = text + len;
    size_t digits;

    while (at < end) {
        size_t word = 0;

        while (at + word < end && groat__is_word(at[word]))
            word++;
        groat__str_addn(out, at, word);
        at += word;
        if (word == 0 || at == end)
            return word > 0 && !out->failed;
        for (; at < end && *at == '['; at += digits + 2) {
            digits = strspn(at + 1, "0123456789");
            if (digits == 0 || at[digits + 1] != ']')
                return false;
            groat__str_addf(out, "_%.*s", (int)digits, at + 1);
        }
        if (at < end && *at++ != '.')
            return false;
        if (at < end)
            groat__str_add(out, "_");
    }
    return at == end && len > 0 && at[-1] == ']' && !out->failed;
}

/* Fills what is known of the member at `path` of a structure. */
static bool read_member(const groat__cuda_source *source,
                        const groat__cuda_param *param, bool pointer,
                        groat__cuda_param *out)
{
    if (groat__cuda_member(source->text.data, param->type.data, out->path.data,
                           out))
        return true;
    if (groat__cuda_is_vector(param->type.data))
        return false;
    groat__str_addf(&out->type, "%s::%s", param->type.data, out->path.data);
    out->pointer = pointer;
    return true;
}

/* Adds "p_n" or "p.n", a member n of a parameter p, to the parameters.  Returns
 * its index, or GROAT__CUDA_PARAMS. */
static size_t add_member(groat__cuda_work *w, const char *text, size_t len,
                         groat__str *name, bool pointer)
{
    groat__cuda_source *source = &w->source;
    groat__cuda_param *out = &source->params[source->param_count];

    for (size_t i = 0;
         i < source->own_count && source->param_count < GROAT__CUDA_PARAMS;
         i++) {
        const groat__cuda_param *param = &source->params[i];
        size_t lead = param->name.len;

        if (!may_be_structure(param) || len <= lead + 1 ||
            strchr("_.", text[lead]) == NULL ||
            strncmp(text, param->name.data, lead) != 0)
            continue;
        groat__str_addn(&out->path, text + lead + 1, len - lead - 1);
        if (out->path.failed || !read_member(source, param, pointer, out)) {
            groat__str_free(&out->path);
            groat__str_free(&out->type);
            return GROAT__CUDA_PARAMS;
        }
        out->name = *name;
        *name = (groat__str){0};
        out->owner = i + 1;
        return source->param_count++;
    }
    return GROAT__CUDA_PARAMS;
}

/* Finds the parameter, or member, of NAME=VALUE; GROAT__CUDA_PARAMS if there is
 * none that is a pointer, or a value. */
static size_t find_param(groat__cuda_work *w, const char *text, size_t len,
                         bool pointer)
{
    groat__str name = {0};
    bool named = add_name(text, len, &name);
    size_t at = 0;

    while (named && at < w->source.param_count &&
           strcmp(w->source.params[at].name.data, name.data) != 0)
        at++;
    if (!named)
        at = GROAT__CUDA_PARAMS;
    else if (at == w->source.param_count)
        at = add_member(w, text, len, &name, pointer);
    groat__str_free(&name);
    if (at < GROAT__CUDA_PARAMS) {
        const groat__cuda_param *param = &w->source.params[at];

        if (pointer ? !param->pointer && param->dtype : param->pointer)
            return GROAT__CUDA_PARAMS;
    }
    return at;
}

/* Records NAME=VALUE of --buffer (`pointer`) or --arg. */
static int take_given(groat__cuda_work *w, const char *option, bool pointer,
                      const char *text)
{
    size_t len = strcspn(text, "=");
    size_t at =
        text[len] ? find_param(w, text, len, pointer) : GROAT__CUDA_PARAMS;
    groat__str all = {0};
    int code;

    if (at < GROAT__CUDA_PARAMS) {
        if (w->given[at].value)
            return groat__cli_refuse(w->cli, GROAT_INVALID,
                                     "--%s %.*s is there twice", option,
                                     (int)len, text);
        if (w->source.params[at].map && !pointer)
            return groat__cli_refuse(w->cli, GROAT_INVALID,
                                     "--arg %.*s is a tensor map: say what it "
                                     "maps, as --buffer " GROAT__CUDA_MAP_FORM,
                                     (int)len, text, (int)len, text);
        if (w->source.params[at].map && !w->source.params[at].in_place)
            return groat__cli_refuse(w->cli, GROAT_INVALID,
                                     "parameter %.*s is a tensor map without "
                                     "__grid_constant__: its address would be "
                                     "that of a copy, which no copy of a box "
                                     "may take",
                                     (int)len, text);
        if (w->source.params[at].deep)
            return groat__cli_refuse(w->cli, GROAT_INVALID,
                                     "%.*s points to pointers: groat judge has "
                                     "no buffers of pointers",
                                     (int)len, text);
        w->given[at].value = text + len + 1;
        /* Its type may be a typedef of one. */
        w->source.params[at].pointer = pointer;
        return GROAT__EXIT_DONE;
    }
    list_params(w, &all);
    code = groat__cli_refuse(w->cli, GROAT_INVALID,
                             "--%s is '%.64s'; expected NAME=%s of a %s of "
                             "%s(%.200s)",
                             option, text, pointer ? "SHAPE" : "VALUE",
                             pointer ? "pointer" : "value", w->name,
                             all.failed || !all.len ? "" : all.data);
    groat__str_free(&all);
    return code;
}

/* Whether a member of the parameter is given. */
static bool has_members(const groat__cuda_work *w, size_t param)
{
    for (size_t i = w->source.own_count; i < w->source.param_count; i++)
        if (w->source.params[i].owner == param + 1)
            return true;
    return false;
}

static int take_all(groat__cuda_work *w)
{
    const groat__values *values = &w->cli->values;
    int code = GROAT__EXIT_DONE;

    for (size_t i = 0; i < values->buffers.count && !code; i++)
        code = take_given(w, "buffer", true, values->buffers.item[i]);
    for (size_t i = 0; i < values->args.count && !code; i++)
        code = take_given(w, "arg", false, values->args.item[i]);
    for (size_t i = 0; i < w->source.own_count && !code; i++) {
        const groat__cuda_param *param = &w->source.params[i];

        if (w->given[i].value && !param->pointer &&
            groat__cuda_is_vector(param->type.data))
            code = groat__cli_refuse(w->cli, GROAT_INVALID,
                                     "--arg %s is a vector: say its members, "
                                     "as --arg %s.x=VALUE",
                                     param->name.data, param->name.data);
        else if (w->given[i].value && has_members(w, i))
            code = groat__cli_refuse(
                w->cli, GROAT_INVALID,
                "--arg %s is given, and members of it, too", param->name.data);
        else if (!w->given[i].value && param->map)
            code = groat__cli_refuse(
                w->cli, GROAT_INVALID,
                "parameter %s of %s, a tensor map, is not given: say "
                "--buffer " GROAT__CUDA_MAP_FORM,
                param->name.data, w->name, (int)param->name.len,
                param->name.data);
        else if (!w->given[i].value && !has_members(w, i))
            code = groat__cli_refuse(
                w->cli, GROAT_INVALID,
                "parameter %s %s of %s is not given: say --%s %s=%s%s",
                param->type.data, param->name.data, w->name,
                param->pointer ? "buffer" : "arg", param->name.data,
                param->pointer ? "ELEMENTS" : "VALUE",
                may_be_structure(param) ? ", or of a structure its members, as "
                                          "NAME.MEMBER=VALUE"
                                        : "");
    }
    return code;
}

/* ---- the command ----------------------------------------------------------
 */

/* Errors: INVALID if the name cannot stand in a #line. */
static groat_status check_name(groat__cuda_work *w)
{
    return strpbrk(w->shown, "\"\\\r\n") == NULL
               ? GROAT_OK
               : groat__fail(&w->error, GROAT_INVALID,
                             "the name of %s has a quote, a backslash or "
                             "a line break; rename the file",
                             w->file);
}

static groat_status read_source(groat__cuda_work *w)
{
    const groat__list *includes = &w->cli->values.includes;
    const groat__cuda_search search = {includes->item, includes->count,
                                       groat__cuda_knows};
    const char *entry = w->cli->values.entry;
    groat__str needed = {0};
    groat__str judged = {0};
    groat_status status = groat__cuda_files_read(&w->files, w->file, w->shown,
                                                 &search, &w->error);

    if (status)
        return status;
    groat__cuda_files_mark(&w->files, w->files.text.data, &w->quoted);
    groat__cuda_drop_unneeded(w->files.text.data, entry, &needed);
    if (!needed.failed && groat__cuda_read_ptx(needed.data, &judged))
        groat__str_add(&w->source.headers,
                       "#include \"../common/cuda_wgmma.h\"\n");
    status = needed.failed || judged.failed || w->quoted.failed
                 ? groat__fail(&w->error, GROAT_NO_MEMORY, "out of memory")
                 : groat__cuda_read(&w->files, judged.data ? judged.data : "",
                                    entry, &w->source, &w->error);
    groat__str_free(&needed);
    groat__str_free(&judged);
    if (w->source.left_out.len > 0 && !w->source.left_out.failed)
        groat__cli_say(w->cli,
                       "left out, as there is no such file beside the one that "
                       "includes it, nor in --include: %s",
                       w->source.left_out.data);
    return status;
}

/* Gives groat run the values by the names of the family's arguments. */
static groat_status hand_over(groat__cuda_work *w)
{
    groat__list *args = &w->cli->values.args;

    args->count = 0;
    for (size_t i = 0; i < w->source.param_count; i++) {
        groat__cuda_given *g = &w->given[i];

        if (!g->value || w->source.params[i].pointer)
            continue;
        groat__str_addf(&g->word, "%s=%s", w->source.params[i].name.data,
                        g->value);
        if (g->word.failed)
            return groat__fail(&w->error, GROAT_NO_MEMORY, "out of memory");
        args->item[args->count++] = g->word.data;
    }
    return GROAT_OK;
}

static int run(groat__cuda_work *w)
{
    const char *word = w->path.data;
    groat__cli *cli = w->cli;
    const char *const *words = cli->words;
    int code;

    cli->words = &word;
    cli->values.pointers = true;
    cli->values.no_cache = true;
    cli->quoted = w->quoted.data;
    if (!cli->values.target)
        cli->values.target = "cpu:sm_90a";
    if (!cli->values.grid)
        cli->values.grid = "1";
    code = groat__cmd_run(cli);
    cli->words = words;
    cli->quoted = NULL;
    if (code == GROAT__EXIT_FAILED && w->source.dynamic &&
        !cli->values.shared_bytes)
        groat__cli_say(cli,
                       "%s declares dynamic shared memory, and a block has "
                       "none; give it with --shared BYTES",
                       w->shown);
    return code;
}

int groat__cmd_judge(groat__cli *cli)
{
    groat__cuda_work w = {
        .cli = cli, .file = cli->words[0], .error = GROAT_ERROR_INIT};
    const char *slash = strrchr(w.file, '/');
    const char *entry = cli->values.entry;
    int code = entry ? take_entry(&w, entry) : GROAT__EXIT_DONE;

    /* Compilers place a relative name below "/", which findings leave out. */
    w.shown = *w.file == '/' ? slash + 1 : w.file;
    if (!code)
        code = read_block(&w);
    if (!code)
        code = check_target(&w);
    if (!code && (check_name(&w) || read_source(&w)))
        code = groat__cli_fail(cli, &w.error);
    if (!code && !entry)
        code = take_entry(&w, w.source.entry.data);
    if (!code)
        code = check_bounds(&w);
    if (!code)
        code = take_all(&w);
    if (!code && (groat__cuda_write_family(&w) || hand_over(&w)))
        code = groat__cli_fail(cli, &w.error);
    if (!code)
        code = run(&w);
    groat__scratch_remove(&w.folder);
    groat__str_free(&w.path);
    groat__str_free(&w.quoted);
    groat__cuda_free(&w.source);
    groat__cuda_files_free(&w.files);
    for (size_t i = 0; i < GROAT__CUDA_PARAMS; i++)
        groat__str_free(&w.given[i].word);
    return code;
}
