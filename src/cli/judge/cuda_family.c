/* SPDX-License-Identifier: Apache-2.0
 *
 * cuda_family.c writes the folder of a family whose kernel is one of CUDA C++:
 * params.def, args.h, run.def, and the kernel with what calls it.  No state.
 */
#include "cli/judge/cuda_family.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "cli/judge/cuda_needed.h"
#include "kernels-src/driver/element.h"

enum {
    FOR_ALL = 0644,
    DYNAMIC_ALIGN = 128, /* of dynamic shared memory, at least */
    MAP_BYTES = 128,     /* of a tensor map */
    MAP_ALIGN = 64
};

/* Whether the element type is one of floats. */
static bool is_float(const char *dtype)
{
    return *dtype == 'f' || *dtype == 'b' || *dtype == 'e';
}

/* Whether it is a float: by its type or, of a type unknown here, its value. */
static bool is_real(const groat__cuda_work *w, size_t i)
{
    const char *dtype = w->source.params[i].dtype;
    int64_t whole;

    return dtype ? is_float(dtype)
                 : !groat__opt_whole(w->given[i].value, &whole);
}

static groat_status write_file(groat__cuda_work *w, const char *name,
                               groat__str *text)
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
static bool is_passed(const groat__cuda_work *w, size_t i)
{
    const char *value = w->given[i].value;

    return value && (w->source.params[i].map || !(w->source.params[i].pointer &&
                                                  strcmp(value, "null") == 0));
}

/* Number of the launch's arguments: of tensor maps, or of others. */
static size_t count_given(const groat__cuda_work *w, bool maps)
{
    size_t count = 0;

    for (size_t i = 0; i < w->source.param_count; i++)
        count += is_passed(w, i) && w->source.params[i].map == maps;
    return count;
}

/* Whether the launch has no arguments. */
static bool is_empty(const groat__cuda_work *w)
{
    return count_given(w, true) + count_given(w, false) == 0;
}

/* Bytes of the launch's arguments: tensor maps come first, and align them. */
static size_t args_bytes(const groat__cuda_work *w)
{
    size_t maps = count_given(w, true);
    size_t bytes = MAP_BYTES * maps + 8 * count_given(w, false);

    if (maps > 0)
        bytes = (bytes + MAP_ALIGN - 1) / MAP_ALIGN * MAP_ALIGN;
    return bytes ? bytes : 8;
}

static groat_status write_params_def(groat__cuda_work *w)
{
    groat__str text = {0};

    groat__str_addf(&text,
                    "family %s \"a kernel of CUDA C++\"\n"
                    "param threads int 1..%d %u threads \"of a block\"\n"
                    "launch block_x = %u\nlaunch block_y = %u\n"
                    "launch block_z = %u\nlaunch shared = %" PRIu64 "\n"
                    "launch args = %zu\nentry %s_judged\n",
                    w->name, GROAT__CUDA_BLOCK_MAX,
                    w->block[0] * w->block[1] * w->block[2], w->block[0],
                    w->block[1], w->block[2], w->cli->values.shared_bytes,
                    args_bytes(w), w->name);
    return write_file(w, "params.def", &text);
}

