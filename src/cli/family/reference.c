/* SPDX-License-Identifier: Apache-2.0
 *
 * reference.c compiles and runs reference.c of a family's folder.  The program
 * is its own process: it may crash or hang without harm.  Besides reference.c
 * it consists of a generated run.h and a main() that maps one file with all
 * buffers, each of which ends at a page that cannot be touched.  Floats of 32
 * bits and fewer become `float`, so that a reference needs no conversions.
 * Invariant: outputs hold NaN (integers: another pattern than the kernel's
 * poison) before the reference runs, so that unwritten elements are noticed.
 */
#include "cli/family/reference.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"
#include "kernels-src/driver/element.h"
#include "cli/family/run_def.h"
#include "cli/tool/cmd.h"

enum {
    DONE = 100 /* the program's exit status when reference() has returned */,
    GUARD = 65536 /* the largest page */,
    LOG_BYTES_MAX = 1 << 16,
    COMPILE_SECONDS = 60
};

/* ---- the program's text ---------------------------------------------------
 */

static void add_constant(const groat_spec *spec, const char *name,
                         const char *unit, const char *meaning, groat__str *out)
{
    int64_t value = 0;
    bool fits;

    if (groat_spec_get(spec, name, &value, NULL) != GROAT_OK)
        return;
    fits = value >= INT32_MIN && value <= INT32_MAX;
    groat__str_addf(out,
                    fits ? "enum { %s = %" PRId64 " };"
                         : "static const long long %s = %" PRId64 ";",
                    name, value);
    groat__str_addf(out, " /* %s: %s */\n", unit, meaning);
}

/* Appends "enum { dtype_bf16 = 0, dtype_f16 = 1 };" for "bf16|f16". */
static void add_enumerators(const groat_param_info *info, groat__str *out)
{
    const char *list = info->allowed;
    const char *name;
    int64_t value;
    size_t len;

    groat__str_add(out, "enum {");
    for (size_t i = 0; groat__enumerator_next(&list, i, &name, &len, &value);
         i++)
        groat__str_addf(out, "%s %s_%.*s = %" PRId64, i > 0 ? "," : "",
                        info->name, (int)len, name, value);
    groat__str_add(out, " };\n");
}

static void add_constants(const groat_family *family, const groat_spec *spec,
                          groat__str *out)
{
    for (size_t i = 0; i < groat_family_param_count(family); i++) {
        groat_param_info info = {.size = sizeof(info)};

        if (groat_family_param(family, i, &info, NULL) != GROAT_OK)
            continue;
        if (info.type == GROAT_PARAM_CODE)
            continue;
        if (info.type == GROAT_PARAM_ENUM)
            add_enumerators(&info, out);
        add_constant(spec, info.name, info.unit, info.meaning, out);
    }
    for (size_t i = 0; i < groat_family_derived_count(family); i++) {
        groat_param_info info = {.size = sizeof(info)};

        if (groat_family_derived(family, i, &info, NULL) == GROAT_OK)
            add_constant(spec, info.name, info.unit, info.meaning, out);
    }
}

static void add_members(const groat_plan *plan, groat__str *out)
{
    for (const groat_driver_arg *arg = plan->driver->args; arg->name; arg++)
        groat__str_addf(out, "    %s %s; /* %s: %s */\n",
                        arg->type == GROAT_ARG_INT ? "long long" : "double",
                        arg->name, arg->unit, arg->meaning);
    for (size_t i = 0; i < plan->buffer_count; i++) {
        const groat_buffer *buffer = &plan->buffers[i];

        groat__str_addf(out, "    %s%s *%s; /* %s [",
                        buffer->output ? "" : "const ", buffer->element->c,
                        buffer->name, buffer->element->name);
        for (size_t k = 0; k < buffer->rank; k++)
            groat__str_addf(out, "%s%" PRId64, k > 0 ? ", " : "",
                            buffer->shape[k]);
        groat__str_add(out, "] */\n");
    }
}

static void add_struct(const groat_plan *plan, groat__str *out)
{
    groat__str_add(out, "\nstruct run {\n");
    add_members(plan, out);
    groat__str_add(out, "    unsigned grid[3];\n};\n\n"
                        "void reference(const struct run *run);\n\n");
}

