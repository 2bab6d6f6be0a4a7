/* SPDX-License-Identifier: Apache-2.0
 *
 * cuda_host.c - leaves out what a kernel does not need in a file of CUDA C++:
 * what is for the host, and other kernels.
 *
 * Nobody can tell for sure without a grammar: a function may be for the device
 * by a macro's name.  So only what would be refused, or not compile, anyway is
 * left out: a declaration with a word of host code and none of the device.  No
 * state.
 */
#include "cli/judge/cuda_host.h"

#include <ctype.h>
#include <string.h>

#include "cli/judge/cuda_source.h"
#include "cli/judge/cuda_tokens.h"

typedef groat__cuda_token token;
typedef groat__cuda_cursor cursor;

/* Whether a token is among words with blanks around them. */
static bool is_among(const token *t, const char *words)
{
    for (; (words = strchr(words, ' ')) != NULL; words++)
        if (strncmp(words + 1, t->at, t->len) == 0 && words[t->len + 1] == ' ')
            return t->len > 0;
    return false;
}

static bool is_device(const token *t)
{
    static const char words[] =
        " __global__ __device__ __shared__ __constant__ threadIdx"
        " blockIdx __syncthreads __syncwarp ";

    return is_among(t, words);
}

/* Also "<<<" of a launch, names such as cudaMalloc, and of std:: or in front of
 * "<" or "::" what may be a variable's name elsewhere. */
static bool is_host(const token *t, bool of_std)
{
    static const char words[] =
        " main argv cout cerr endl ifstream ofstream mt19937 stringstream"
        " ostream getenv fopen fprintf ostringstream unique_ptr stderr srand"
        " rand atoi malloc calloc exit FILE timeval gettimeofday timespec"
        " fclose fscanf sscanf atof strtol perror fread fwrite"
        " StopWatchInterface ";
    static const char of_a_library[] =
        " vector string thread chrono map set array mutex function"
        " unordered_map ";
    const char *behind = t->at + t->len;

    return is_among(t, words) || strncmp(t->at, "<<<", 3) == 0 ||
           (t->len > 4 && strncmp(t->at, "cuda", 4) == 0 &&
            isupper((unsigned char)t->at[4])) ||
           ((of_std || *behind == '<' || strncmp(behind, "::", 2) == 0) &&
            is_among(t, of_a_library));
}

/* Whether a declaration with this first word ends at ";", not at "}". */
static bool is_long(const token *t)
{
    static const char words[] = " struct class union enum typedef ";

    return is_among(t, words);
}

/* Whether a brace that closed was not the body's: "= {1};", "s = {}) {",
 * ": a{1}, b{2} {".  `c` is a copy. */
static bool goes_on(cursor c)
{
    token next = groat__cuda_take_text(&c);

    return next.len == 1 && strchr(";,){", *next.at) != NULL;
}

/* Whether a word in front of parentheses is an attribute, not the function. */
static bool is_attribute(const token *t)
{
    static const char words[] =
        " __launch_bounds__ __cluster_dims__ __attribute__ __align__ ";

    return is_among(t, words);
}

/* Whether a kernel's declaration may begin with the word: one in front of it
 * is a macro's, which may open a namespace. */
static bool is_specifier(const token *t)
{
    static const char words[] = " template extern static inline __global__ ";

    return is_among(t, words);
}

/* What a declaration is. */
typedef struct kind {
    bool host;        /* it has a word of host code, and none of the device */
    token name;       /* of a function; or no token */
    bool kernel;      /* it is a __global__ one */
    const char *from; /* where one that is left out begins */
} kind;

/* Follows the name of a function: the last word in front of its parameters.
 * `angle`: of template brackets that are open. */
static void read_name(const token *t, int *angle, bool *named, token *name)
{
    *angle += groat__cuda_is(t, "<") - groat__cuda_is(t, ">");
    if (*named || *angle > 0)
        return;
    if (groat__cuda_is(t, "("))
        *named = !is_attribute(name);
    else if (groat__is_word(*t->at))
        *name = *t;
}

/* Whether "using std::NAME;" begins: CUDA's functions need no std::.  `c` is a
 * copy. */
static bool is_using_std(cursor c, const token *t)
{
    token next = groat__cuda_take_text(&c);

    return groat__cuda_is(t, "using") && groat__cuda_is(&next, "std");
}

