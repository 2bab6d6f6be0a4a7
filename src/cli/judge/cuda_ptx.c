/* SPDX-License-Identifier: Apache-2.0
 *
 * cuda_ptx.c reads asm statements of CUDA C++.
 *
 * An instruction "a.b::c.d {%0, %1}, [%2+16], 4;" becomes a call,
 * "groat_ptx::a_b_c_d(groat_ptx_0, groat_ptx_1,
 * groat_ptx::operand_at(groat_ptx_2)+16, 4);": braces go, and the compiler says
 * which instructions common/cuda_ptx.h and its kin lack.  A predicate becomes
 * an if, a branch a goto to a label of the statement's own; an operand is
 * evaluated once, into a variable, as a register is one.  No state.
 */
#include "cli/judge/cuda_ptx.h"

#include <ctype.h>
#include <string.h>

#include "cli/judge/cuda_decls.h"

typedef groat__cuda_token token;
typedef groat__cuda_cursor cursor;

enum { OPERANDS = 160 };

#define BLANKS " \t\n"

typedef struct statement {
    groat__str code;         /* its template, without quotes and escapes */
    token operand[OPERANDS]; /* expressions, the outputs first */
    size_t count;
    size_t outputs;
    groat__str registers; /* their names, each behind a blank */
    groat__str labels;    /* names of variables for them, with commas */
} statement;

static bool is(const token *t, const char *word)
{
    return groat__cuda_is(t, word);
}

/* Reads a token; a backslash in front of it ends a line of a macro. */
static token take(cursor *c)
{
    token t = groat__cuda_take(c);

    while (is(&t, "\\"))
        t = groat__cuda_take(c);
    return t;
}

/* ---- the statement --------------------------------------------------------
 */

/* Appends a text between quotes; of its escapes only line breaks count.  A "%="
 * goes, which makes a label unlike those of other statements. */
static void add_quoted(groat__str *out, const token *t)
{
    for (const char *at = t->at + 1; at + 1 < t->at + t->len; at++) {
        bool escape = *at == '\\';

        if (at[0] == '%' && at[1] == '=') {
            at++;
            continue;
        }
        groat__str_addn(out, !escape ? at : at[1] == 'n' ? "\n" : " ", 1);
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
    for (int part = 0; good && part < 2 && is(&t, ":"); part++) {
        t = read_operands(c, s, &good);
        s->outputs = part == 0 ? s->count : s->outputs;
    }
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

/* Appends an expression without comments, in one line. */
static void add_expression(const token *t, groat__str *out)
{
    cursor c = {t->at, 1, false};
    const char *end = t->at + t->len;

    while (c.at < end) {
        token word = take(&c);

        if (word.len == 0 || word.at >= end)
            break;
        groat__str_addn(out, word.at, word.len);
        if (isspace((unsigned char)*c.at) || *c.at == '\\' || *c.at == '/')
            groat__str_add(out, " ");
    }
}

/* Appends variables for the operands: inputs first, as an output may change
 * what they are made of. */
static void add_variables(const statement *s, groat__str *out)
{
    for (size_t i = 0; i < s->count; i++) {
        size_t at = (i + s->outputs) % s->count;

        groat__str_addf(out, "[[maybe_unused]] %s groat_ptx_%zu = %s(",
                        at < s->outputs ? "auto &" : "const auto", at,
                        at < s->outputs ? "" : "groat_ptx::operand");
        add_expression(&s->operand[at], out);
        groat__str_add(out, "); ");
    }
}

static size_t word_length(const char *at)
{
    size_t length = 0;

    while (groat__is_word(at[length]))
        length++;
    return length;
}

/* Whether a list of names, each behind a blank, has a word. */
static bool has_name(const groat__str *names, const char *word)
{
    size_t length = word_length(word);
    const char *at = names->len > 0 ? names->data : NULL;

    for (; at != NULL; at = strchr(at + 1, ' '))
        if (word_length(at + 1) == length && strncmp(at + 1, word, length) == 0)
            return true;
    return false;
}

/* Appends "%%laneid", or a register that is declared with a "%"; returns its
 * end. */
static const char *add_special(const char *at, const statement *s,
                               groat__str *out)
{
    bool own = has_name(&s->registers, at);

    groat__str_add(out, own ? "groat_ptx_" : "groat_ptx::special_");
    at = add_name(at, out);
    groat__str_add(out, own ? "" : "()");
    return at;
}

/* Appends "%1", "%%laneid", "name", "_", "16" or "0f3F800000";
 * returns its end, or NULL. */
static const char *add_operand(const char *at, const statement *s,
                               groat__str *out)
{
    size_t number = 0;

    if (at[0] == '%' && (at[1] == '%' || isalpha((unsigned char)at[1])))
        return add_special(at + 1 + (at[1] == '%'), s, out);
    if (at[0] == '%' && isdigit((unsigned char)at[1])) {
        for (at++; isdigit((unsigned char)*at); at++)
            number =
                number < OPERANDS ? 10 * number + (size_t)(*at - '0') : number;
        if (number >= s->count)
            return NULL;
        groat__str_addf(out, "groat_ptx_%zu", number);
        return at;
    }
    if (at[0] == '0' && (at[1] == 'f' || at[1] == 'F')) {
        groat__str_add(out, "groat_ptx::operand_bits(0x");
        at = add_name(at + 2, out);
        groat__str_add(out, "u)");
        return at;
    }
    if (!groat__is_word(*at))
        return NULL;
    if (*at == '_' && !groat__is_word(at[1])) {
        groat__str_add(out, "groat_ptx::nowhere()");
        return at + 1;
    }
    if (!isdigit((unsigned char)*at)) {
        groat__str_add(out, "groat_ptx_");
        return add_name(at, out);
    }
    for (; groat__is_word(*at) || *at == '.'; at++)
        groat__str_addn(out, at, 1);
    return at;
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
        } else if (strchr(",|+-", *at) != NULL && *at != '\0') {
            groat__str_addn(out, *at == '|' ? "," : at, 1);
            at++;
        } else {
            at = add_operand(at, s, out);
        }
        if (at == NULL || *at == '\0')
            return NULL;
    }
    return at;
}

