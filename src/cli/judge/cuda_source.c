/* SPDX-License-Identifier: Apache-2.0
 *
 * cuda_source.c finds a kernel in a file of CUDA C++ and rewrites the file so
 * that the host's compiler accepts it after common/cuda_compat.h.  It works on
 * tokens without a grammar, and leaves other errors to the compiler.
 * Invariant: the output has the same lines as the file.
 */
#include "cli/judge/cuda_source.h"
#include "cli/judge/cuda_tokens.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

typedef groat__cuda_token token;

enum { SPACES = 16, BRANCHES = 16, DYNAMIC_ALIGN_MOST = 1024 };

/* How well a kernel's name is the entry's. */
typedef enum match {
    UNLIKE,
    LAST_WORD, /* namespaces may be hidden in macros: the compiler decides */
    ENDING,    /* the entry lacks namespaces */
    EXACT
} match;

/* A namespace that is open where the reader is. */
typedef struct space {
    const char *name; /* "a::b"; blanks are left out of it in `out` */
    size_t len;       /* 0: it has no name, or need not be named */
    int depth;        /* of braces around its own */
} space;

/* Where an #if began: each of its branches begins there. */
typedef struct branch {
    size_t space_count;
    int depth;
} branch;

typedef struct reader {
    const groat__cuda_files *files;
    const char *entry; /* as given */
    match found;       /* how well the kernel matches that was found */
    bool several;      /* kernels match as well, with other full names */
    space spaces[SPACES];
    size_t space_count;
    branch branches[BRANCHES];
    size_t branch_count;
    int depth;        /* of braces */
    bool templated;   /* behind "template <...>" of a declaration */
    const char *text; /* the whole file */
    groat__cuda_cursor c;
    const char *done; /* end of the input copied to the output */
    groat__cuda_source *out;
    groat_error *error;
} reader;

static groat_status refuse(const reader *r, int line, const char *what,
                           const token *t)
{
    int own;
    const char *file = groat__cuda_files_at(r->files, line, &own);

    return groat__fail(r->error, GROAT_INVALID, "%s:%d: %.*s: %s", file, own,
                       (int)(t->len < 64 ? t->len : 64), t->at, what);
}

static bool is(const token *t, const char *word)
{
    return groat__cuda_is(t, word);
}

static void skip(reader *r)
{
    groat__cuda_skip(&r->c);
}

static token take(reader *r)
{
    return groat__cuda_take(&r->c);
}

static token take_to(reader *r, char open, char close)
{
    return groat__cuda_take_to(&r->c, open, close);
}

static token take_text(reader *r)
{
    return groat__cuda_take_text(&r->c);
}

/* ---- the text made --------------------------------------------------------
 */

/* Replaces the input from `from` to the reader's position by text, and keeps
 * its line breaks. */
static void replace(reader *r, const char *from, const char *text)
{
    groat__str_addn(&r->out->text, r->done, (size_t)(from - r->done));
    groat__str_add(&r->out->text, text);
    for (const char *at = from; at < r->c.at; at++)
        if (*at == '\n')
            groat__str_add(&r->out->text, "\n");
    r->done = r->c.at;
}

/* Returns whether a header is not missed; *ours becomes the one that stands in
 * for it besides cuda_compat.h, or NULL. */
