/* SPDX-License-Identifier: Apache-2.0
 *
 * lines.c finds the source lines of a finding.  The judge knows the addresses
 * of the calls, and the code has a line table with its inlined calls (-g1),
 * which addr2line of binutils or LLVM reads.
 */
#include "backend/lines.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/child.h"
#include "backend/shared.h"
#include "base/error.h"
#include "base/str.h"

enum { FRAMES = 16, WORD = 256, SHOWN = 3, SECONDS = 10 /* for a place */ };

/* A call: the function that contains it, and its place. */
typedef struct frame {
    char function[WORD]; /* "": not known */
    char place[WORD];    /* "my_reduce/my_reduce.h:22" */
} frame;

/* Writes "copy" for "void groat::rows<8>::copy<int>(my_args const&) const". */
static void take_function(const char *text, char out[WORD])
{
    static const char nameless[] = "(anonymous namespace)";
    const char *start = text;
    const char *end = NULL; /* of the name, at its template arguments */
    int depth = 0;

    for (; *text != '\0' && *text != '\n'; text++) {
        if (strncmp(text, nameless, sizeof(nameless) - 1) == 0) {
            text += sizeof(nameless) - 2; /* to its last character */
            continue;
        }
        if (*text == '(' && depth == 0)
            break;
        if (depth == 0 && (*text == ':' || *text == ' ')) {
            start = text + 1;
            end = NULL;
        }
        if (*text == '<' && depth++ == 0)
            end = text;
        depth -= *text == '>';
    }
    (void)snprintf(out, WORD, "%.*s", (int)((end ? end : text) - start), start);
}

/* Writes common/lanes.h:99 for "/common/lanes.h:99 (discriminator 3)". */
static void take_place(const char *text, char out[WORD])
{
    const char *end;

    text += strspn(text, "/");
    end = strstr(text, " (discriminator");
    (void)snprintf(out, WORD, "%.*s",
                   (int)(end ? (size_t)(end - text) : strcspn(text, "\n")),
                   text);
}

/* Whether a place is in the library's own primitives, where every call ends. */
static bool is_primitive(const char *place)
{
    static const char *const files[] = {
        "common/vendor_cpu.h:", "common/tma_cpu.h:", "common/cuda_"};

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        if (strncmp(place, files[i], strlen(files[i])) == 0)
            return true;
    return strncmp(place, "<stdin>", 7) == 0 || place[0] == '?';
}

/* Whether this is the function that GROAT_KERNEL makes of a kernel's body; its
 * callers are the entry's. */
static bool is_body(const frame *f)
{
    return strcmp(f->function, "groat_cpu_body") == 0;
}

/* Whether this is the function that calls a kernel of CUDA C++; its callers are
 * code that groat judge generates. */
static bool is_call(const frame *f)
{
    static const char file[] = "common/cuda_call.h:";

    return strncmp(f->place, file, sizeof(file) - 1) == 0 &&
           strcmp(f->function, "call") == 0;
}

/* Runs a tool that prints two lines for each frame at an offset.  Returns an
 * unnamed file of its output; -1 if it failed. */
static int run_tool(char *const *environment, const char *tool,
                    const char *code, uint64_t offset)
{
    char where[24];
    const char *words[] = {tool, "-f", "-i", "-C", "-e", code, where, NULL};
    groat__child child = {.argv = words,
                          .environment = environment,
                          .seconds = SECONDS,
                          .input = groat__memory_file("groat-none", "", 0),
                          .output = groat__memory_file("groat-lines", "", 0),
                          .errors = groat__memory_file("groat-log", "", 0)};
    bool good = child.input >= 0 && child.output >= 0 && child.errors >= 0;
    int result = GROAT__CHILD_LATE;

    child.report = child.output;
    (void)snprintf(where, sizeof(where), "0x%llx", (unsigned long long)offset);
    if (good)
        result = groat__child_run(&child);
    if (child.input >= 0)
        (void)close(child.input);
    if (child.errors >= 0)
        (void)close(child.errors);
    if (result == 0 || result == GROAT__CHILD_NOT_TOLD)
        return child.output;
    if (child.output >= 0)
        (void)close(child.output);
    return -1;
}