/* Appends ".reg .u32 a, b;" as variables; returns the place of ";", or NULL. */
static const char *add_registers(const char *at, statement *s, groat__str *out)
{
    at += strspn(at, BLANKS);
    if (*at != '.')
        return NULL;
    groat__str_add(out, "groat_ptx::reg_");
    for (at = add_name(at + 1, out); *at != ';';) {
        at += strspn(at, BLANKS "%");
        if (!groat__is_word(*at))
            return NULL;
        groat__str_addf(&s->registers, " %.*s", (int)word_length(at), at);
        groat__str_add(out, " groat_ptx_");
        at = add_name(at, out);
        at += strspn(at, BLANKS);
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
    return at == NULL ? NULL : at + strspn(at, BLANKS);
}

/* Returns the place of the colon behind a label, or NULL. */
static const char *label_end(const char *at)
{
    at += word_length(at);
    at += strspn(at, BLANKS);
    return at[0] == ':' && at[1] != ':' ? at : NULL;
}

/* Appends "bra.uni NAME" as a goto; returns its end, or NULL. */
static const char *add_branch(const char *at, groat__str *out)
{
    at += strncmp(at, ".uni", 4) == 0 ? 4 : 0;
    at += strspn(at, BLANKS);
    if (!groat__is_word(*at))
        return NULL;
    groat__str_add(out, "goto groat_ptx_label_");
    at = add_name(at, out);
    at += strspn(at, BLANKS);
    return *at == ';' ? at : NULL;
}

/* Appends an instruction, or a label; returns the place of its ";" or ":", or
 * NULL. */
static const char *add_instruction(const char *at, statement *s,
                                   groat__str *out)
{
    if (strncmp(at, ".reg", 4) == 0)
        return add_registers(at + 4, s, out);
    if (groat__is_word(*at) && label_end(at) != NULL) {
        groat__str_addf(&s->labels, "%s groat_ptx_label_%.*s",
                        s->labels.len > 0 ? "," : "", (int)word_length(at), at);
        groat__str_addf(out, "groat_ptx_label_%.*s: __attribute__((unused))",
                        (int)word_length(at), at);
        return label_end(at);
    }
    if (*at == '@')
        at = add_predicate(at, s, out);
    if (at == NULL || !isalpha((unsigned char)*at))
        return NULL;
    if (strncmp(at, "bra", 3) == 0 && !groat__is_word(at[3]))
        return add_branch(at + 3, out);
    groat__str_add(out, "groat_ptx::");
    at = add_name(at, out);
    groat__str_add(out, "(");
    at = add_operands(at, s, out);
    groat__str_add(out, ")");
    return at;
}

/* Where a comment ends that begins, if one does. */
static char *comment_end(char *at)
{
    char *end = at;

    if (at[1] == '/')
        end = at + strcspn(at, "\n");
    else if (at[1] == '*' && (end = strstr(at + 2, "*/")) != NULL)
        end += 2;
    return end;
}

/* Blanks PTX's comments, and ends its last instruction. */
static void clean(groat__str *code)
{
    char *at = code->len > 0 ? code->data : NULL;

    while (at != NULL && (at = strchr(at, '/')) != NULL) {
        char *end = comment_end(at);

        if (end == NULL)
            break;
        for (at += end == at; at < end; at++)
            *at = ' ';
    }
    groat__str_add(code, ";");
}

/* Appends all instructions; false: some cannot be read. */
static bool add_instructions(statement *s, groat__str *out)
{
    const char *at = s->code.data;

    while (*at != '\0') {
        if (isspace((unsigned char)*at) || *at == ';' || *at == ':') {
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
    return true;
}

static bool add_code(statement *s, groat__str *out)
{
    groat__str code = {0};
    bool good = add_instructions(s, &code) && !code.failed;

    groat__str_add(out, "({ ");
    if (s->labels.len > 0)
        groat__str_addf(out, "__label__%s; ", s->labels.data);
    add_variables(s, out);
    if (code.len > 0)
        groat__str_add(out, code.data);
    groat__str_add(out, "})");
    groat__str_free(&code);
    return good;
}

/* ---- the text -------------------------------------------------------------
 */

/* Whether a statement is a barrier of the compiler, and no instruction. */
static bool is_empty(const statement *s)
{
    return s->code.len > 0 && !s->code.failed &&
           s->code.data[strspn(s->code.data, " ")] == '\0';
}

/* Reads a statement behind its first word, and what it becomes; one that cannot
 * be read becomes an error where it is compiled.  False: it stays as it is. */
static bool translate(cursor *c, const char *text, groat__str *out)
{
    const cursor first = *c;
    statement s = {0};
    bool good = read_statement(c, text, &s);
    bool empty = is_empty(&s);

    if (good && !empty)
        clean(&s.code);
    good = good && !empty && !s.code.failed && add_code(&s, out);
    groat__str_free(&s.code);
    groat__str_free(&s.registers);
    groat__str_free(&s.labels);
    if (good || empty)
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
        if (translate(&ahead, text, &made)) {
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