static bool find_header(const token *name, const char **ours)
{
    static const struct {
        const char *name, *ours;
    } extra[] = {{"cuda_fp16.h", "cuda_floats.h"},
                 {"cuda_bf16.h", "cuda_floats.h"},
                 {"cuda_fp8.h", "cuda_floats.h"},
                 {"cublas_v2.h", "cuda_floats.h"},
                 {"cublasLt.h", "cuda_floats.h"},
                 {"torch/extension.h", "cuda_floats.h"},
                 {"mma.h", "cuda_wmma.h"},
                 {"cuda/barrier", "cuda_barrier.h"},
                 {"cooperative_groups.h", "cuda_groups.h"},
                 {"cooperative_groups/reduce.h", "cuda_groups.h"},
                 {"cooperative_groups/scan.h", "cuda_groups.h"}};
    static const char *const known[] = {
        "cuda.h", "cuda_runtime.h", "cuda_pipeline.h", "cfloat",
        "cuda_runtime_api.h", "cuda_pipeline_primitives.h", "climits",
        "device_launch_parameters.h", "float.h", "limits.h", "stdint.h",
        "cstdint", "math.h", "cmath", "stdio.h", "cstdio", "assert.h",
        "cassert", "string.h", "cstring", "stddef.h", "cstddef",
        "math_constants.h",
        /* of the host's code */
        "algorithm", "array", "atomic", "chrono", "cstdlib", "ctime", "fstream",
        "functional", "iomanip", "iostream", "map", "memory", "numeric",
        "random", "set", "sstream", "stdexcept", "stdlib.h", "string",
        "sys/time.h", "thread", "time.h", "unistd.h", "unordered_map", "vector",
        "bitset", "cctype", "cerrno", "cinttypes", "complex",
        "condition_variable", "cstdarg", "ctype.h", "deque", "errno.h",
        "exception", "future", "initializer_list", "inttypes.h", "iterator",
        "limits", "list", "locale", "mutex", "new", "omp.h", "optional",
        "ostream", "queue", "signal.h", "stack", "stdarg.h", "stdbool.h",
        "string_view", "strings.h", "sys/stat.h", "sys/types.h", "system_error",
        "tuple", "type_traits", "typeinfo", "unordered_set", "utility",
        "variant", "cuda_profiler_api.h", "driver_types.h", "helper_cuda.h",
        "helper_functions.h", "helper_timer.h", "vector_types.h",
        "vector_functions.h", "cudaTypedefs.h"};

    *ours = NULL;
    for (size_t i = 0; i < sizeof(extra) / sizeof(extra[0]); i++)
        if (is(name, extra[i].name))
            *ours = extra[i].ours;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (is(name, known[i]))
            return true;
    return *ours != NULL;
}

bool groat__cuda_knows(const char *name, size_t len)
{
    const token t = {name, len, 0};
    const char *ours;

    return find_header(&t, &ours);
}

/* Removes an #include; notes one that nothing stands in for. */
static groat_status read_include(reader *r, const token *sign)
{
    groat__str *headers = &r->out->headers;
    groat__str *left_out = &r->out->left_out;
    const char *ours;
    token name;

    r->c.at += strspn(r->c.at, " \t");
    r->c.at += *r->c.at == '<' || *r->c.at == '"';
    name = (token){r->c.at, strcspn(r->c.at, ">\"\n"), r->c.line};
    if (name.len == 0)
        return refuse(r, name.line, "no name of a header", sign);
    r->c.at += strcspn(r->c.at, "\n");
    replace(r, sign->at, "");
    if (!find_header(&name, &ours)) {
        int own;
        const char *file = groat__cuda_files_at(r->files, name.line, &own);

        groat__str_addf(left_out, "%s%.*s (%s:%d)", left_out->len ? ", " : "",
                        (int)name.len, name.at, file, own);
    } else if (ours && (!headers->len || !strstr(headers->data, ours))) {
        groat__str_addf(headers, "#include \"../common/%s\"\n", ours);
    }
    return GROAT_OK;
}

/* Whether the file defines a macro, or something else may: names that begin as
 * those of compilers and of CUDA do. */
static bool may_be_defined(const reader *r, const token *name)
{
    const char *at = r->text;

    if (*name->at == '_' || strncmp(name->at, "CUDA", 4) == 0)
        return true;
    while ((at = strstr(at, "define")) != NULL) {
        at += strlen("define");
        at += strspn(at, " \t");
        if (strncmp(at, name->at, name->len) == 0 &&
            !groat__is_word(at[name->len]))
            return true;
    }
    return false;
}

/* Whether nothing but blanks and a comment follow in the line. */
static bool ends_line(const char *at)
{
    at += strspn(at, " \t");
    return *at == '\0' || *at == '\n' || *at == '\r' ||
           strncmp(at, "//", 2) == 0;
}