static groat_status write_args(groat__cuda_work *w)
{
    groat__str text = {0};

    groat__str_addf(
        &text, "#pragma once\n\n%sstruct %s_args {\n",
        count_given(w, true) ? "#include \"../common/tensor_map.h\"\n\n" : "",
        w->name);
    for (size_t i = 0; i < w->source.param_count; i++)
        if (is_passed(w, i) && w->source.params[i].map)
            groat__str_addf(&text, "    struct groat_tensor_map %s;\n",
                            w->source.params[i].name.data);
    for (size_t i = 0; i < w->source.param_count; i++)
        if (is_passed(w, i) && !w->source.params[i].map)
            groat__str_addf(&text, "    %s %s;\n",
                            w->source.params[i].pointer ? "unsigned long long"
                            : is_real(w, i)             ? "double"
                                                        : "long long",
                            w->source.params[i].name.data);
    if (is_empty(w)) /* a structure has a byte in C++ even so */
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
static const char *dtype_of(const groat__cuda_work *w, size_t i, size_t *len)
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
static const groat__element *element_of(const groat__cuda_work *w, size_t i)
{
    size_t len;
    const char *dtype = dtype_of(w, i, &len);

    return dtype ? groat__element_find(dtype, len) : NULL;
}

/* Appends an argument of the launch, as the kernel's side has it. */
static void add_passed(const groat__cuda_work *w, size_t i, groat__str *out)
{
    bool pointer = w->source.params[i].pointer;
    bool null = !is_passed(w, i);
    const groat__element *element = pointer && !null ? element_of(w, i) : NULL;

    if (w->source.params[i].map)
        groat__str_addf(out, "%sCUtensorMap{{}, &args.%s}%s",
                        w->source.params[i].map_at ? "groat::place(" : "",
                        w->source.params[i].name.data,
                        w->source.params[i].map_at ? ")" : "");
    else if (null)
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
static void add_value(const groat__cuda_work *w, size_t param, groat__str *out)
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

static groat_status write_kernel(groat__cuda_work *w)
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
                        "#define GROAT_DYNAMIC_ALIGN %u\n"
                        "#include \"../common/cuda_dynamic.h\"\n\n",
                        w->cli->values.shared_bytes,
                        w->source.dynamic_align > DYNAMIC_ALIGN
                            ? w->source.dynamic_align
                            : DYNAMIC_ALIGN);
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
static groat_status check_size(groat__cuda_work *w, size_t i)
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

/* Moves what stands in the parentheses of " NAME(...)" out of the words. */
static void move_out(groat__str *words, const char *name, groat__str *out)
{
    char *at = strstr(words->data, name);
    char *end = at ? strchr(at, ')') : NULL;

    if (end == NULL)
        return;
    groat__str_addn(out, at + strlen(name), (size_t)(end - at) - strlen(name));
    memmove(at, end + 1, strlen(end + 1) + 1);
}

/* Appends the line of a tensor map, from words that have "box(SHAPE)" and may
 * have "swizzle(BYTES)", which it takes out of them. */
static groat_status add_map(groat__cuda_work *w, size_t i, groat__str *words,
                            groat__str *out)
{
    const char *name = w->source.params[i].name.data;
    groat__str box = {0};
    groat__str span = {0};
    groat_status status = GROAT_OK;

    move_out(words, " box(", &box);
    move_out(words, " swizzle(", &span);
    if (box.len == 0)
        status =
            groat__fail(&w->error, GROAT_INVALID,
                        "--buffer %s=%s has no box, the elements that a "
                        "copy takes; expected --buffer " GROAT__CUDA_MAP_FORM,
                        name, w->given[i].value, (int)strlen(name), name);
    else
        groat__str_addf(out, "#from --buffer %s=%s\nmap %s = %s [%s] %s\n",
                        name, w->given[i].value, name, name, box.data,
                        span.len ? span.data : "0");
    groat__str_free(&box);
    groat__str_free(&span);
    return status;
}

/* Appends a line of run.def, and where it is from, from "SHAPE" and words
 * "[DTYPE ]WORDS". */
static groat_status add_buffer(groat__cuda_work *w, size_t i, const char *words,
                               groat__str *out)
{
    const groat__cuda_param *param = &w->source.params[i];
    const char *value = w->given[i].value;
    size_t shape = strcspn(value, ":");
    size_t len;
    const char *dtype = dtype_of(w, i, &len);
    bool own = dtype == words_of(value);

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
    if (own)
        words += len + strspn(words + len, " ");
    add_way(param, dtype, words, out);
    groat__str_addf(out, " \"%s\"\n", param->type.data);
    return GROAT_OK;
}

/* Appends what run.def says of a pointer's buffer, or of a tensor map's. */
static groat_status add_pointer(groat__cuda_work *w, size_t i, groat__str *out)
{
    const char *value = w->given[i].value;
    groat__str words = {0};
    groat_status status = GROAT_OK;

    if (strpbrk(value, "\r\n") != NULL)
        return groat__fail(&w->error, GROAT_INVALID,
                           "--buffer %s has a line break",
                           w->source.params[i].name.data);
    groat__str_add(&words, words_of(value));
    if (words.failed)
        return groat__fail(&w->error, GROAT_NO_MEMORY, "out of memory");
    if (w->source.params[i].map)
        status = add_map(w, i, &words, out);
    if (!status)
        status = add_buffer(w, i, words.data, out);
    groat__str_free(&words);
    return status;
}

/* Returns the values of a whole parameter's type, as run.def has them. */
static const char *range_of(const groat__cuda_work *w, size_t i)
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

static groat_status write_run_def(groat__cuda_work *w)
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
            status = add_pointer(w, i, &text);
    if (is_empty(w))
        groat__str_add(&text, "bind unused = 0\n");
    if (!status)
        status = write_file(w, "run.def", &text);
    groat__str_free(&text);
    return status;
}

groat_status groat__cuda_write_family(groat__cuda_work *w)
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