void groat__reference_header(const groat_family *family, const groat_spec *spec,
                             const groat_plan *plan, groat__str *out)
{
    groat__str_addf(out,
                    "/* What a reference of %s gets, made by groat from its "
                    "params.def and run.def\n * for one spec; an editor's copy "
                    "is left out when groat compiles. */\n"
                    "#ifndef GROAT_RUN_H\n#define GROAT_RUN_H\n\n",
                    groat_family_name(family));
    add_constants(family, spec, out);
    add_struct(plan, out);
    groat__str_add(out, "#endif\n");
}

static size_t bytes_in_file(const groat_buffer *buffer)
{
    size_t count = buffer->bytes / (size_t)buffer->element->bytes;
    size_t width = buffer->element->kind != GROAT__ELEMENT_FLOAT
                       ? (size_t)buffer->element->bytes
                   : buffer->element->bytes == 8 ? 8
                                                 : 4;

    return count * width;
}

/* Where a buffer ends, and its guard begins. */
static size_t end_in_file(const groat_plan *plan, size_t index)
{
    size_t at = 0;

    for (size_t i = 0; i <= index; i++)
        at += (bytes_in_file(&plan->buffers[i]) + GUARD - 1) / GUARD * GUARD +
              (i > 0 ? GUARD : 0);
    return at;
}

static size_t place_in_file(const groat_plan *plan, size_t index)
{
    return end_in_file(plan, index) - bytes_in_file(&plan->buffers[index]);
}

static size_t size_of_file(const groat_plan *plan)
{
    return (plan->buffer_count > 0 ? end_in_file(plan, plan->buffer_count - 1)
                                   : 0) +
           GUARD;
}

/* Of main.c, which has no constants of the family, as they may have the names
 * of functions: at a fault, addr2line tells the line that an instruction is in.
 * gregs[16] is REG_RIP, which has a name with _GNU_SOURCE only. */
static const char catch_faults[] =
    "#include <fcntl.h>\n#include <signal.h>\n#include <stdio.h>\n"
    "#include <sys/mman.h>\n#include <sys/prctl.h>\n#include <sys/wait.h>\n"
    "#include <ucontext.h>\n#include <unistd.h>\n"
    "static char *program;\n"
    "static char stack[1 << 16];\n"
    "static void tell_line(int number, siginfo_t *info, void *state)\n{\n"
    "    const mcontext_t *at = &((const ucontext_t *)state)->uc_mcontext;\n"
    "    unsigned long long where = 0;\n"
    "    char text[24];\n"
    "    pid_t child;\n\n"
    "    (void)info;\n"
    "#if defined(__x86_64__)\n"
    "    where = (unsigned long long)at->gregs[16];\n"
    "#elif defined(__aarch64__)\n"
    "    where = at->pc;\n"
    "#endif\n"
    "    snprintf(text, sizeof(text), \"0x%llx\", where);\n"
    "    child = fork();\n"
    "    if (child == 0) {\n"
    "        dup2(2, 1);\n"
    "        execlp(\"addr2line\", \"addr2line\", \"-s\", \"-e\", program, "
    "text, (char *)0);\n"
    "        _exit(1);\n"
    "    }\n"
    "    waitpid(child, 0, 0);\n"
    "    signal(number, SIG_DFL);\n"
    "    raise(number);\n"
    "}\n"
    "static int catch_faults(char *name)\n{\n"
    "    stack_t own = {.ss_sp = stack, .ss_size = sizeof(stack)};\n"
    "    struct sigaction how = {.sa_sigaction = tell_line, .sa_flags = "
    "SA_SIGINFO | SA_ONSTACK};\n\n"
    "    program = name;\n"
    "    return sigaltstack(&own, 0) || sigaction(SIGSEGV, &how, 0) ||\n"
    "           sigaction(SIGBUS, &how, 0) || sigaction(SIGFPE, &how, 0);\n"
    "}\n";