/* Whether the branch behind #WORD is never compiled: of #if 0, of a macro that
 * is not defined, of a later architecture than cuda_compat.h's.  A macro of
 * groat's own headers is taken for undefined. */
static bool is_dead(const reader *r, const token *word)
{
    enum { ARCH = 900 };
    static const char arch[] = "__CUDA_ARCH__ >= ";
    const char *at = r->c.at + strspn(r->c.at, " \t");
    bool closes = false;
    char *end;
    token name;

    if (is(word, "if") && *at == '0')
        return ends_line(at + 1);
    if (is(word, "if") && strncmp(at, arch, sizeof(arch) - 1) == 0)
        return strtol(at + sizeof(arch) - 1, &end, 10) > ARCH && ends_line(end);
    if (is(word, "if") && strncmp(at, "defined", 7) == 0) {
        at += 7 + strspn(at + 7, " \t");
        closes = *at == '(';
        at += closes + strspn(at + closes, " \t");
    } else if (!is(word, "ifdef"))
        return false;
    for (name = (token){at, 0, 0}; groat__is_word(at[name.len]);)
        name.len++;
    at += name.len + strspn(at + name.len, " \t");
    return name.len > 0 && (!closes || *at == ')') && ends_line(at + closes) &&
           !may_be_defined(r, &name);
}

/* Skips to the #else or #endif of a branch.  Its text is kept, but for what
 * reads other files, and nothing in it is refused. */
static void skip_dead(reader *r)
{
    int depth = 1;

    while (depth > 0 && *r->c.at != '\0') {
        groat__cuda_turn turn;
        const char *start;
        const char *at;

        r->c.at += strcspn(r->c.at, "\n");
        r->c.line += *r->c.at == '\n';
        r->c.at += *r->c.at == '\n';
        start = r->c.at;
        at = start + strspn(start, " \t");
        if (*at != '#')
            continue;
        at += 1 + strspn(at + 1, " \t");
        turn = groat__cuda_turn_of(at);
        depth += turn == GROAT__CUDA_IF;
        depth -= turn == GROAT__CUDA_ENDIF ||
                 (depth == 1 && turn == GROAT__CUDA_ELSE);
        if (strncmp(at, "include", 7) == 0) {
            r->c.at += strcspn(r->c.at, "\n");
            replace(r, start, "");
        }
    }
    r->c.fresh = true;
}

/* Only one branch of an #if counts: braces of others are not added to it. */
static void read_condition(reader *r, const token *word)
{
    groat__cuda_turn turn = groat__cuda_turn_of(word->at);
    size_t last = r->branch_count - 1;

    if (turn == GROAT__CUDA_IF) {
        if (r->branch_count < BRANCHES)
            r->branches[r->branch_count] = (branch){r->space_count, r->depth};
        r->branch_count++;
    } else if (r->branch_count > 0 && turn == GROAT__CUDA_ENDIF) {
        r->branch_count--;
    } else if (r->branch_count > 0 && last < BRANCHES &&
               turn == GROAT__CUDA_ELSE) {
        r->space_count = r->branches[last].space_count;
        r->depth = r->branches[last].depth;
    }
}

static groat_status read_directive(reader *r, const token *sign)
{
    token word;

    r->c.at += strspn(r->c.at, " \t");
    word = (token){r->c.at, strcspn(r->c.at, " \t\n<\""), r->c.line};
    r->c.at += word.len;
    if (is(&word, "include"))
        return read_include(r, sign);
    if (is(&word, "line") || (word.len > 0 && isdigit((unsigned char)*word.at)))
        return refuse(r, word.line,
                      "#line is refused, as findings name lines of this file",
                      &word);
    read_condition(r, &word);
    if (is_dead(r, &word)) {
        skip_dead(r);
        return GROAT_OK;
    }
    while (*r->c.at != '\0' && (*r->c.at != '\n' || r->c.at[-1] == '\\')) {
        r->c.line += *r->c.at == '\n';
        r->c.at++;
    }
    return GROAT_OK;
}

