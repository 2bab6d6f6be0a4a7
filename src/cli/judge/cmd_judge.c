/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_judge.c - groat judge: runs a kernel of a file of CUDA C++ on the judge.
 *
 * Makes a family's folder from the file and the command line's launch options,
 * and runs it as groat run does.  Owns the folder.
 */
#include "cli/judge/judge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "cli/judge/cuda_needed.h"
#include "cli/judge/cuda_ptx.h"
#include "cli/judge/cuda_source.h"
#include "cli/run/trial.h"
#include "kernels-src/driver/element.h"

enum {
    ENTRY_BYTES_MAX = 256,
    NAME_BYTES_MAX = 48,
    FOR_ALL = 0644,
    BLOCK_MAX = 1024,
    BLOCK_Z_MAX = 64,
    SHARED_MAX = 228 << 10
};

/* The value of an option NAME=VALUE. */
typedef struct given {
    const char *value; /* NULL: not given */
    groat__str word;   /* the whole, as groat run takes it */
} given;

typedef struct work {
    groat__cli *cli;
    const char *file;
    const char *shown;             /* the file's name in findings */
    char name[NAME_BYTES_MAX + 1]; /* of the family: the entry's first bytes */
    unsigned block[3];
    groat__cuda_files files;
    groat__str quoted; /* their text, as it is, for findings */
    groat__cuda_source source;
    given given[GROAT__CUDA_PARAMS];
    groat__str folder; /* temporary folder that holds the family's */
    groat__str path;   /* the family's folder, as a word of groat run */
    groat_error error;
} work;

/* ---- what the command line says -------------------------------------------
 */

static int read_block(work *w)
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

        if (value == 0 || value > (i == 2 ? BLOCK_Z_MAX : BLOCK_MAX) ||
            (*end != '\0' && *end != ','))
            break;
        w->block[i] = (unsigned)value;
        threads *= value;
        at = *end == ',' ? end + 1 : NULL;
    }
    if (words && at == NULL && threads <= BLOCK_MAX)
        return GROAT__EXIT_DONE;
    return groat__cli_refuse(w->cli, GROAT_INVALID,
                             "--block is %s%.64s%s; expected X, X,Y or X,Y,Z "
                             "threads, %d together at most, and Z %d",
                             words ? "'" : "", words ? words : "not given",
                             words ? "'" : "", BLOCK_MAX, BLOCK_Z_MAX);
}

/* Takes the kernel's name of an entry that was given, or found. */
static int take_entry(work *w, const char *entry)
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
    memcpy(w->name, name, len < NAME_BYTES_MAX ? len : NAME_BYTES_MAX);
    if (strcmp(w->name, "args") == 0)
        return groat__cli_refuse(w->cli, GROAT_INVALID,
                                 "--entry is args, which groat's file of "
                                 "arguments is called; rename the kernel");
    return GROAT__EXIT_DONE;
}

static int check_target(const work *w)
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
static int check_bounds(const work *w)
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
static void list_params(const work *w, groat__str *out)
{
    for (size_t i = 0; i < w->source.param_count; i++)
        groat__str_addf(out, "%s%s %s", i ? ", " : "",
                        w->source.params[i].type.data,
                        w->source.params[i].name.data);
}