static void add_main(const groat_plan *plan, groat__str *out)
{
    size_t arg = 0;

    groat__str_add(out, catch_faults);
    add_struct(plan, out);
    groat__str_addf(out,
                    "int main(int count, char **words)\n{\n"
                    "    int late = prctl(PR_SET_PDEATHSIG, SIGKILL);\n"
                    "    int file = open(words[count - 1], O_RDWR);\n"
                    "    char *data = mmap(0, %zu, PROT_READ | PROT_WRITE, "
                    "MAP_SHARED, file, 0);\n"
                    "    struct run run = {\n",
                    size_of_file(plan));
    for (const groat_driver_arg *at = plan->driver->args; at->name; at++) {
        int64_t value = plan->values[arg++];

        if (at->type == GROAT_ARG_INT)
            groat__str_addf(out, "        .%s = %" PRId64 "LL%s,\n", at->name,
                            value == INT64_MIN ? value + 1 : value,
                            value == INT64_MIN ? " - 1" : "");
        else
            groat__str_addf(out, "        .%s = %a,\n", at->name,
                            groat_arg_real(value));
    }
    for (size_t i = 0; i < plan->buffer_count; i++)
        groat__str_addf(out, "        .%s = (void *)(data + %zu),\n",
                        plan->buffers[i].name, place_in_file(plan, i));
    groat__str_addf(out,
                    "        .grid = {%u, %u, %u},\n    };\n\n"
                    "    if (late || file < 0 || data == MAP_FAILED || "
                    "catch_faults(words[0]))\n"
                    "        return 99;\n",
                    plan->grid[0], plan->grid[1], plan->grid[2]);
    for (size_t i = 0; i < plan->buffer_count; i++)
        groat__str_addf(out,
                        "    if (mprotect(data + %zu, %d, PROT_NONE))\n"
                        "        return 99;\n",
                        end_in_file(plan, i), GUARD);
    groat__str_addf(out, "    reference(&run);\n    return %d;\n}\n", DONE);
}

/* ---- compiling ------------------------------------------------------------
 */

/* Errors: IO, NO_MEMORY. */
static groat_status write_text(const char *path, const groat__str *text,
                               groat_error *error)
{
    return text->failed
               ? groat__fail(error, GROAT_NO_MEMORY, "no memory for a program")
               : groat__fs_write(path, text->data, text->len, 0600, error);
}

/* Returns the path of a file in the program's folder, malloc'd, or NULL. */
static char *path_in(const groat__reference *r, const char *name)
{
    groat__str path = {0};

    groat__str_addf(&path, "%s/%s", r->folder.data, name);
    return groat__str_take(&path);
}

enum { HEADER, MAIN, OBJECT, PROGRAM, FILES };

/* Runs the compiler with options that make an instruction's address that of its
 * line table, and no call of a library's of a loop; `more` ends with NULL. */
static groat_status run_compiler(const groat__reference *r,
                                 const char *const *more, groat_error *error)
{
    const char *compiler = getenv("GROAT_CXX");
    const char *words[32] = {compiler && *compiler ? compiler : "c++",
                             "-std=c11", /* no macro linux */
                             "-D_GNU_SOURCE",
                             "-O2",
                             "-g1",
                             "-fno-pie",
                             "-no-pie",
                             "-fno-builtin",
                             "-Wall"};
    groat__spawn how = {.argv = (char **)(uintptr_t)words,
                        .max = LOG_BYTES_MAX,
                        .seconds =
                            r->seconds > 0 && r->seconds < COMPILE_SECONDS
                                ? r->seconds
                                : COMPILE_SECONDS,
                        .with_stderr = true};
    char *log = NULL;
    int code = 0;
    size_t count = 0;
    groat_status status;

    while (words[count] != NULL)
        count++;
    for (size_t i = 0; more[i] != NULL; i++)
        words[count++] = more[i];
    status = groat__spawn_run(&how, &log, &code, error);
    if (status == GROAT_TIMED_OUT)
        status = groat__fail(error, GROAT_INVALID,
                             "%s: %s compiled it for %u s and was ended",
                             r->source.data, words[0], how.seconds);
    if (status == GROAT_OK && code != 0) {
        status = groat__fail(error, GROAT_INVALID,
                             "%s does not compile (%s exits with %d)",
                             r->source.data, words[0], code);
        groat__error_take_log(error, log);
        log = NULL;
    }
    free(log);
    return status;
}

/* Compiles reference.c, and main.c without what reference.c includes. */
static groat_status compile(const groat__reference *r, char *const names[FILES],
                            groat_error *error)
{
    const char *const object[] = {
        "-I",           r->folder.data, "-include", names[HEADER], "-x", "c",
        r->source.data, "-c",           "-o",       names[OBJECT], NULL};
    const char *const program[] = {
        "-x",          "c",   names[MAIN], "-x",           "none",
        names[OBJECT], "-lm", "-o",        names[PROGRAM], NULL};
    groat_status status = run_compiler(r, object, error);

    return status == GROAT_OK ? run_compiler(r, program, error) : status;
}

