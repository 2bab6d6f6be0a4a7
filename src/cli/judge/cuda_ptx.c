/* SPDX-License-Identifier: Apache-2.0
 *
 * cuda_ptx.c reads asm statements of CUDA C++.
 *
 * An instruction "a.b::c.d {%0, %1}, [%2+16], 4;" becomes
 * "groat_ptx::a_b_c_d((x), (y), groat_ptx::operand_at((z))+16, 4);": braces go,
 * and the compiler says which instructions common/cuda_ptx.h lacks.  A
 * predicate becomes an if, a register a variable.  No state.
 */
#include "cli/judge/cuda_ptx.h"

#include <ctype.h>
#include <string.h>

#include "cli/judge/cuda_decls.h"

typedef groat__cuda_token token;
typedef groat__cuda_cursor cursor;

enum { OPERANDS = 64 };

typedef struct statement {
    groat__str code;         /* its template, without quotes and escapes */
    token operand[OPERANDS]; /* expressions, the outputs first */
    size_t count;
} statement;

static bool is(const token *t, const char *word)
{
    return groat__cuda_is(t, word);
}

/* Skips the other branches of an #if. */
static void skip_branches(cursor *c)
{
    int depth = 1;

    while (depth > 0) {
        token t = groat__cuda_take(c);
        const char *word = c->at + strspn(c->at, " ");

        if (t.len == 0)
            return;
        if (!is(&t, "#"))
            continue;
        depth += strncmp(word, "if", 2) == 0;
        depth -= strncmp(word, "endif", 5) == 0;
        groat__cuda_skip_directive(c);
    }
}

/* Reads a token; a backslash in front of it ends a line of a macro.  Of the
 * branches of an #if the first is read. */
static token take(cursor *c)
{
    for (;;) {
        token t;
        bool fresh;

        groat__cuda_skip(c);
        fresh = c->fresh;
        t = groat__cuda_take(c);
        if (fresh && is(&t, "#")) {
            bool other = strncmp(c->at + strspn(c->at, " "), "el", 2) == 0;

            groat__cuda_skip_directive(c);
            if (other)
                skip_branches(c);
        } else if (!is(&t, "\\")) {
            return t;
        }
    }
}

/* ---- the statement --------------------------------------------------------
 */

/* Appends a text between quotes; blanks for its escapes. */
static void add_quoted(groat__str *out, const token *t)
{
    for (const char *at = t->at + 1; at + 1 < t->at + t->len; at++) {
        bool escape = *at == '\\';

        groat__str_addn(out, escape ? " " : at, 1);
        at += escape;
    }
}

/* Appends the texts that a macro of the file stands for, and the argument of
 * its only parameter for "#NAME"; false: it is no such macro. */
static bool add_macro(const char *text, const token *name,
                      const token *argument, groat__str *out)
{
    cursor c = {text, 1, true};
    groat__cuda_decl macro;
    token t;

    do
        if (!groat__cuda_next_macro(&c, &macro))
            return false;
    while (macro.name.len != name->len ||
           strncmp(macro.name.at, name->at, name->len) != 0);
    c = (cursor){macro.from, 1, false};
    if (*macro.from == '(') {
        (void)groat__cuda_take(&c);
        (void)groat__cuda_take_to(&c, '(', ')');
    }
    for (t = take(&c); t.len > 0 && t.at < macro.to; t = take(&c)) {
        if (*t.at == '"') {
            add_quoted(out, &t);
        } else if (is(&t, "#")) {
            (void)take(&c);
            groat__str_addn(out, argument->at, argument->len);
        } else {
            return false;
        }
    }
    return true;
}

/* Reads a template, of texts and of macros that stand for texts; returns the
 * token behind. */
static token read_template(cursor *c, const char *text, statement *s,
                           bool *good)
{
    token t = take(c);

    while (*good && t.len > 0 && (*t.at == '"' || groat__is_word(*t.at))) {
        token name = t;
        token argument = {"", 0, 0};

        t = take(c);
        if (*name.at == '"') {
            add_quoted(&s->code, &name);
            continue;
        }
        if (is(&t, "(")) {
            argument = groat__cuda_take_to(c, '(', ')');
            t = take(c);
        }
        *good = add_macro(text, &name, &argument, &s->code);
    }
    return t;
}