/* Whether the parameter may be a structure: no pointer, and no known number. */
static bool may_be_structure(const groat__cuda_param *param)
{
    return !param->pointer && param->owner == 0 &&
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
static size_t add_member(work *w, const char *text, size_t len,
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
static size_t find_param(work *w, const char *text, size_t len, bool pointer)
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
static int take_given(work *w, const char *option, bool pointer,
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
static bool has_members(const work *w, size_t param)
{
    for (size_t i = w->source.own_count; i < w->source.param_count; i++)
        if (w->source.params[i].owner == param + 1)
            return true;
    return false;
}

static int take_all(work *w)
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

/* ---- the family's files ---------------------------------------------------
 */

/* Whether the element type is one of floats. */
static bool is_float(const char *dtype)
{
    return *dtype == 'f' || *dtype == 'b' || *dtype == 'e';
}

/* Whether it is a float: by its type or, of a type unknown here, its value. */
static bool is_real(const work *w, size_t i)
{
    const char *dtype = w->source.params[i].dtype;
    int64_t whole;

    return dtype ? is_float(dtype)
                 : !groat__opt_whole(w->given[i].value, &whole);
}

static groat_status write_file(work *w, const char *name, groat__str *text)
{
    groat__str path = {0};
    groat_status status;

    groat__str_addf(&path, "%s/%s", w->path.data, name);
    status = path.failed || text->failed
                 ? groat__fail(&w->error, GROAT_NO_MEMORY, "out of memory")
                 : groat__fs_write(path.data, text->data, text->len, FOR_ALL,
                                   &w->error);
    groat__str_free(&path);
    groat__str_free(text);
    return status;
}

/* Whether a parameter is an argument of the launch: a null pointer is none. */
static bool is_passed(const work *w, size_t i)
{
    const char *value = w->given[i].value;

    return value &&
           !(w->source.params[i].pointer && strcmp(value, "null") == 0);
}

/* Number of the launch's arguments. */
static size_t count_given(const work *w)
{
    size_t count = 0;

    for (size_t i = 0; i < w->source.param_count; i++)
        count += is_passed(w, i);
    return count;
}

static groat_status write_params_def(work *w)
{
    size_t args = count_given(w);
    groat__str text = {0};

    groat__str_addf(&text,
                    "family %s \"a kernel of CUDA C++\"\n"
                    "param threads int 1..%d %u threads \"of a block\"\n"
                    "launch block_x = %u\nlaunch block_y = %u\n"
                    "launch block_z = %u\nlaunch shared = %" PRIu64 "\n"
                    "launch args = %zu\nentry %s_judged\n",
                    w->name, BLOCK_MAX, w->block[0] * w->block[1] * w->block[2],
                    w->block[0], w->block[1], w->block[2],
                    w->cli->values.shared_bytes, 8 * (args ? args : 1),
                    w->name);
    return write_file(w, "params.def", &text);
}

static groat_status write_args(work *w)
{
    groat__str text = {0};

    groat__str_addf(&text, "#pragma once\n\nstruct %s_args {\n", w->name);
    for (size_t i = 0; i < w->source.param_count; i++)
        if (is_passed(w, i))
            groat__str_addf(&text, "    %s %s;\n",
                            w->source.params[i].pointer ? "unsigned long long"
                            : is_real(w, i)             ? "double"
                                                        : "long long",
                            w->source.params[i].name.data);
    if (count_given(w) == 0) /* an empty structure has a byte in C++ */
        groat__str_add(&text, "    long long unused;\n");
    groat__str_add(&text, "};\n");
    return write_file(w, "args.h", &text);
}

static bool is_way(const char *word, size_t len)
{
    return (len == 2 && strncmp(word, "in", len) == 0) ||
           (len == 3 && strncmp(word, "out", len) == 0) ||
           (len == 5 && strncmp(word, "inout", len) == 0);
}

/* Returns the words behind the shape of a buffer, "SHAPE[:[DTYPE ]WORDS]". */
static const char *words_of(const char *value)
{
    const char *words = value + strcspn(value, ":");

    return words + (*words == ':');
}

/* Returns the dtype of a pointer's elements: the first of its words, else that
 * of the pointer's type; NULL if neither says. */
static const char *dtype_of(const work *w, size_t i, size_t *len)
{
    const char *words = words_of(w->given[i].value);
    const char *dtype = w->source.params[i].dtype;

    *len = strcspn(words, " ");
    if (*len > 0 && !is_way(words, *len))
        return words;
    *len = dtype ? strlen(dtype) : 0;
    return dtype;
}

/* Returns the element type of a pointer, or NULL. */
static const groat__element *element_of(const work *w, size_t i)
{
    size_t len;
    const char *dtype = dtype_of(w, i, &len);

    return dtype ? groat__element_find(dtype, len) : NULL;
}

/* Appends an argument of the launch, as the kernel's side has it. */
static void add_passed(const work *w, size_t i, groat__str *out)
{
    bool pointer = w->source.params[i].pointer;
    bool null = !is_passed(w, i);
    const groat__element *element = pointer && !null ? element_of(w, i) : NULL;

    if (null)
        groat__str_add(out, "groat::pointer<1>{0}");
    else if (element)
        groat__str_addf(out, "groat::pointer<%d>{args.%s}", element->bytes,
                        w->source.params[i].name.data);
    else
        groat__str_addf(out, "%s(args.%s)",
                        !pointer && is_real(w, i) ? "double" : "groat::u64",
                        w->source.params[i].name.data);
}

/* Appends a value of a parameter: an argument, or a structure whose members
 * are arguments. */
static void add_value(const work *w, size_t param, groat__str *out)
{
    const groat__cuda_source *source = &w->source;

    if (w->given[param].value) {
        add_passed(w, param, out);
        return;
    }
    groat__str_addf(out,
                    "groat::made<%zu>(&%s, [](auto &made, const auto &args) {",
                    param, source->entry.data);
    for (size_t i = source->own_count; i < source->param_count; i++) {
        if (source->params[i].owner != param + 1)
            continue;
        groat__str_addf(out, " groat::set(made.%s, ",
                        source->params[i].path.data);
        add_passed(w, i, out);
        groat__str_add(out, ");");
    }
    groat__str_add(out, " }, args)");
}

static groat_status write_kernel(work *w)
{
    groat__str text = {0};
    groat__str name = {0};

    groat__str_addf(&text,
                    "#include \"params.h\"\n\n"
                    "#define GROAT_BLOCK_X %uu\n#define GROAT_BLOCK_Y %uu\n"
                    "#define GROAT_BLOCK_Z %uu\n\n"
                    "#include \"../common/cuda_compat.h\"\n%s"
                    "#include \"args.h\"\n\n",
                    w->block[0], w->block[1], w->block[2],
                    w->source.headers.len ? w->source.headers.data : "");
    if (w->source.dynamic)
        groat__str_addf(&text,
                        "#define GROAT_DYNAMIC_BYTES %" PRIu64 "\n"
                        "#include \"../common/cuda_dynamic.h\"\n\n",
                        w->cli->values.shared_bytes);
    groat__str_addf(&text,
                    "namespace\n{\n#include \"cuda-code.h\"\n}\n\n"
                    "GROAT_KERNEL(%s_args)\n{\n#line %d \"%s\"\n"
                    "    groat::call(&%s",
                    w->name, w->source.line, w->source.file,
                    w->source.entry.data);
    for (size_t i = 0; i < w->source.own_count; i++) {
        groat__str_add(&text, ", ");
        add_value(w, i, &text);
    }
    groat__str_add(&text, ");\n}\n");
    groat__str_addf(&name, "%s.h", w->name);
    text.failed = text.failed || name.failed;
    if (write_file(w, name.failed ? "" : name.data, &text)) {
        groat__str_free(&name);
        return w->error.status;
    }
    groat__str_free(&name);
    if (w->source.text.data)
        groat__cuda_add_overloaded(w->source.text.data, &text);
    groat__cuda_files_mark(
        &w->files, w->source.text.data ? w->source.text.data : "", &text);
    return write_file(w, "cuda-code.h", &text);
}

/* Returns what counts as equal in an output: some last bits of a float. */
static const char *tolerance_of(const char *dtype)
{
    static const struct {
        const char *dtype, *tolerance;
    } known[] = {{"f16", " relative(1e-3)"},
                 {"bf16", " relative(1e-2)"},
                 {"e", " relative(1e-1)"},
                 {"f", " relative(1e-5)"}};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strncmp(dtype, known[i].dtype, strlen(known[i].dtype)) == 0)
            return known[i].tolerance;
    return " exact";
}

/* Whether the words say what counts as equal. */
static bool has_tolerance(const char *words)
{
    static const char *const known[] = {" exact", " none", " ulp(",
                                        " relative("};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strstr(words, known[i]) != NULL)
            return true;
    return false;
}

/* Appends the words "in", "out" or "inout" and what follows; if nothing does,
 * random numbers of an input, and what counts as equal of an output. */
static void add_way(const groat__cuda_param *param, const char *dtype,
                    const char *words, groat__str *out)
{
    const char *way = *words != '\0' ? words : param->constant ? "in" : "inout";
    size_t len = strcspn(way, " ");
    bool known = is_way(way, len);

    groat__str_add(out, way);
    if (known && *way == 'i' && way[len] == '\0')
        groat__str_add(out,
                       is_float(dtype) ? " random(-1, 1)" : " random(0, 100)");
    if (known && strncmp(way, "in", len) != 0 && !has_tolerance(way))
        groat__str_add(out, tolerance_of(dtype));
}

/* Checks that the pointer's elements are a number of those that --buffer names,
 * where its type tells: a type of the file is left to the compiler. */
static groat_status check_size(work *w, size_t i)
{
    const groat__cuda_param *param = &w->source.params[i];
    const groat__element *said = element_of(w, i);
    const groat__element *own =
        param->dtype && !groat__cuda_is_vector(param->type.data)
            ? groat__element_find(param->dtype, strlen(param->dtype))
            : NULL;

    if (!said || !own || own->bytes == 1 || own->bytes % said->bytes == 0)
        return GROAT_OK;
    return groat__fail(&w->error, GROAT_INVALID,
                       "--buffer %s=%s: an element of %s has %d bytes, "
                       "one of %s %d",
                       param->name.data, w->given[i].value, param->type.data,
                       own->bytes, said->name, said->bytes);
}

/* Appends a line of run.def, and where it is from, from "SHAPE[:[DTYPE
 * ]WORDS]". */
static groat_status add_buffer(work *w, size_t i, groat__str *out)
{
    const groat__cuda_param *param = &w->source.params[i];
    const char *value = w->given[i].value;
    size_t shape = strcspn(value, ":");
    const char *words = words_of(value);
    size_t len;
    const char *dtype = dtype_of(w, i, &len);

    if (strpbrk(value, "\r\n") != NULL)
        return groat__fail(&w->error, GROAT_INVALID,
                           "--buffer %s has a line break", param->name.data);
    groat__str_addf(out, "#from --buffer %s=%s\nbuffer %s [%.*s] ",
                    param->name.data, value, param->name.data, (int)shape,
                    value);
    if (!dtype)
        return groat__fail(
            &w->error, GROAT_INVALID,
            "parameter %s %s of %s has no known element "
            "type; give its own behind the shape, as in "
            "--buffer %s=%.*s:bf16; allowed: " GROAT__ELEMENT_NAMES,
            param->type.data, param->name.data, w->name, param->name.data,
            (int)shape, value);
    if (check_size(w, i))
        return w->error.status;
    groat__str_addf(out, "%.*s ", (int)len, dtype);
    if (dtype == words)
        words += len + strspn(words + len, " ");
    add_way(param, dtype, words, out);
    groat__str_addf(out, " \"%s\"\n", param->type.data);
    return GROAT_OK;
}

/* Returns the values of a whole parameter's type, as run.def has them. */
static const char *range_of(const work *w, size_t i)
{
    static const struct {
        const char *dtype, *range;
    } ranges[] = {{"i8", "-128..127"},
                  {"u8", "0..255"},
                  {"i16", "-32768..32767"},
                  {"u16", "0..65535"},
                  {"i32", "-2147483648..2147483647"},
                  {"u32", "0..4294967295"},
                  {"u64", "0..9223372036854775807"}};
    const char *dtype = w->source.params[i].dtype;

    if (strstr(w->source.params[i].type.data, "bool") != NULL)
        return "0..1";
    for (size_t k = 0; dtype && k < sizeof(ranges) / sizeof(ranges[0]); k++)
        if (strcmp(dtype, ranges[k].dtype) == 0)
            return ranges[k].range;
    return "-9223372036854775807..9223372036854775807";
}

static groat_status write_run_def(work *w)
{
    groat_status status = GROAT_OK;
    groat__str text = {0};

    for (size_t i = 0; i < w->source.param_count; i++)
        if (is_passed(w, i) && !w->source.params[i].pointer)
            groat__str_addf(&text, "arg %s %s%s 0 - \"%s\"\n",
                            w->source.params[i].name.data,
                            is_real(w, i) ? "float -" : "int ",
                            is_real(w, i) ? "" : range_of(w, i),
                            w->source.params[i].type.data);
    for (size_t i = 0; i < w->source.param_count && !status; i++)
        if (is_passed(w, i) && w->source.params[i].pointer)
            status = add_buffer(w, i, &text);
    if (count_given(w) == 0)
        groat__str_add(&text, "bind unused = 0\n");
    if (!status)
        status = write_file(w, "run.def", &text);
    groat__str_free(&text);
    return status;
}

static groat_status write_family(work *w)
{
    groat_status status = groat__scratch_make("judge", &w->folder, &w->error);

    if (status)
        return status;
    groat__str_addf(&w->path, "%s/%s", w->folder.data, w->name);
    if (w->path.failed || mkdir(w->path.data, 0700) != 0)
        return groat__fail(&w->error, GROAT_IO,
                           "cannot make a folder in %s: %s", w->folder.data,
                           strerror(errno));
    status = write_params_def(w);
    if (!status)
        status = write_args(w);
    if (!status)
        status = write_kernel(w);
    if (!status)
        status = write_run_def(w);
    return status;
}

/* ---- the command ----------------------------------------------------------
 */

/* Errors: INVALID if the name cannot stand in a #line. */
static groat_status check_name(work *w)
{
    return strpbrk(w->shown, "\"\\\r\n") == NULL
               ? GROAT_OK
               : groat__fail(&w->error, GROAT_INVALID,
                             "the name of %s has a quote, a backslash or "
                             "a line break; rename the file",
                             w->file);
}

static groat_status read_source(work *w)
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
                       "#include \"../common/cuda_async.h\"\n");
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
static groat_status hand_over(work *w)
{
    groat__list *args = &w->cli->values.args;

    args->count = 0;
    for (size_t i = 0; i < w->source.param_count; i++) {
        given *g = &w->given[i];

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

static int run(work *w)
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
    work w = {.cli = cli, .file = cli->words[0], .error = GROAT_ERROR_INIT};
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
    if (!code && (write_family(&w) || hand_over(&w)))
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