/* For an inlined function of internal linkage GNU addr2line prints the name of
 * the symbol around it, NAME_judged of kernel NAME.  Puts that right where the
 * function is the kernel itself, else takes the name away. */
static void correct_name(frame *frames, size_t count, const char *symbol)
{
    static const char suffix[] = "_judged";
    size_t len = strlen(frames[0].function);
    size_t cut = len < sizeof(suffix) - 1 ? 0 : len - (sizeof(suffix) - 1);

    if (strcmp(frames[0].function, symbol) != 0)
        return;
    if (count > 1)
        frames[0].function[0] = '\0';
    else if (strcmp(frames[0].function + cut, suffix) == 0)
        frames[0].function[cut] = '\0';
}

/* Reads frames, leaving out those of groat's primitives and the entry. */
static size_t take_frames(FILE *out, frame *frames)
{
    size_t count = 0;
    size_t all = 0;
    bool entered = false;
    char *line = NULL;
    size_t room = 0;
    frame f;

    while (getline(&line, &room, out) > 0) {
        take_function(line, f.function);
        if (getline(&line, &room, out) <= 0)
            break;
        take_place(line, f.place);
        all++;
        if (count < FRAMES && !entered && !is_primitive(f.place))
            frames[count++] = f;
        entered = entered || is_body(&f) || is_call(&f);
    }
    free(line);
    if (count > 0 && all > 1)
        correct_name(frames, count, f.function);
    return count;
}

/* Reads the frames of one offset, innermost first. */
static size_t read_frames(char *const *environment, char *const tools[2],
                          const char *code, uint64_t offset, frame *frames)
{
    size_t count = 0;

    for (size_t t = 0; t < 2 && count == 0; t++) {
        int fd = tools[t] == NULL
                     ? -1
                     : run_tool(environment, tools[t], code, offset);
        FILE *out = fd < 0 ? NULL : fdopen(fd, "r");

        if (out != NULL) {
            rewind(out);
            count = take_frames(out, frames);
            (void)fclose(out);
        } else if (fd >= 0) {
            (void)close(fd);
        }
    }
    return count;
}

/* Returns the innermost frame in the family's own files; if all are in common/,
 * the innermost one. */
static size_t own_frame(const frame *frames, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strncmp(frames[i].place, "common/", 7) != 0)
            return i;
    return 0;
}

static void add_stack(const char *what, const frame *frames, size_t count,
                      groat__str *log)
{
    groat__str_addf(log, "%s:\n", what);
    for (size_t i = 0; i < count; i++)
        groat__str_addf(log, "  %s%s%s\n", frames[i].place,
                        frames[i].function[0] != '\0' ? " in " : "",
                        is_body(&frames[i]) ? "the kernel"
                                            : frames[i].function);
}

void groat__lines_tell(const char *path, char *const *environment,
                       const char *code, const groat__line *lines, size_t count,
                       groat_error *error)
{
    char *tools[2] = {NULL, NULL};
    groat__str text = {0};
    groat__str log = {0};
    groat_status status = error->status;
    char before[GROAT_ERROR_TEXT];

    (void)groat__child_find(path, "addr2line", &tools[0], NULL);
    (void)groat__child_find(path, "llvm-addr2line", &tools[1], NULL);
    for (size_t i = 0; i < count; i++) {
        frame frames[FRAMES];
        size_t found =
            read_frames(environment, tools, code, lines[i].offset, frames);
        const frame *own = &frames[own_frame(frames, found)];

        if (found == 0)
            continue;
        if (i < SHOWN)
            groat__str_addf(&text, "%s%s at %s", text.len > 0 ? ", " : "",
                            lines[i].what, own->place);
        add_stack(lines[i].what, frames, found, &log);
    }
    if (text.len > 0 && !text.failed && !log.failed) {
        memcpy(before, error->text, sizeof(before));
        groat__fail(error, status, "%s (%s)", before, text.data);
        groat__error_take_log(error, groat__str_take(&log));
    }
    groat__str_free(&text);
    groat__str_free(&log);
    free(tools[0]);
    free(tools[1]);
}
