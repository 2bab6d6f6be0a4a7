/* SPDX-License-Identifier: Apache-2.0
 *
 * cuda_host.c - leaves out what is for the host in a file of CUDA C++.
 *
 * Nobody can tell for sure without a grammar: a function may be for the device
 * by a macro's name.  So only what would be refused, or not compile, anyway is
 * left out: a declaration with a word of host code and none of the device.  No
 * state.
 */
#include "cli/judge/cuda_host.h"

#include <ctype.h>
#include <string.h>

#include "cli/judge/cuda_tokens.h"

typedef groat__cuda_token token;
typedef groat__cuda_cursor cursor;

static bool is_one_of(const token *t, const char *const *words)
{
    for (; *words != NULL; words++)
        if (groat__cuda_is(t, *words))
            return true;
    return false;
}

static bool is_device(const token *t)
{
    static const char *const words[] = {
        "__global__",    "__device__", "__shared__",
        "__constant__",  "threadIdx",  "blockIdx",
        "__syncthreads", "__syncwarp", NULL};

    return is_one_of(t, words);
}

/* Also "<<<" of a launch, names such as cudaMalloc, and of std:: or in front of
 * "<" or "::" what may be a variable's name elsewhere. */
static bool is_host(const token *t, bool of_std)
{
    static const char *const words[] = {
        "main",     "argv",     "cout",    "cerr",          "endl",
        "ifstream", "ofstream", "mt19937", "stringstream",  "ostream",
        "getenv",   "fopen",    "fprintf", "ostringstream", "unique_ptr",
        "stderr",   "srand",    "rand",    "atoi",          "malloc",
        "calloc",   "exit",     NULL};
    static const char *const of_a_library[] = {
        "vector", "string", "thread",   "chrono",        "map", "set",
        "array",  "mutex",  "function", "unordered_map", NULL};
    const char *behind = t->at + t->len;

    return is_one_of(t, words) || strncmp(t->at, "<<<", 3) == 0 ||
           (t->len > 4 && strncmp(t->at, "cuda", 4) == 0 &&
            isupper((unsigned char)t->at[4])) ||
           ((of_std || *behind == '<' || strncmp(behind, "::", 2) == 0) &&
            is_one_of(t, of_a_library));
}

/* Whether a declaration with this first word ends at ";", not at "}". */
static bool is_long(const token *t)
{
    static const char *const words[] = {"struct", "class",   "union",
                                        "enum",   "typedef", NULL};

    return is_one_of(t, words);
}

/* Whether a brace that closed was not the body's: "= {1};", "s = {}) {",
 * ": a{1}, b{2} {".  `c` is a copy. */
static bool goes_on(cursor c)
{
    token next = groat__cuda_take_text(&c);

    return next.len == 1 && strchr(";,){", *next.at) != NULL;
}

/* Reads a declaration behind its first token to its end; returns whether it is
 * the host's. */
static bool read_declaration(cursor *c, token t)
{
    const bool more = is_long(&t);
    bool host = false;
    bool device = false;
    unsigned of_std = 0; /* tokens of "std::" */
    int depth = 0;

    for (; t.len > 0; t = groat__cuda_take_text(c)) {
        host = host || is_host(&t, of_std == 3);
        device = device || is_device(&t);
        of_std = groat__cuda_is(&t, "std")               ? 1
                 : of_std > 0 && groat__cuda_is(&t, ":") ? of_std + 1
                                                         : 0;
        depth += groat__cuda_is(&t, "{") - groat__cuda_is(&t, "}");
        if (depth <= 0 && groat__cuda_is(&t, ";"))
            break;
        if (depth <= 0 && groat__cuda_is(&t, "}") && !more && !goes_on(*c))
            break;
    }
    return host && !device;
}

/* Whether a namespace or a block of extern "C" opens; reads to behind its
 * brace. */
static bool read_opening(cursor *c, token t)
{
    cursor ahead = *c;

    if (groat__cuda_is(&t, "inline"))
        t = groat__cuda_take_text(&ahead);
    if (!groat__cuda_is(&t, "namespace") && !groat__cuda_is(&t, "extern"))
        return false;
    do
        t = groat__cuda_take_text(&ahead);
    while (t.len > 0 && (groat__is_word(*t.at) || strchr(":\"", *t.at)));
    if (!groat__cuda_is(&t, "{"))
        return false;
    *c = ahead;
    return true;
}

static void add_lines(groat__str *out, const char *from, const char *to)
{
    for (; from < to; from++)
        if (*from == '\n')
            groat__str_add(out, "\n");
}

void groat__cuda_drop_host(const char *text, groat__str *out)
{
    cursor c = {text, 1, true};
    const char *done = text;
    token t;

    while ((t = groat__cuda_take_text(&c)).len > 0) {
        if (groat__cuda_is(&t, "}") || read_opening(&c, t) ||
            !read_declaration(&c, t))
            continue;
        groat__str_addn(out, done, (size_t)(t.at - done));
        add_lines(out, t.at, c.at);
        done = c.at;
    }
    groat__str_add(out, done);
}
