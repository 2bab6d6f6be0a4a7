/* SPDX-License-Identifier: Apache-2.0
 *
 * cuda_needed.c - leaves out what a kernel does not need in a file of CUDA C++:
 * what is for the host, other kernels, and what neither the kernel names nor
 * anything that it names.
 *
 * A name is taken for each declaration that has it, wherever that is.  A
 * function may be for the device by a macro's name: so what has a word of host
 * code stays if it has one of the device, too.  No state.
 */
#include "cli/judge/cuda_needed.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "cli/judge/cuda_decls.h"
#include "cli/judge/cuda_source.h"

typedef groat__cuda_token token;
typedef groat__cuda_cursor cursor;
typedef groat__cuda_decl decl;

/* A name of a declaration, and whether that stays; it may have several. */
typedef struct entry {
    token name; /* or none */
    decl decl;
    bool needed;
    size_t number; /* of the declaration */
    bool lead;     /* it belongs to what follows: NAME(...) without a ";" */
    bool pastes;   /* a macro that puts names together */
} entry;

typedef struct table {
    entry *all; /* as in the text, the macros last; then by name */
    size_t count;
    size_t cap;
    size_t decls;
    bool failed;
} table;

/* ---- what there is --------------------------------------------------------
 */

static void add(table *t, const token *name, const decl *d)
{
    if (t->failed ||
        !groat__grow(&t->all, t->count + 1, &t->cap, sizeof(*t->all)))
        t->failed = true;
    else
        t->all[t->count++] =
            (entry){.name = *name, .decl = *d, .number = t->decls};
}

/* Whether a word of an operator's parameters, between two tokens, is a type: it
 * is no parameter's name. */
static bool is_type(const token *before, const cursor *behind)
{
    cursor c = *behind;
    token next = groat__cuda_take_text(&c);
    bool last = groat__cuda_is(&next, ",") || groat__cuda_is(&next, ")");

    return !last || groat__cuda_is(before, ",") || groat__cuda_is(before, "(");
}

/* Adds a declaration by its words; returns whether there is any. */
static bool add_words(table *t, const decl *d)
{
    cursor c = {d->from, 1, true};
    token last = {"", 0, 0};
    int depth = 0;
    bool any = false;

    while (c.at < d->to) {
        token word = groat__cuda_take_text(&c);

        if (word.len == 0 || word.at >= d->to)
            break;
        depth += groat__cuda_is(&word, "{") - groat__cuda_is(&word, "}");
        if (d->known == GROAT__CUDA_BY_TYPES && depth > 0)
            break;
        if (groat__is_word(*word.at) && !groat__is_digit(*word.at) &&
            !groat__cuda_is_keyword(&word) &&
            (depth == 0 || d->known == GROAT__CUDA_BY_ALL_WORDS) &&
            (d->known != GROAT__CUDA_BY_TYPES || is_type(&last, &c))) {
            add(t, &word, d);
            any = true;
        }
        last = word;
    }
    return any;
}

static void add_decl(table *t, const decl *d)
{
    bool by_words = d->known == GROAT__CUDA_BY_WORDS ||
                    d->known == GROAT__CUDA_BY_ALL_WORDS ||
                    d->known == GROAT__CUDA_BY_TYPES;

    if (!by_words || !add_words(t, d))
        add(t, &d->name, d);
    t->decls++;
}

static int compare_words(const token *a, const token *b)
{
    size_t len = a->len < b->len ? a->len : b->len;
    int order = memcmp(a->at, b->at, len);

    return order != 0 ? order : (a->len > b->len) - (a->len < b->len);
}

static int by_name(const void *a, const void *b)
{
    return compare_words(&((const entry *)a)->name, &((const entry *)b)->name);
}

static int by_place(const void *a, const void *b)
{
    const char *left = ((const entry *)a)->decl.from;
    const char *right = ((const entry *)b)->decl.from;

    return (left > right) - (left < right);
}