/* Reads "constraint"(expression), ...; returns the token behind. */
static token read_operands(cursor *c, statement *s, bool *good)
{
    token t = take(c);

    while (*good && t.len > 0 && *t.at == '"') {
        t = take(c);
        *good = is(&t, "(") && s->count < OPERANDS;
        if (!*good)
            break;
        s->operand[s->count++] = groat__cuda_take_to(c, '(', ')');
        t = take(c);
        if (!is(&t, ","))
            break;
        t = take(c);
    }
    return t;
}

/* Reads a statement of the text behind its first word to its closing
 * parenthesis. */
static bool read_statement(cursor *c, const char *text, statement *s)
{
    token t = take(c);
    bool good = true;

    while (is(&t, "volatile") || is(&t, "__volatile__"))
        t = take(c);
    if (!is(&t, "("))
        return false;
    t = read_template(c, text, s, &good);
    for (int part = 0; good && part < 2 && is(&t, ":"); part++)
        t = read_operands(c, s, &good);
    if (good && is(&t, ":")) /* what it changes besides */
        for (t = take(c); t.len > 0 && (*t.at == '"' || is(&t, ","));)
            t = take(c);
    return good && is(&t, ")");
}

/* ---- its instructions -----------------------------------------------------
 */

/* Appends a name with "_" for what cannot be in one; returns its end. */
static const char *add_name(const char *at, groat__str *out)
{
    bool gap = false;

    for (; groat__is_word(*at) || *at == '.' || *at == ':'; at++) {
        bool word = groat__is_word(*at);

        if (word || !gap)
            groat__str_addn(out, word ? at : "_", 1);
        gap = !word;
    }
    return at;
}

/* Appends an expression, in one line. */
static void add_expression(const token *t, groat__str *out)
{
    groat__str_add(out, "(");
    for (const char *at = t->at; at < t->at + t->len; at++) {
        bool end = at[0] == '\n' || (at[0] == '\\' && at[1] == '\n');

        groat__str_addn(out, end ? " " : at, 1);
    }
    groat__str_add(out, ")");
}

/* Appends "%1", "%%laneid", "name", "16" or "0f3F800000"; returns its end, or
 * NULL. */
static const char *add_operand(const char *at, const statement *s,
                               groat__str *out)
{
    size_t number = 0;

    if (at[0] == '%' && at[1] == '%') {
        groat__str_add(out, "groat_ptx::special_");
        at = add_name(at + 2, out);
        groat__str_add(out, "()");
        return at;
    }
    if (at[0] == '%' && isdigit((unsigned char)at[1])) {
        for (at++; isdigit((unsigned char)*at); at++)
            number =
                number < OPERANDS ? 10 * number + (size_t)(*at - '0') : number;
        if (number >= s->count)
            return NULL;
        add_expression(&s->operand[number], out);
        return at;
    }
    if (at[0] == '0' && (at[1] == 'f' || at[1] == 'F')) {
        groat__str_add(out, "groat_ptx::operand_bits(0x");
        at = add_name(at + 2, out);
        groat__str_add(out, "u)");
        return at;
    }
    if (!groat__is_word(*at) || (*at == '_' && !groat__is_word(at[1])))
        return NULL;
    if (!isdigit((unsigned char)*at))
        groat__str_add(out, "ptx_");
    return add_name(at, out);
}

/* Appends the operands up to ";"; returns its place, or NULL. */
static const char *add_operands(const char *at, const statement *s,
                                groat__str *out)
{
    while (*at != ';') {
        if (isspace((unsigned char)*at) || *at == '{' || *at == '}') {
            at++;
        } else if (*at == '[') {
            groat__str_add(out, "groat_ptx::operand_at(");
            at = add_operand(at + 1 + strspn(at + 1, " "), s, out);
            groat__str_add(out, ")");
        } else if (*at == ']') {
            at++;
        } else if (strchr(",+-", *at) != NULL && *at != '\0') {
            groat__str_addn(out, at++, 1);
        } else {
            at = add_operand(at, s, out);
        }
        if (at == NULL || *at == '\0')
            return NULL;
    }
    return at;
}

/* Appends ".reg .u32 a, b;" as variables; returns the place of ";", or NULL. */
static const char *add_registers(const char *at, groat__str *out)
{
    at += strspn(at, " ");
    if (*at != '.')
        return NULL;
    groat__str_add(out, "groat_ptx::reg_");
    for (at = add_name(at + 1, out); *at != ';';) {
        at += strspn(at, " ");
        if (!groat__is_word(*at))
            return NULL;
        groat__str_add(out, " ptx_");
        at = add_name(at, out);
        at += strspn(at, " ");
        if (*at == ',')
            groat__str_addn(out, at++, 1);
        else if (*at != ';')
            return NULL;
    }
    return at;
}

