/* SPDX-License-Identifier: Apache-2.0
 *
 * cuda_decls.c splits a file of CUDA C++ into declarations.  It knows no
 * grammar: a declaration goes to ";" or to the "}" of its body, and its name is
 * the word in front of parameters, a bracket, an initial value or a body.  What
 * is not clear gets no name.  No state.
 */
#include "cli/judge/cuda_decls.h"

#include <ctype.h>
#include <string.h>

#include "base/str.h"

typedef groat__cuda_token token;
typedef groat__cuda_cursor cursor;
typedef groat__cuda_decl decl;

static bool is(const token *t, const char *word)
{
    return groat__cuda_is(t, word);
}

bool groat__cuda_is_among(const token *t, const char *words)
{
    for (; (words = strchr(words, ' ')) != NULL; words++)
        if (strncmp(words + 1, t->at, t->len) == 0 && words[t->len + 1] == ' ')
            return t->len > 0;
    return false;
}

/* ---- words ----------------------------------------------------------------
 */

static bool is_device(const token *t)
{
    static const char words[] =
        " __global__ __device__ __shared__ __constant__ threadIdx"
        " blockIdx __syncthreads __syncwarp ";

    return groat__cuda_is_among(t, words);
}

/* Whether the word is one of the host's libraries, such as cudaMalloc. */
static bool is_of_runtime(const token *t)
{
    static const char *const leads[] = {"cuda",   "cublas", "cudnn",
                                        "curand", "cufft",  "nccl"};

    for (size_t i = 0; i < sizeof(leads) / sizeof(leads[0]); i++) {
        size_t len = strlen(leads[i]);

        if (t->len > len && strncmp(t->at, leads[i], len) == 0 &&
            isupper((unsigned char)t->at[len]))
            return true;
    }
    return false;
}

/* Also "<<<" of a launch, and of std:: or in front of "<" or "::" what may be a
 * variable's name elsewhere. */
static bool is_host(const token *t, bool of_std)
{
    static const char words[] =
        " main argv cout cerr endl ifstream ofstream mt19937 stringstream"
        " ostream getenv fopen fprintf ostringstream unique_ptr stderr srand"
        " rand atoi malloc calloc exit FILE timeval gettimeofday timespec"
        " fclose fscanf sscanf atof strtol perror fread fwrite"
        " StopWatchInterface PYBIND11_MODULE TORCH_CHECK CUresult CUdevice"
        " CUcontext CUstream CUmodule CUfunction ";
    static const char of_a_library[] =
        " vector string thread chrono map set array mutex function"
        " unordered_map torch at c10 pybind11 py ";
    const char *behind = t->at + t->len;

    return groat__cuda_is_among(t, words) || strncmp(t->at, "<<<", 3) == 0 ||
           is_of_runtime(t) ||
           ((of_std || *behind == '<' || strncmp(behind, "::", 2) == 0) &&
            groat__cuda_is_among(t, of_a_library));
}

/* Whether a declaration with this first word ends at ";", not at "}". */
static bool is_long(const token *t)
{
    static const char words[] = " struct class union enum typedef ";

    return groat__cuda_is_among(t, words);
}

/* Whether a word in front of parentheses is an attribute, not the function. */
static bool is_attribute(const token *t)
{
    static const char words[] =
        " __launch_bounds__ __cluster_dims__ __attribute__ __align__ alignas"
        " __declspec decltype ";

    return groat__cuda_is_among(t, words);
}

bool groat__cuda_is_keyword(const token *t)
{
    static const char words[] =
        " enum static_assert operator concept friend asm struct class union"
        " void bool char short int long unsigned signed float double auto const"
        " typedef template using static extern inline constexpr volatile ";

    return groat__cuda_is_among(t, words);
}

/* ---- a declaration's name -------------------------------------------------
 */

/* Where the reader of a name is. */
typedef struct naming {
    token first; /* of the declaration */
    token word;  /* the last one */
    int angle;   /* brackets of templates that are open */
    int parens;  /* parentheses of an attribute, or in such brackets */
    int bodies;  /* braces of a typedef */
    bool done;
    groat__cuda_known known;
    bool type;     /* a word for one is in front of the name */
    bool function; /* parameters follow */
} naming;

/* Whether a colon is one of "::". */
static bool is_scope(const token *t)
{
    return t->at[1] == ':' || t->at[-1] == ':';
}

/* Whether a token ends what is in front of the parameters of a function, the
 * brackets of an array, the initial value of a variable, or the body or the
 * bases of a type. */
static bool ends_name(const naming *n, const token *t)
{
    if (n->word.len == 0 || t->len != 1)
        return false;
    if (*t->at == ':')
        return !is_scope(t);
    if (*t->at == '[' && (t->at[1] == '[' || t->at[-1] == '['))
        return false; /* an attribute's */
    /* "typedef int (*NAME)(int);", "typedef struct { ... } NAME;" */
    if (is(&n->first, "typedef"))
        return strchr(";,[)", *t->at) != NULL;
    return strchr("([={;,", *t->at) != NULL;
}