/* Writes run.h and main.c into a fresh folder, and compiles the program. */
static groat_status make(groat__reference *r, const groat_family *family,
                         const groat_spec *spec, const groat_plan *plan,
                         groat_error *error)
{
    groat__str header = {0};
    groat__str body = {0};
    char *names[FILES] = {NULL};
    groat_status status;
    struct stat st;

    /* The compiler would wait for the writer of a pipe. */
    if (stat(r->source.data, &st) == 0 && !S_ISREG(st.st_mode))
        return groat__fail(error, GROAT_INVALID, "%s is no regular file",
                           r->source.data);
    status = groat__scratch_make("reference", &r->folder, error);

    if (status != GROAT_OK)
        return status;
    names[HEADER] = path_in(r, "run.h");
    names[MAIN] = path_in(r, "main.c");
    names[OBJECT] = path_in(r, "reference.o");
    names[PROGRAM] = path_in(r, "program");
    groat__reference_header(family, spec, plan, &header);
    add_main(plan, &body);
    for (size_t i = 0; i < FILES; i++)
        body.failed = body.failed || names[i] == NULL;
    if (body.failed)
        status = groat__fail(error, GROAT_NO_MEMORY, "no memory for a path");
    if (status == GROAT_OK)
        status = write_text(names[HEADER], &header, error);
    if (status == GROAT_OK)
        status = write_text(names[MAIN], &body, error);
    if (status == GROAT_OK)
        status = compile(r, names, error);
    for (size_t i = 0; i < FILES; i++)
        free(names[i]);
    groat__str_free(&header);
    groat__str_free(&body);
    if (status != GROAT_OK)
        groat__scratch_remove(&r->folder); /* the next call tries again */
    return status;
}

/* ---- running --------------------------------------------------------------
 */

static bool is_narrow(const groat__element *element)
{
    return element->kind == GROAT__ELEMENT_FLOAT && element->bytes < 4;
}

/* Writes a buffer in the reference's type; from is NULL for outputs. */
static void widen(const groat_buffer *buffer, const void *from, void *to)
{
    const unsigned char *in = from;
    size_t width = (size_t)buffer->element->bytes;
    float *floats = to;

    if (from == NULL && buffer->element->kind != GROAT__ELEMENT_FLOAT)
        memset(to, GROAT__REFERENCE_FILL, buffer->bytes);
    else if (from == NULL)
        memset(to, 0xFF, bytes_in_file(buffer)); /* NaN, as float or double */
    else if (!is_narrow(buffer->element))
        memcpy(to, from, buffer->bytes);
    else
        for (size_t i = 0; i < buffer->bytes / width; i++)
            floats[i] =
                (float)groat__element_load(buffer->element, in + i * width);
}

static void narrow(const groat_buffer *buffer, const void *from, void *to)
{
    unsigned char *out = to;
    size_t width = (size_t)buffer->element->bytes;
    const float *floats = from;

    if (!is_narrow(buffer->element))
        memcpy(to, from, buffer->bytes);
    else
        for (size_t i = 0; i < buffer->bytes / width; i++)
            groat__element_store(buffer->element, (double)floats[i],
                                 out + i * width);
}

/* Cuts "FILE:LINE" off the end of what a program said whose fault
 * catch_faults told of, and copies it; "" where no line is known. */
static void cut_place(char *said, char *place, size_t room)
{
    char *line = said;
    char *next;
    size_t digits;

    *place = '\0';
    while ((next = strchr(line, '\n')) != NULL && next[1] != '\0')
        line = next + 1;
    digits = strcspn(line, ": \n");
    if (line[digits] != ':' || strchr("?0123456789", line[digits + 1]) == NULL)
        return;
    if (*line != '?')
        (void)snprintf(place, room, "%.*s", (int)strcspn(line, " \n"), line);
    *line = '\0';
}