/* Appends "if (p)" for "@p"; returns what is behind it, or NULL. */
static const char *add_predicate(const char *at, const statement *s,
                                 groat__str *out)
{
    bool not = at[1] == '!';

    groat__str_add(out, not ? "if (!" : "if (");
    at = add_operand(at + 1 + not, s, out);
    groat__str_add(out, ") ");
    return at == NULL ? NULL : at + strspn(at, " ");
}

/* Appends an instruction; returns the place of its ";", or NULL. */
static const char *add_instruction(const char *at, const statement *s,
                                   groat__str *out)
{
    if (strncmp(at, ".reg", 4) == 0)
        return add_registers(at + 4, out);
    if (*at == '@')
        at = add_predicate(at, s, out);
    if (at == NULL || !isalpha((unsigned char)*at))
        return NULL;
    groat__str_add(out, "groat_ptx::");
    at = add_name(at, out);
    groat__str_add(out, "(");
    if (at[-1] == ':') /* a label */
        return NULL;
    at = add_operands(at, s, out);
    groat__str_add(out, ")");
    return at;
}

/* Appends all instructions; false: some cannot be read. */
static bool add_code(const statement *s, groat__str *out)
{
    const char *at = s->code.data;

    groat__str_add(out, "({ ");
    while (*at != '\0') {
        if (isspace((unsigned char)*at) || *at == ';') {
            at++;
            continue;
        }
        if (*at == '{' || *at == '}') {
            groat__str_addn(out, at++, 1);
            continue;
        }
        at = add_instruction(at, s, out);
        if (at == NULL)
            return false;
        groat__str_add(out, "; ");
    }
    groat__str_add(out, "})");
    return true;
}

/* ---- the text -------------------------------------------------------------
 */

/* Whether a statement is a barrier of the compiler, and no instruction. */
static bool is_empty(const statement *s)
{
    return s->code.len > 0 && !s->code.failed &&
           s->code.data[strspn(s->code.data, " ")] == '\0';
}

/* Reads a statement behind its first word, and what it becomes; false: it stays
 * as it is.  In a macro it becomes an error where that is used. */
static bool translate(cursor *c, const char *text, bool macro, groat__str *out)
{
    const cursor first = *c;
    statement s = {0};
    bool good = read_statement(c, text, &s);
    bool empty = is_empty(&s);

    if (good && strchr(s.code.len > 0 ? s.code.data : "", ';') == NULL)
        groat__str_add(&s.code, ";");
    good = good && !empty && !s.code.failed && add_code(&s, out);
    groat__str_free(&s.code);
    if (good || empty || !macro)
        return good;
    *c = first;
    for (token t = take(c); t.len > 0 && !is(&t, "(");)
        t = take(c);
    (void)groat__cuda_take_to(c, '(', ')');
    groat__str_clear(out);
    groat__str_add(out, "groat_ptx::asm_that_is_not_read()");
    return true;
}

bool groat__cuda_read_ptx(const char *text, groat__str *out)
{
    cursor c = {text, 1, true};
    const char *done = text;
    bool macro = false;   /* the reader is in a line of the preprocessor */
    bool goes_on = false; /* which is continued */
    bool any = false;

    for (;;) {
        bool fresh;
        token t;
        cursor ahead;
        groat__str made = {0};

        groat__cuda_skip(&c);
        fresh = c.fresh;
        t = groat__cuda_take(&c);
        if (t.len == 0)
            break;
        macro = fresh ? is(&t, "#") || (macro && goes_on) : macro;
        goes_on = is(&t, "\\");
        any = any || is(&t, "__cvta_generic_to_shared");
        if (!is(&t, "asm") && !is(&t, "__asm__") && !is(&t, "__asm"))
            continue;
        ahead = c;
        if (translate(&ahead, text, macro, &made)) {
            groat__str_addn(out, done, (size_t)(t.at - done));
            groat__str_add(out, made.failed ? "" : made.data);
            for (const char *at = t.at; at < ahead.at; at++)
                if (*at == '\n')
                    groat__str_add(out, macro ? "\\\n" : "\n");
            done = ahead.at;
            c = ahead;
            any = true;
        }
        out->failed = out->failed || made.failed;
        groat__str_free(&made);
    }
    groat__str_add(out, done);
    return any;
}