/* Whether the reader is outside of functions and types. */
static bool is_outside(const reader *r)
{
    return r->depth == (int)r->space_count;
}

/* Notes what dynamic shared memory is aligned to, where a number says it. */
static void note_alignment(reader *r, token words)
{
    char *end;
    unsigned long bytes = strtoul(words.at, &end, 0);

    if (words.len > 0 && *end == ')' && bytes <= DYNAMIC_ALIGN_MOST &&
        (bytes & (bytes - 1)) == 0 && bytes > r->out->dynamic_align)
        r->out->dynamic_align = (unsigned)bytes;
}

/* Makes "extern __shared__ TYPE NAME[]", whose words may have another order and
 * which more brackets may follow, another name of dynamic shared memory or, in
 * a function, a pointer to it.  `first` is its first token. */
static groat_status read_dynamic(reader *r, const token *first)
{
    groat__str type = {0};
    groat__str made = {0};
    groat__str more = {0};
    token name = {"", 0, 0};
    token t = take(r);

    for (; t.len > 0 && *t.at != '[' && *t.at != ';'; t = take(r)) {
        if (is(&t, "__align__") || is(&t, "alignas")) {
            (void)take(r);
            note_alignment(r, take_to(r, '(', ')'));
        } else if (!is(&t, "__shared__") && !is(&t, "extern")) {
            groat__str_addf(&type, "%.*s ", (int)name.len, name.at);
            name = t;
        }
    }
    if (t.len == 0 || *t.at != '[') {
        groat__str_free(&type);
        return refuse(r, first->line, "expected extern __shared__ TYPE NAME[]",
                      first);
    }
    (void)take_to(r, '[', ']');
    for (skip(r); *r->c.at == '['; skip(r)) {
        const char *start = r->c.at;

        (void)take(r);
        (void)take_to(r, '[', ']');
        groat__str_addn(&more, start, (size_t)(r->c.at - start));
    }
    groat__str_addf(&made, "%s(%s, %s, %.*s)",
                    is_outside(r) ? "GROAT_DYNAMIC" : "GROAT_DYNAMIC_POINTER",
                    type.failed ? "" : type.data,
                    more.len && !more.failed ? more.data : "", (int)name.len,
                    name.at);
    replace(r, first->at, made.failed ? "" : made.data);
    r->out->dynamic = true;
    r->out->text.failed =
        r->out->text.failed || made.failed || type.failed || more.failed;
    groat__str_free(&made);
    groat__str_free(&more);
    groat__str_free(&type);
    return GROAT_OK;
}

/* Whether a declaration is one of dynamic shared memory.  `r` is a copy, behind
 * its first word. */
static bool is_dynamic(reader r, const token *first)
{
    bool external = is(first, "extern");
    bool shared = is(first, "__shared__");
    token t;

    while (t = take(&r), t.len > 0 && !is(&t, ";") && !is(&t, "{") &&
                             !is(&t, "=") && !is(&t, "[") && !is(&t, "<")) {
        external = external || is(&t, "extern");
        shared = shared || is(&t, "__shared__");
    }
    return external && shared && is(&t, "[");
}

/* Rewrites "static __shared__", a double static, and "__shared__ alignas". */
static void read_static(reader *r, const token *first)
{
    reader ahead = *r;
    token next = take(&ahead);

    if ((is(first, "static") && is(&next, "__shared__")) ||
        (is(first, "__shared__") && is(&next, "static"))) {
        *r = ahead;
        replace(r, first->at, "__shared__");
    } else if (is(first, "__shared__") && is(&next, "alignas")) {
        *r = ahead;
        replace(r, first->at, "__shared__ __align__");
    }
}

/* ---- words that cannot be judged ------------------------------------------
 */