static void end_name(naming *n, const token *t)
{
    n->done = true;
    n->function = is(t, "(");
    if (n->known == GROAT__CUDA_BY_ALL_WORDS && n->function)
        n->known = GROAT__CUDA_BY_NAME; /* one that returns an enum */
    if (n->known == GROAT__CUDA_BY_NAME &&
        (is(t, ",") || groat__cuda_is_keyword(&n->word)))
        n->known = is(&n->word, "static_assert") ? GROAT__CUDA_BY_NOTHING
                                                 : GROAT__CUDA_BY_WORDS;
}

/* Follows a type's body in a typedef: the type may have a name of its own. */
static void skip_body(naming *n, const token *t)
{
    n->bodies += is(t, "{") - is(t, "}");
    if (is(t, "{") && n->bodies == 1 && !is(&n->word, "struct") &&
        !is(&n->word, "union") && n->known == GROAT__CUDA_BY_NAME)
        n->known = GROAT__CUDA_BY_WORDS;
}

/* Whether a word follows the parentheses that open, as behind those of an
 * attribute's macro.  `c` is a copy. */
static bool is_followed(cursor c)
{
    static const char words[] = " const noexcept volatile override final throw"
                                " __attribute__ requires asm ";
    token t;

    (void)groat__cuda_take_to(&c, '(', ')');
    t = groat__cuda_take_text(&c);
    return groat__is_word(*t.at) && !groat__cuda_is_among(&t, words);
}

/* Whether parentheses that open are an attribute's, or in a template's
 * brackets. */
static bool is_aside(const naming *n, const token *t, const cursor *c)
{
    return is(t, "(") &&
           (n->angle > 0 || n->word.len == 0 || is_attribute(&n->word) ||
            (n->word.at != n->first.at && is_followed(*c)));
}

static void read_name(naming *n, const token *t, const cursor *c)
{
    if (n->done)
        return;
    if (is(&n->first, "typedef") && (n->bodies > 0 || is(t, "{"))) {
        skip_body(n, t);
        return;
    }
    if (n->parens > 0 || is_aside(n, t, c)) {
        n->parens += is(t, "(") - is(t, ")");
        return;
    }
    n->angle += is(t, "<") - is(t, ">");
    if (n->angle > 0)
        return;
    if (is(t, "operator"))
        n->known = is(&n->first, "template") ? GROAT__CUDA_BY_NOTHING
                                             : GROAT__CUDA_BY_TYPES;
    else if (is(t, "enum"))
        n->known = GROAT__CUDA_BY_ALL_WORDS;
    n->type = n->type || is_long(t);
    if (ends_name(n, t))
        end_name(n, t);
    else if (groat__is_word(*t->at) && !is(t, "final"))
        n->word = *t;
}

/* Whether the name of a macro's call, without a type in front, was just read.
 */
static bool is_call(const naming *n, const token *t)
{
    return is(t, "(") && n->done && n->word.at == n->first.at;
}

/* ---- a declaration --------------------------------------------------------
 */

/* Braces that are open; of the branches of an #if only one counts. */
typedef struct braces {
    int depth;
    int outside[16]; /* depth in front of each #if that is open */
    size_t count;
} braces;

/* Follows a directive that begins, turns to another branch of, or ends an #if.
 */
static void follow(braces *b, groat__cuda_turn turn)
{
    if (turn == GROAT__CUDA_IF) {
        if (b->count < 16)
            b->outside[b->count] = b->depth;
        b->count++;
    } else if (turn == GROAT__CUDA_ELSE && b->count <= 16) {
        b->depth = b->count > 0 ? b->outside[b->count - 1] : 0;
    } else if (turn == GROAT__CUDA_ENDIF && b->count > 0) {
        b->count--;
    }
}

/* Reads a token; `b` follows the directives in front of it. */
static token take_token(cursor *c, braces *b)
{
    token t = groat__cuda_take(c);

    for (; is(&t, "#"); t = groat__cuda_take(c)) {
        follow(b, groat__cuda_turn_of(c->at));
        groat__cuda_skip_directive(c);
    }
    b->depth += is(&t, "{") - is(&t, "}");
    return t;
}

/* Whether a brace that closed was not the body's: "= {1};", "s = {}) {",
 * ": a{1}, b{2} {".  `c` is a copy. */
static bool goes_on(cursor c)
{
    token next = groat__cuda_take_text(&c);

    return next.len == 1 && strchr(";,){", *next.at) != NULL;
}

/* Whether a macro's call is all: no body and no ";" follow.  `c` is a copy,
 * behind the parenthesis. */