/* Reads a declaration behind its first token to its end. */
static kind read_declaration(cursor *c, token t)
{
    const bool more = is_long(&t);
    const char *first = t.at;
    bool host = is_using_std(*c, &t);
    bool device = false;
    bool kernel = false;
    bool named = false;
    bool lambda = false; /* what comes next is of a lambda in host code */
    const char *from = NULL;
    token name = {"", 0, 0};
    int angle = 0;
    unsigned of_std = 0; /* tokens of "std::" */
    int depth = 0;

    for (; t.len > 0; t = groat__cuda_take_text(c)) {
        host = host || is_host(&t, of_std == 3);
        device = device || (!lambda && is_device(&t));
        lambda = groat__cuda_is(&t, "]");
        from = from == NULL && is_specifier(&t) ? t.at : from;
        kernel = kernel || (!named && groat__cuda_is(&t, "__global__"));
        read_name(&t, &angle, &named, &name);
        of_std = groat__cuda_is(&t, "std")               ? 1
                 : of_std > 0 && groat__cuda_is(&t, ":") ? of_std + 1
                                                         : 0;
        depth += groat__cuda_is(&t, "{") - groat__cuda_is(&t, "}");
        if (depth <= 0 && groat__cuda_is(&t, ";"))
            break;
        if (depth <= 0 && groat__cuda_is(&t, "}") && !more && !goes_on(*c))
            break;
    }
    host = host && !device;
    return (kind){host, named ? name : (token){"", 0, 0}, kernel && named,
                  host ? first : from};
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

/* Whether a declaration is not needed by a kernel; NULL: by any kernel. */
static bool is_unused(const kind *k, const char *entry)
{
    const char *word = entry != NULL ? groat__cuda_name(entry) : "";
    size_t len = strcspn(word, "<");

    return k->host ||
           (len > 0 && k->kernel &&
            !(k->name.len == len && strncmp(k->name.at, word, len) == 0));
}

/* Reads the next declaration, in whatever namespace; false: there is none. */
static bool read_next(cursor *c, kind *k)
{
    token t;

    do
        t = groat__cuda_take_text(c);
    while (t.len > 0 && (groat__cuda_is(&t, "}") || read_opening(c, t)));
    if (t.len > 0)
        *k = read_declaration(c, t);
    return t.len > 0;
}

/* Returns whether there is such a kernel. */
static bool drop(const char *text, const char *entry, groat__str *out)
{
    cursor c = {text, 1, true};
    const char *done = text;
    bool found = entry == NULL;
    kind k;

    while (read_next(&c, &k)) {
        if (!is_unused(&k, entry)) {
            found = found || k.kernel;
            continue;
        }
        groat__str_addn(out, done, (size_t)(k.from - done));
        add_lines(out, k.from, c.at);
        done = c.at;
    }
    groat__str_add(out, done);
    return found;
}

void groat__cuda_drop_unused(const char *text, const char *entry,
                             groat__str *out)
{
    if (drop(text, entry, out))
        return;
    groat__str_clear(out);
    (void)drop(text, NULL, out);
}

/* Whether a function's name is one of cuda_compat.h to which CUDA code adds
 * overloads for types of its own. */
static bool is_overloaded(const token *t)
{
    static const char words[] =
        " min max abs fabs fminf fmaxf fabsf floorf ceilf roundf truncf fmodf"
        " expf logf sqrtf rsqrtf powf sinf cosf tanhf fmaf sqrt exp log floor"
        " ceil round __ldg atomicAdd atomicSub atomicMin atomicMax atomicAnd"
        " atomicOr atomicXor atomicExch atomicCAS __shfl_sync __shfl_up_sync"
        " __shfl_down_sync __shfl_xor_sync ";
    static const char vectors[] = " char uchar short ushort int uint long ulong"
                                  " longlong ulonglong float double ";
    static const char make[] = "make_";
    token type = *t;

    if (t->len <= sizeof(make) || strncmp(t->at, make, sizeof(make) - 1) != 0)
        return is_among(t, words);
    type.at += sizeof(make) - 1;
    type.len -= sizeof(make); /* without the number, too */
    return is_among(&type, vectors) && strchr("234", type.at[type.len]) != NULL;
}

void groat__cuda_add_overloaded(const char *text, groat__str *out)
{
    cursor c = {text, 1, true};
    kind k;

    while (read_next(&c, &k))
        if (is_overloaded(&k.name))
            groat__str_addf(out, "using ::%.*s;\n", (int)k.name.len, k.name.at);
}