static groat_status check_word(const reader *r, const token *t)
{
    static const struct {
        const char *word, *why;
    } refused[] = {{"this_cluster", "clusters are not judged here"},
                   {"__shfl", "shuffles without _sync are no longer CUDA"},
                   {"__managed__", "managed variables are not judged"},
                   {"texture", "textures are not judged"},
                   {"cudaTextureObject_t", "textures are not judged"},
                   {"cudaSurfaceObject_t", "surfaces are not judged"},
                   {"tex2D", "textures are not judged"},
                   {"tex1D", "textures are not judged"}};

    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        if (is(t, refused[i].word))
            return refuse(r, t->line, refused[i].why, t);
    if (*t->at == '<' && strncmp(t->at, "<<<", 3) == 0)
        return refuse(r, t->line, "kernels that launch kernels are not judged",
                      &(token){t->at, 3, t->line});
    return GROAT_OK;
}

/* ---- the kernel -----------------------------------------------------------
 */

/* Reads a directive among parameters: of the branches of an #if the first that
 * may be compiled counts. */
static groat_status read_branch(reader *r, const token *sign)
{
    if (groat__cuda_turn_of(r->c.at) != GROAT__CUDA_ELSE)
        return read_directive(r, sign);
    skip_dead(r);
    return GROAT_OK;
}

static groat_status read_params(reader *r, const token *kernel)
{
    groat__cuda_source *out = r->out;
    groat__cuda_seen s = {0};
    groat_status status = GROAT_OK;
    int depth = 1;

    while (status == GROAT_OK && depth > 0) {
        bool fresh;
        token t;
        bool cut;

        skip(r);
        fresh = r->c.fresh;
        t = take(r);
        if (fresh && is(&t, "#")) {
            status = read_branch(r, &t);
            continue;
        }
        if (t.len == 1)
            depth +=
                (*t.at == '(' || *t.at == '<') - (*t.at == ')' || *t.at == '>');
        cut = depth == 0 || (depth == 1 && is(&t, ","));
        status = check_word(r, &t);
        if (status == GROAT_OK &&
            (t.len == 0 || out->param_count == GROAT__CUDA_PARAMS))
            status = refuse(r, kernel->line,
                            "a kernel has 64 parameters at most", kernel);
        if (status != GROAT_OK)
            break;
        if (!cut) {
            groat__cuda_see(&out->params[out->param_count], &s, &t);
        } else if (s.name.len > 0) {
            if (!groat__cuda_finish(&out->params[out->param_count], &s,
                                    out->param_count + 1))
                status =
                    groat__fail(r->error, GROAT_NO_MEMORY, "out of memory");
            out->param_count++;
        }
    }
    groat__str_free(&s.base);
    return status;
}

/* Appends a name with the namespaces that are open. */
static void add_name(const reader *r, const token *name, groat__str *out)
{
    for (size_t i = 0; i < r->space_count; i++) {
        const space *s = &r->spaces[i];

        for (size_t k = 0; k < s->len; k++)
            if (!isspace((unsigned char)s->name[k]))
                groat__str_addn(out, &s->name[k], 1);
        if (s->len > 0)
            groat__str_add(out, "::");
    }
    groat__str_addn(out, name->at, name->len);
}

static match compare(const char *entry, const groat__str *full,
                     const token *name)
{
    const char *word = groat__cuda_name(entry);
    bool global = strncmp(entry, "::", 2) == 0;
    const char *given = entry + (global ? 2 : 0);
    size_t len = strcspn(given, "<");
    const char *end = full->data + full->len;

    if (strcspn(word, "<") != name->len ||
        strncmp(word, name->at, name->len) != 0)
        return UNLIKE;
    if (len == full->len && strncmp(full->data, given, len) == 0)
        return EXACT;
    return !global && len < full->len && strncmp(end - len, given, len) == 0 &&
                   end[-(ptrdiff_t)len - 1] == ':'
               ? ENDING
               : LAST_WORD;
}

/* Forgets a kernel that was found, for one that matches better. */
static void forget(groat__cuda_source *out)
{
    for (size_t i = 0; i < out->param_count; i++) {
        groat__str_free(&out->params[i].type);
        groat__str_free(&out->params[i].name);
        out->params[i] = (groat__cuda_param){0};
    }
    out->param_count = 0;
    groat__str_clear(&out->entry);
}