/* Fails with the place of a crash, and leaves what else the program said. */
static groat_status fail_crashed(const groat__reference *r, int number,
                                 char *said, groat_error *error)
{
    const char *name = strrchr(r->source.data, '/');
    size_t len = name == NULL ? 0 : strlen(name + 1);
    char place[80] = "";
    bool own;

    if (said != NULL &&
        (number == SIGSEGV || number == SIGBUS || number == SIGFPE))
        cut_place(said, place, sizeof(place));
    own = len > 0 && strncmp(place, name + 1, len) == 0;
    return groat__fail(error, GROAT_INVALID, "%s%s%s crashed: %s%s",
                       r->source.data, own || *place == '\0' ? "" : " in ",
                       own ? place + len : place, strsignal(number),
                       number == SIGSEGV
                           ? "; it may have reached past the end of a buffer"
                           : "");
}

static groat_status start(const groat__reference *r, const char *file,
                          groat_error *error)
{
    char *program = path_in(r, "program");
    groat__spawn how = {
        .argv = (char *const[]){program, (char *)(uintptr_t)file, NULL},
        .max = LOG_BYTES_MAX,
        .seconds = r->seconds,
        .with_stderr = true};
    char *said = NULL;
    int code = 0;
    groat_status status =
        program == NULL
            ? groat__fail(error, GROAT_NO_MEMORY, "no memory for a path")
            : groat__spawn_run(&how, &said, &code, error);

    if (status == GROAT_TIMED_OUT)
        status = groat__fail(error, GROAT_INVALID,
                             "%s ran for %u s and was ended; --timeout sets "
                             "another limit",
                             r->source.data, r->seconds);
    else if (status == GROAT_OK && code > 128)
        status = fail_crashed(r, code - 128, said, error);
    else if (status == GROAT_OK && code != DONE)
        status = groat__fail(error, GROAT_INVALID, "%s exited with %d",
                             r->source.data, code);
    if (status != GROAT_OK && said != NULL && *said != '\0' && error != NULL) {
        groat__error_take_log(error, said);
        said = NULL;
    }
    free(said);
    free(program);
    return status;
}

/* Runs the program on a file with all buffers, which stays mapped. */
static groat_status run(groat__reference *r, const groat_plan *plan,
                        const void *const *inputs, int file, const char *path,
                        groat_error *error)
{
    size_t bytes = size_of_file(plan);
    void *map = MAP_FAILED;

    if (posix_fallocate(file, 0, (off_t)bytes) == 0)
        map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map == MAP_FAILED)
        return groat__fail(error, GROAT_IO,
                           "%s: no %zu bytes for the buffers of a reference",
                           path, bytes);
    r->map = map;
    r->map_bytes = bytes;
    for (size_t i = 0; i < plan->buffer_count; i++)
        widen(&plan->buffers[i], inputs[i], r->map + place_in_file(plan, i));
    return start(r, path, error);
}

static groat_status run_once(groat__reference *r, const groat_family *family,
                             const groat_spec *spec, const groat_plan *plan,
                             const void *const *inputs, groat_error *error)
{
    groat_status status = GROAT_OK;
    char *path;
    int file;

    if (r->folder.data == NULL)
        status = make(r, family, spec, plan, error);
    if (status != GROAT_OK)
        return status;
    path = path_in(r, "buffers");
    if (path == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a path");
    file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0)
        status = groat__fail(error, GROAT_IO, "%s: %s", path, strerror(errno));
    else
        status = run(r, plan, inputs, file, path, error);
    if (file >= 0)
        (void)close(file);
    free(path);
    return status;
}

void groat__reference_forget(groat__reference *reference)
{
    if (reference->map != NULL)
        (void)munmap(reference->map, reference->map_bytes);
    reference->map = NULL;
}

groat_status groat__reference_run(groat__reference *reference,
                                  const groat_family *family,
                                  const groat_spec *spec,
                                  const groat_plan *plan,
                                  const void *const *inputs, size_t index,
                                  void *data, groat_error *error)
{
    groat_status status = GROAT_OK;

    if (reference->map == NULL)
        status = run_once(reference, family, spec, plan, inputs, error);
    if (status == GROAT_OK)
        narrow(&plan->buffers[index],
               reference->map + place_in_file(plan, index), data);
    else
        groat__reference_forget(reference);
    return status;
}

void groat__reference_close(groat__reference *reference)
{
    groat__reference_forget(reference);
    groat__scratch_remove(&reference->folder);
    groat__str_free(&reference->source);
}