/* Index of the first that has the name, or a later one. */
static size_t find(const table *t, const token *name)
{
    size_t low = 0;
    size_t high = t->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare_words(&t->all[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool has_name(const table *t, size_t at, const token *name)
{
    return at < t->count && compare_words(&t->all[at].name, name) == 0;
}

/* Whether a macro of the text that has the name has one of the characters. */
static bool has_any(const table *t, const token *name, const char *characters)
{
    for (size_t i = find(t, name); has_name(t, i, name); i++) {
        const decl *d = &t->all[i].decl;
        size_t len = (size_t)(d->to - d->from);

        for (const char *one = characters; d->macro && *one != '\0'; one++)
            if (memchr(d->from, *one, len) != NULL)
                return true;
    }
    return false;
}

/* Takes macros in front of a declaration that open or close a brace, as of a
 * namespace, for none of its words; `c` is behind it. */
static void skip_braces(const table *t, cursor *c, decl *d)
{
    cursor ahead = {d->from, 1, true};
    cursor behind = ahead;
    token word = groat__cuda_take_text(&ahead);

    if (d->call || !has_any(t, &word, "{}"))
        return;
    while (word.at < d->to && has_any(t, &word, "{}")) {
        behind = ahead;
        word = groat__cuda_take_text(&ahead);
    }
    if (word.at >= d->to || !groat__cuda_next_decl(&behind, d))
        *d = (decl){.known = GROAT__CUDA_BY_NOTHING,
                    .name = {"", 0, 0},
                    .from = d->to,
                    .to = d->to};
    c->at = d->to;
}

static void sort(table *t, int (*compare)(const void *, const void *))
{
    if (t->count > 0)
        qsort(t->all, t->count, sizeof(*t->all), compare);
}

/* Fills a table by name. */
static void read_all(table *t, const char *text)
{
    table macros = {0};
    cursor c = {text, 1, true};
    decl d;

    while (groat__cuda_next_macro(&c, &d))
        add(&macros, &d.name, &d);
    sort(&macros, by_name);
    c = (cursor){text, 1, true};
    while (groat__cuda_next_decl(&c, &d)) {
        skip_braces(&macros, &c, &d);
        add_decl(t, &d);
    }
    for (size_t i = 0; i < macros.count; i++)
        add_decl(t, &macros.all[i].decl);
    t->failed = t->failed || macros.failed;
    free(macros.all);
    sort(t, by_name);
}

/* ---- what is needed -------------------------------------------------------
 */

static void need_name(table *t, const token *name)
{
    for (size_t i = find(t, name); has_name(t, i, name); i++)
        t->all[i].needed = true;
}

/* Marks all whose name begins or ends with a word: a macro puts names together
 * with "##". */
static void need_pasted(table *t, const token *word)
{
    for (size_t i = 0; i < t->count; i++) {
        const token *name = &t->all[i].name;
        const char *end = name->at + name->len;

        if (name->len >= word->len &&
            (memcmp(name->at, word->at, word->len) == 0 ||
             memcmp(end - word->len, word->at, word->len) == 0))
            t->all[i].needed = true;
    }
}

/* Whether a macro puts names together. */
static bool is_pasting(const table *t, const token *name)
{
    for (size_t i = find(t, name); has_name(t, i, name); i++)
        if (t->all[i].decl.macro && t->all[i].pastes)
            return true;
    return false;
}

/* Marks what words in parentheses, behind a macro's name, may be parts of. */
static void need_arguments(table *t, cursor c)
{
    token all;

    if (*c.at != '(')
        return;
    (void)groat__cuda_take(&c);
    all = groat__cuda_take_to(&c, '(', ')');
    c.at = all.at;
    while (c.at < all.at + all.len) {
        token word = groat__cuda_take(&c);

        if (word.len > 1 && groat__is_word(*word.at))
            need_pasted(t, &word);
    }
}

/* Marks what a text names. */
static void need_words(table *t, const char *from, const char *to)
{
    cursor c = {from, 1, false};
    token last = {"", 0, 0};
    unsigned signs = 0; /* "#" behind the last word */

    while (c.at < to) {
        token word = groat__cuda_take(&c);

        if (word.len == 0 || word.at >= to)
            break;
        signs += groat__cuda_is(&word, "#");
        if (signs == 2 && last.len > 0)
            need_pasted(t, &last);
        if (!groat__is_word(*word.at))
            continue;
        if (signs == 2)
            need_pasted(t, &word);
        if (is_pasting(t, &word))
            need_arguments(t, c);
        need_name(t, &word);
        last = word;
        signs = 0;
    }
}

/* Whether a macro's text has "##", or the name of one that is known to paste.
 */
static bool finds_pasting(const table *t, const decl *macro)
{
    cursor c = {macro->from, 1, false};

    while (c.at < macro->to) {
        token word = groat__cuda_take(&c);

        if (word.at >= macro->to)
            return false;
        if (strncmp(word.at, "##", 2) == 0 ||
            (groat__is_word(*word.at) && is_pasting(t, &word)))
            return true;
    }
    return false;
}

/* Finds the macros that put names together, also by others, of which there are
 * two as a rule: one is for its arguments to be expanded. */
static void find_pasting(table *t)
{
    enum { LEVELS = 3 };

    for (int level = 0; level < LEVELS; level++)
        for (size_t i = 0; i < t->count; i++) {
            entry *e = &t->all[i];

            e->pastes =
                e->decl.macro && (e->pastes || finds_pasting(t, &e->decl));
        }
}

/* Whether something goes whoever names it.  A type of the host may be what a
 * kernel takes: it stays if it is named. */
static bool is_dropped(const decl *d, const token *kernel)
{
    return (d->host && !d->type) || (d->kernel && kernel->len > 0 &&
                                     compare_words(&d->name, kernel) != 0);
}

/* Whether "namespace NAME {" or "namespace NAME =" begins, behind its first
 * word.  `c` is a copy. */
static bool is_opened(cursor c, const token *name)
{
    token t = groat__cuda_take(&c);
    bool same = false;

    for (; groat__cuda_is(&t, ":") || groat__is_word(*t.at);
         t = groat__cuda_take(&c))
        same = same || compare_words(&t, name) == 0;
    return same && (groat__cuda_is(&t, "{") || groat__cuda_is(&t, "="));
}

/* Whether a namespace that is used is there. */
static bool is_namespace(const char *text, const token *name)
{
    cursor c = {text, 1, true};
    token t;

    if (groat__cuda_is_among(name, " std cooperative_groups nvcuda wmma cuda "))
        return true;
    while ((t = groat__cuda_take(&c)).len > 0)
        if (groat__cuda_is(&t, "namespace") && is_opened(c, name))
            return true;
    return false;
}

/* Whether a macro that is called outside of functions may declare something for
 * the device. */
static bool is_useful(const table *t, const token *macro)
{
    bool useful = false;

    for (size_t i = find(t, macro); has_name(t, i, macro); i++)
        useful = useful || (t->all[i].decl.macro && !t->all[i].decl.host);
    return useful;
}

/* Whether something stays, whoever names it. */
static bool is_root(const table *t, const char *text, const entry *e, bool any)
{
    const decl *d = &e->decl;

    if (d->call)
        return !e->lead && (e->name.len == 0 || is_useful(t, &e->name));
    if (d->space)
        return is_namespace(text, &d->name);
    return e->name.len == 0 || (d->kernel && any);
}

/* Marks what the kernels of that name need, from themselves to what names
 * nothing more; a name of no length: what all kernels need. */
static void mark(table *t, const char *text, const token *kernel)
{
    bool *read = calloc(t->decls + 1, sizeof(*read));
    bool more = read != NULL;

    t->failed = t->failed || read == NULL;
    for (size_t i = 0; i < t->count; i++)
        t->all[i].needed =
            t->all[i].needed || is_root(t, text, &t->all[i], kernel->len == 0);
    while (more) {
        more = false;
        for (size_t i = 0; i < t->count; i++) {
            const entry *e = &t->all[i];

            if (!e->needed || read[e->number] || is_dropped(&e->decl, kernel))
                continue;
            read[e->number] = true;
            more = true;
            need_words(t, e->decl.from, e->decl.to);
        }
    }
    free(read);
}

/* ---- what is left ---------------------------------------------------------
 */

/* Appends a text's lines of the preprocessor, and the breaks of others. */
static void add_lines(groat__str *out, const char *from, const char *to)
{
    cursor c = {from, 1, true};

    while (from < to) {
        token t = groat__cuda_take(&c);
        bool sign = groat__cuda_is(&t, "#");
        const char *end = sign ? t.at : c.at;

        for (; from < end && from < to; from++)
            if (*from == '\n')
                groat__str_add(out, "\n");
        if (!sign || from == to)
            continue;
        groat__cuda_skip_directive(&c);
        groat__str_addn(out, from, (size_t)(c.at - from));
        from = c.at;
    }
}

/* Whether a declaration stays; *at, of its first entry, becomes its last. */
static bool stays(const table *t, size_t *at, const token *kernel)
{
    const decl *d = &t->all[*at].decl;
    bool needed = t->all[*at].needed;

    while (*at + 1 < t->count && t->all[*at + 1].decl.from == d->from) {
        ++*at;
        needed = needed || t->all[*at].needed;
    }
    return d->macro || (needed && !is_dropped(d, kernel));
}

/* Appends what stays, of a table in the text's order.  Macros that are called
 * in front of a declaration, as attributes, go with it. */
static void add_needed(const table *t, const token *kernel, const char *text,
                       groat__str *out)
{
    const char *done = text;
    const char *from = NULL; /* of such macros */

    for (size_t i = 0; i < t->count; i++) {
        const decl *d = &t->all[i].decl;

        if (d->macro)
            continue;
        from = from == NULL ? d->from : from;
        if (t->all[i].lead)
            continue;
        if (!stays(t, &i, kernel)) {
            groat__str_addn(out, done, (size_t)(from - done));
            add_lines(out, from, d->to);
            done = d->to;
        }
        from = NULL;
    }
    groat__str_add(out, done);
}

/* The kernel's name without namespaces and template arguments; no token if the
 * table has no such kernel: a macro may make it. */
static token name_of(const table *t, const char *given)
{
    const char *word = given == NULL ? "" : groat__cuda_name(given);
    token name = {word, strcspn(word, "<"), 0};

    for (size_t i = find(t, &name); has_name(t, i, &name); i++)
        if (t->all[i].decl.kernel)
            return name;
    name.len = 0;
    return name;
}

void groat__cuda_drop_unneeded(const char *text, const char *given,
                               groat__str *out)
{
    table t = {0};
    token kernel;

    read_all(&t, text);
    kernel = name_of(&t, given);
    for (size_t i = 0; i < t.count; i++) {
        const decl *d = &t.all[i].decl;

        t.all[i].lead = d->call && d->to[-1] == ')' &&
                        is_useful(&t, &d->name) && !has_any(&t, &d->name, "{;");
    }
    find_pasting(&t);
    if (given != NULL)
        need_words(&t, given, given + strlen(given));
    mark(&t, text, &kernel);
    sort(&t, by_place);
    add_needed(&t, &kernel, text, out);
    out->failed = out->failed || t.failed;
    free(t.all);
}

/* ---- functions that have CUDA's names -------------------------------------
 */

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
        return groat__cuda_is_among(t, words);
    type.at += sizeof(make) - 1;
    type.len -= sizeof(make); /* without the number, too */
    return groat__cuda_is_among(&type, vectors) &&
           strchr("234", type.at[type.len]) != NULL;
}

void groat__cuda_add_overloaded(const char *text, groat__str *out)
{
    cursor c = {text, 1, true};
    decl d;

    while (groat__cuda_next_decl(&c, &d))
        if (is_overloaded(&d.name))
            groat__str_addf(out, "using ::%.*s;\n", (int)d.name.len, d.name.at);
}