/* Takes a kernel if it is the first of those that match best. */
static bool take_kernel(reader *r, const token *name)
{
    groat__cuda_source *out = r->out;
    groat__str full = {0};
    match how;
    bool better;

    add_name(r, name, &full);
    if (full.failed) {
        out->kernels.failed = true;
        groat__str_free(&full);
        return false;
    }
    groat__str_addf(&out->kernels, "%s%s", out->kernels.len ? ", " : "",
                    full.data);
    how = r->entry ? compare(r->entry, &full, name) : ENDING;
    better = how > r->found;
    if (how == ENDING && how == r->found && out->entry.data != NULL &&
        strncmp(out->entry.data, full.data, full.len) != 0)
        r->several = true;
    if (better) {
        forget(out);
        r->found = how;
        r->several = false;
        if (how == LAST_WORD)
            groat__str_add(&out->entry, r->entry);
        else
            groat__str_addf(&out->entry, "%s%s", full.data,
                            r->entry ? r->entry + strcspn(r->entry, "<") : "");
    }
    groat__str_free(&full);
    return better;
}

/* Whether a function's parameters, which the reader begins, are those of a
 * declaration without a body.  `r` is a copy. */
static bool is_declared_only(reader r)
{
    token t;

    (void)take_to(&r, '(', ')');
    t = take_text(&r);
    return is(&t, ";") || is(&t, ",");
}

/* The number that the first argument is; 0 if it is an expression. */
static unsigned long number_of(const token *arguments)
{
    const char *at = arguments->at + strspn(arguments->at, " \t\n");
    char *end = NULL;
    unsigned long number =
        isdigit((unsigned char)*at) ? strtoul(at, &end, 0) : 0;

    while (end != NULL && isspace((unsigned char)*end))
        end++;
    return end != NULL && (*end == ',' || *end == ')') ? number : 0;
}

/* Reads "void __launch_bounds__(256) NAME(" and so on, after __global__. */
static groat_status read_kernel(reader *r)
{
    token name = {"", 0, 0};
    token t = take(r);
    unsigned long most = 0;

    for (; t.len > 0 && *t.at != '(' && *t.at != ';'; t = take(r)) {
        bool bounds = is(&t, "__launch_bounds__");

        if (bounds || is(&t, "__cluster_dims__") || is(&t, "__attribute__")) {
            token all;

            (void)take(r);
            all = take_to(r, '(', ')');
            if (bounds)
                most = number_of(&all);
        } else {
            name = t;
        }
    }
    if (t.len == 0 || *t.at != '(' || name.len == 0 || is_declared_only(*r))
        return GROAT_OK;
    if (!take_kernel(r, &name))
        return GROAT_OK;
    r->out->most_threads = (unsigned)most;
    r->out->templated = r->templated;
    r->out->line = name.line;
    return read_params(r, &name);
}

/* ---- where the reader is --------------------------------------------------
 */

/* Opens a namespace, behind its first word; an alias has no brace.  An inline
 * one need not be named. */
static void read_namespace(reader *r, bool inlined)
{
    reader ahead = *r;
    token first = take(&ahead);
    token t = first;
    size_t len = 0;

    for (; t.len > 0 && (groat__is_word(*t.at) || *t.at == ':');
         t = take(&ahead))
        len = (size_t)(t.at + t.len - first.at);
    if (!is(&t, "{"))
        return;
    *r = ahead;
    if (r->space_count < SPACES)
        r->spaces[r->space_count++] =
            (space){first.at, inlined ? 0 : len, r->depth};
    r->depth++;
}

/* Makes what is declared extern "C" the file's own: else the loader would find
 * the host's functions that have the name. */
static void read_extern(reader *r)
{
    reader ahead = *r;
    token t = take(&ahead);

    if (!is(&t, "\"C\""))
        return;
    *r = ahead;
    replace(r, t.at, "\"C++\"");
}