static bool is_whole_call(cursor c)
{
    token next;

    (void)groat__cuda_take_to(&c, '(', ')');
    next = groat__cuda_take_text(&c);
    return next.len != 1 || strchr(";{:=,", *next.at) == NULL;
}

/* Whether "using std::NAME;" begins: CUDA's functions need no std::.  `c` is a
 * copy. */
static bool is_using_std(cursor c, const token *t)
{
    token next = groat__cuda_take_text(&c);

    return is(t, "using") && is(&next, "std");
}

/* What of a declaration's words says for whom it is. */
typedef struct sides {
    bool host;
    bool device;
    bool lambda;     /* what comes next is of a lambda in host code */
    unsigned of_std; /* tokens of "std::" */
} sides;

static void read_sides(sides *s, const token *t)
{
    s->host = s->host || is_host(t, s->of_std == 3);
    s->device = s->device || (!s->lambda && is_device(t));
    s->lambda = is(t, "]");
    s->of_std = is(t, "std")                  ? 1
                : s->of_std > 0 && is(t, ":") ? s->of_std + 1
                                              : 0;
}

/* Whether a text has a word of host code and none of the device. */
static bool is_host_text(cursor c, const char *end)
{
    sides s = {0};

    while (c.at < end) {
        token t = groat__cuda_take(&c);

        read_sides(&s, &t);
    }
    return s.host && !s.device;
}

/* Whether a declaration ends with a token behind it, at which no brace is open.
 */
static bool is_end(const naming *n, const token *t, const cursor *c)
{
    const bool body = !n->type || n->function;

    return is(t, ";") || (is(t, "}") && body && !goes_on(*c));
}

/* Reads a declaration behind its first token to its end. */
static decl read_decl(cursor *c, token t)
{
    sides s = {.host = is_using_std(*c, &t)};
    braces b = {is(&t, "{"), {0}, 0};
    naming n = {.first = t};
    decl d = {.name = {"", 0, 0}, .from = t.at};
    int parens = 0;

    for (; t.len > 0; t = take_token(c, &b)) {
        bool named = n.done;
        bool outside = b.depth <= 0 && parens <= 0 && !n.function;

        read_sides(&s, &t);
        d.kernel = d.kernel || (!named && is(&t, "__global__"));
        d.space = d.space || (is(&n.first, "using") && is(&t, "namespace"));
        read_name(&n, &t, c);
        parens += is(&t, "(") - is(&t, ")");
        d.type = d.type || (n.type && n.done && !n.function && is(&t, "{"));
        /* "a = 1, b", "struct s { ... } c;" */
        if (named && outside && n.known == GROAT__CUDA_BY_NAME &&
            (is(&t, ",") || (d.type && groat__is_word(*t.at))))
            n.known = GROAT__CUDA_BY_WORDS;
        d.call = d.call || (!named && is_call(&n, &t));
        if (!named && d.call && is_whole_call(*c)) {
            (void)groat__cuda_take_to(c, '(', ')');
            break;
        }
        if (b.depth <= 0 && is_end(&n, &t, c))
            break;
    }
    d.to = c->at;
    d.host = s.host && !s.device;
    d.kernel = d.kernel && n.function;
    d.known = n.done ? n.known : GROAT__CUDA_BY_NOTHING;
    if (d.known == GROAT__CUDA_BY_NAME)
        d.name = n.word;
    return d;
}

/* Whether a namespace or a block of extern "C" opens; reads to behind its
 * brace. */
static bool read_opening(cursor *c, token t)
{
    cursor ahead = *c;

    if (is(&t, "inline"))
        t = groat__cuda_take_text(&ahead);
    if (!is(&t, "namespace") && !is(&t, "extern"))
        return false;
    do
        t = groat__cuda_take_text(&ahead);
    while (t.len > 0 && (groat__is_word(*t.at) || strchr(":\"", *t.at)));
    if (!is(&t, "{"))
        return false;
    *c = ahead;
    return true;
}

bool groat__cuda_next_decl(cursor *c, decl *out)
{
    token t;

    do
        t = groat__cuda_take_text(c);
    while (t.len > 0 && (is(&t, "}") || read_opening(c, t)));
    if (t.len > 0)
        *out = read_decl(c, t);
    return t.len > 0;
}

bool groat__cuda_next_macro(cursor *c, decl *out)
{
    for (;;) {
        token t = groat__cuda_take(c);
        cursor line = *c;

        if (t.len == 0)
            return false;
        if (!is(&t, "#"))
            continue;
        groat__cuda_skip_directive(c);
        t = groat__cuda_take(&line);
        if (!is(&t, "define"))
            continue;
        t = groat__cuda_take(&line);
        *out = (decl){.name = t, .from = line.at, .to = c->at, .macro = true};
        out->host = is_host_text(line, c->at);
        return true;
    }
}