/* Follows what a kernel's name depends on. */
static void read_scope(reader *r, const token *t)
{
    if (is(t, "namespace")) {
        read_namespace(r, false);
    } else if (is(t, "inline")) {
        reader ahead = *r;
        token next = take(&ahead);

        if (is(&next, "namespace")) {
            *r = ahead;
            read_namespace(r, true);
        }
    } else if (is(t, "template")) {
        reader ahead = *r;
        token next = take(&ahead);

        r->templated = is(&next, "<");
    } else if (is(t, "{")) {
        r->depth++;
        r->templated = false;
    } else if (is(t, ";")) {
        r->templated = false;
    } else if (is(t, "}")) {
        r->depth--;
        if (r->space_count > 0 &&
            r->spaces[r->space_count - 1].depth == r->depth)
            r->space_count--;
    }
}

static groat_status read_all(reader *r)
{
    groat_status status = GROAT_OK;

    while (status == GROAT_OK) {
        bool fresh;
        token t;

        skip(r);
        fresh = r->c.fresh;
        t = take(r);
        if (t.len == 0)
            return GROAT_OK;
        status = check_word(r, &t);
        if (status != GROAT_OK)
            return status;
        if (fresh && *t.at == '#') {
            status = read_directive(r, &t);
        } else if ((is(&t, "extern") || is(&t, "__shared__")) &&
                   is_dynamic(*r, &t)) {
            status = read_dynamic(r, &t);
        } else if (is(&t, "static") || is(&t, "__shared__")) {
            read_static(r, &t);
        } else if (is(&t, "extern")) {
            read_extern(r);
        } else if (is(&t, "__global__")) {
            status = read_kernel(r);
        } else {
            read_scope(r, &t);
        }
    }
    return status;
}

const char *groat__cuda_name(const char *entry)
{
    size_t len = strcspn(entry, "<");

    while (len > 0 && entry[len - 1] != ':')
        len--;
    return entry + len;
}

groat_status groat__cuda_read(const groat__cuda_files *files, const char *text,
                              const char *entry, groat__cuda_source *out,
                              groat_error *error)
{
    reader r = {.files = files,
                .entry = entry,
                .text = text,
                .c = {text, 1, true},
                .done = text,
                .out = out,
                .error = error};
    char given[72] = "";
    const char *file = files->files[0].shown.data;
    groat_status status;

    if (entry)
        (void)snprintf(given, sizeof(given), " '%.64s'", entry);
    status = read_all(&r);
    if (status != GROAT_OK)
        return status;
    groat__str_add(&out->text, r.done);
    out->own_count = out->param_count;
    if (out->text.failed || out->entry.failed || out->kernels.failed ||
        out->headers.failed || out->left_out.failed)
        return groat__fail(error, GROAT_NO_MEMORY,
                           "no memory for the text of %s", file);
    if (r.several)
        return groat__fail(error, GROAT_INVALID,
                           "%s has several kernels%s: --entry says which of "
                           "its __global__ functions: %.300s",
                           file, given, out->kernels.data);
    if (r.found == UNLIKE)
        return groat__fail(error, GROAT_INVALID,
                           "%s has no kernel%s; its __global__ functions, "
                           "without those that a macro makes: %.300s",
                           file, given,
                           out->kernels.len ? out->kernels.data : "none");
    out->file = groat__cuda_files_at(files, out->line, &out->line);
    if (out->templated && strchr(out->entry.data, '<') == NULL)
        return groat__fail(error, GROAT_INVALID,
                           "%s:%d: %.64s is a template: give its arguments, as "
                           "in --entry '%.64s<...>'",
                           out->file, out->line, out->entry.data,
                           out->entry.data);
    return GROAT_OK;
}

void groat__cuda_free(groat__cuda_source *source)
{
    for (size_t i = 0; i < GROAT__CUDA_PARAMS; i++) {
        groat__str_free(&source->params[i].type);
        groat__str_free(&source->params[i].name);
        groat__str_free(&source->params[i].path);
    }
    groat__str_free(&source->text);
    groat__str_free(&source->kernels);
    groat__str_free(&source->entry);
    groat__str_free(&source->headers);
    groat__str_free(&source->left_out);
}
