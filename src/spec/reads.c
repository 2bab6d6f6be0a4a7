/* SPDX-License-Identifier: Apache-2.0
 *
 * reads.c walks over a source as a compiler does in its first phases and finds
 * the places that would make it read another file; flatten.c acts on them.
 * No state.  Invariant: everything that a compiler would read is found; where
 * compilers differ, the text is refused.
 */
#include "spec/reads.h"

#include <string.h>
#include <strings.h>

static const char splice_why[] =
    "a backslash and blanks end the line, which compilers read in two ways";

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\v' || c == '\f';
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           groat__is_digit(c) || c == '_' || c == '$' ||
           (unsigned char)c >= 0x80;
}

/* Skips the line splices at a place, if there are any. */
static const char *skip_splices(const char *at)
{
    while (at[0] == '\\' && (at[1] == '\n' || (at[1] == '\r' && at[2] == '\n')))
        at += at[1] == '\n' ? 2 : 3;
    return at;
}

/* Returns the character at a place, after splices; *next points after it. */
static inline char look(const char *at, const char **next)
{
    if (__builtin_expect(*at == '\\' || *at == '\r', 0)) {
        at = skip_splices(at);
        if (at[0] == '\r') /* only ever before a newline */
            at++;
    }
    *next = at + (*at != '\0');
    return *at;
}

/* Finds text that compilers parse in different ways, or returns NULL. */
static const char *find_doubt(const char *text, const char **where)
{
    static const char *const trigraphs[] = {"\?\?=", "\?\?/"};

    if (strncmp(text, "\xEF\xBB\xBF", 3) == 0) {
        *where = text;
        return "the file begins with a byte order mark";
    }
    for (size_t i = 0; i < 2; i++)
        if ((*where = strstr(text, trigraphs[i])) != NULL)
            return "trigraphs are no part of C++17";
    for (const char *at = text; (at = strchr(at, '\r')) != NULL; at++)
        if (at[1] != '\n') {
            *where = at;
            return "a carriage return stands alone";
        }
    for (const char *at = text; (at = strchr(at, '\\')) != NULL; at++) {
        const char *end = at + 1;
        const char *behind = skip_splices(at);

        while (is_blank(*end))
            end++;
        if (end > at + 1 && (*end == '\n' || *end == '\r')) {
            *where = at;
            return splice_why;
        }
        if (*behind == '\0' || at[1] == '\0') {
            *where = at;
            return "the file ends amid a line";
        }
        if (behind > at)
            at = behind - 1;
    }
    return NULL;
}

void groat__reads_begin(groat__reads *reads, const char *text)
{
    memset(reads, 0, sizeof(*reads));
    reads->at = text;
    reads->line_begin = text;
    reads->line = 1;
    reads->fresh = true;
    reads->why = find_doubt(text, &reads->begin);
}

void groat__reads_end(groat__reads *reads)
{
    groat__str_free(&reads->joined);
}

/* Moves to a place and counts lines. */
static void go_to(groat__reads *r, const char *to)
{
    for (const char *at = r->at; (at = memchr(at, '\n', (size_t)(to - at)));
         at++)
        r->line++;
    r->at = to;
}

static groat__read refuse(groat__reads *r, const char *why)
{
    r->why = why;
    return GROAT__READ_REFUSED;
}

/* Skips a comment, from its slash on; NULL if it does not end. */
static const char *skip_comment(const char *at)
{
    const char *next;
    char c = look(at, &next);
    bool block;

    c = look(next, &at);
    block = c == '*';
    if (!block) {
        while ((c = look(at, &next)) != '\n' && c != '\0')
            at = next;
        return at;
    }
    for (c = look(at, &at); c != '\0'; c = look(at, &at))
        while (c == '*' && (c = look(at, &next)) == '/')
            return next;
    return NULL;
}

static bool is_comment(const char *at)
{
    const char *next;
    char c = look(at, &next);

    if (c != '/')
        return false;
    c = look(next, &next);
    return c == '/' || c == '*';
}

/* Skips blanks and comments; NULL if a comment does not end. */
static const char *skip_space(const char *at)
{
    while (at != NULL) {
        const char *next;

        if (is_blank(look(at, &next)))
            at = next;
        else if (is_comment(at))
            at = skip_comment(at);
        else
            break;
    }
    return at;
}

enum { WORD_MAX = 32 };

/* Reads a word without its splices; "" if it is longer than any known one. */
static const char *read_word(const char *at, char word[WORD_MAX])
{
    size_t len = 0;
    const char *next;
    char c;

    while (is_word(c = look(at, &next))) {
        if (len < WORD_MAX)
            word[len++] = c;
        at = next;
    }
    word[len < WORD_MAX ? len : 0] = '\0';
    return at;
}

static bool is_one_of(const char *word, const char *const *list)
{
    for (; *list != NULL; list++)
        if (strcmp(word, *list) == 0)
            return true;
    return false;
}

/* ---- directives ---------------------------------------------------------- */

static bool starts_with(const char **at, const char *word)
{
    size_t len = strlen(word);

    if (strncmp(*at, word, len) != 0)
        return false;
    *at += len;
    return true;
}

/* For a line with only this directive, and perhaps a comment that ends on it:
 * returns the text after the name.  NULL otherwise. */
static const char *read_plain(const groat__reads *r, const char *name)
{
    const char *at = r->line_begin;

    at += strspn(at, " \t");
    if (!starts_with(&at, "#") && !starts_with(&at, "%:"))
        return NULL;
    at += strspn(at, " \t");
    if (!starts_with(&at, name) || is_word(*at))
        return NULL;
    at += strspn(at, " \t");
    return memchr(r->line_begin, '\\', strcspn(r->line_begin, "\n")) == NULL
               ? at
               : NULL;
}

/* Checks the rest of the line after a plain directive. */
static bool ends_plainly(const char *at)
{
    at += strspn(at, " \t");
    if (strncmp(at, "/*", 2) == 0) {
        size_t len = strcspn(at, "\n");
        const char *end = strstr(at + 2, "*/");

        if (end == NULL || end >= at + len)
            return false;
        at = end + 2;
        at += strspn(at, " \t");
    }
    return *at == '\0' || *at == '\n' || *at == '\r' ||
           strncmp(at, "//", 2) == 0;
}

static groat__read found(groat__reads *r, groat__read what)
{
    r->begin = r->line_begin;
    r->end = r->line_begin + strcspn(r->line_begin, "\n");
    r->at = r->end;
    return what;
}

static groat__read read_include(groat__reads *r)
{
    const char *at = read_plain(r, "include");
    size_t len = at == NULL || *at != '"' ? 0 : strcspn(at + 1, "\"\n");

    if (len == 0 || at[1 + len] != '"' || !ends_plainly(at + len + 2))
        return refuse(r, "generated source reads nothing from disk; includes "
                         "stand in double quotes, on lines of their own");
    r->name = at + 1;
    r->name_len = len;
    return found(r, GROAT__READ_INCLUDE);
}

/* Reads a directive, from its '#' on.  END: it reads no file. */
static groat__read read_directive(groat__reads *r, const char *behind)
{
    static const char *const reading[] = {"include_next", "import", "embed",
                                          NULL};
    char word[WORD_MAX];
    const char *at = skip_space(behind);
    const char *plain;

    r->fresh = false;
    r->directive = true;
    if (at == NULL)
        return refuse(r, "a comment does not end");
    go_to(r, read_word(at, word));
    if (strcmp(word, "include") == 0)
        return read_include(r);
    if (is_one_of(word, reading))
        return refuse(r, "generated source reads nothing from disk; there is "
                         "neither #import nor #embed nor #include_next");
    r->pragma = strcmp(word, "pragma") == 0;
    plain = r->pragma ? read_plain(r, "pragma") : NULL;
    if (plain != NULL && starts_with(&plain, "once") && ends_plainly(plain))
        return found(r, GROAT__READ_ONCE);
    return GROAT__READ_END;
}

/* ---- words and literals -------------------------------------------------- */

static const char *const pragmas[] = {"dependency", "pch_preprocess",
                                      "include_alias", "module", NULL};

static groat__read read_name(groat__reads *r)
{
    static const char *const asking[] = {"__has_include", "__has_include_next",
                                         "__has_embed", NULL};
    static const char *const when[] = {"__DATE__", "__TIME__", "__TIMESTAMP__",
                                       NULL};
    static const char *const raw[] = {"R", "LR", "uR", "UR", "u8R", NULL};
    static const char *const prefixes[] = {"L", "u", "U", "u8", NULL};
    char word[WORD_MAX];
    const char *at = read_word(r->at, word);
    const char *next;
    bool quoted = look(at, &next) == '"';

    go_to(r, at);
    if (quoted && is_one_of(word, raw))
        return refuse(r, "raw strings are not read");
    if (is_one_of(word, asking))
        return refuse(r, "generated source may not depend on which files there "
                         "are");
    if (is_one_of(word, when))
        return refuse(r, "generated source may not depend on when it is "
                         "compiled");
    if (r->pragma && is_one_of(word, pragmas))
        return refuse(r, "a pragma may not read a file");
    r->pragma = r->pragma || strcmp(word, "_Pragma") == 0;
    if (!quoted || !is_one_of(word, prefixes))
        groat__str_clear(&r->joined);
    return GROAT__READ_END;
}

static int hex_digit(char c)
{
    if (groat__is_digit(c))
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads an escape after its backslash; *out is the character. */
static const char *read_escape(const char *at, char *out)
{
    const char *next;
    char c = look(at, &next);
    unsigned value = 0;

    if (c == 'x') {
        for (at = next; hex_digit(c = look(at, &next)) >= 0; at = next)
            value = value * 16 + (unsigned)hex_digit(c);
        *out = (char)value;
        return at;
    }
    if (c >= '0' && c <= '7') {
        for (int i = 0; i < 3 && (c = look(at, &next)) >= '0' && c <= '7';
             i++) {
            value = value * 8 + (unsigned)(c - '0');
            at = next;
        }
        *out = (char)value;
        return at;
    }
    *out = c != '\0' && strchr("abefnrtv", c) != NULL ? ' ' : c;
    /* \u002e and \U0000002e spell ASCII characters. */
    if (c == 'u' || c == 'U') {
        at = next;
        for (int i = c == 'u' ? 4 : 8; i > 0; i--) {
            int digit = hex_digit(look(at, &next));

            if (digit < 0)
                break;
            value = value * 16 + (unsigned)digit;
            at = next;
        }
        *out = (char)value;
        return at;
    }
    return next;
}

/* Whether the assembler would read a file, or a macro could make it do so. */
static bool is_directive_of_assembler(const char *text)
{
    static const char *const words[] = {"incbin", "include", "macro", "irp",
                                        "altmacro"};

    for (const char *at = text; (at = strchr(at, '.')) != NULL; at++)
        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
            if (strncasecmp(at + 1, words[i], strlen(words[i])) == 0)
                return true;
    return false;
}

static bool has_pragma(const char *text)
{
    for (size_t i = 0; pragmas[i] != NULL; i++)
        if (strstr(text, pragmas[i]) != NULL)
            return true;
    return false;
}

/* Reads a string from its quote on; an unterminated one ends with its line. */
static groat__read read_string(groat__reads *r)
{
    enum { WORD_MOST = 32 }; /* longer than any that is looked for */
    size_t before = r->joined.len;
    const char *joined; /* what is new, and a word that began before */
    const char *at;
    const char *next;
    char c;

    (void)look(r->at, &at);
    while ((c = look(at, &next)) != '"' && c != '\n' && c != '\0') {
        if (c == '\\')
            next = read_escape(next, &c);
        groat__str_addn(&r->joined, &c, 1);
        at = next;
    }
    go_to(r, c == '"' ? next : at);
    if (r->joined.data == NULL)
        return GROAT__READ_END;
    joined = r->joined.data + (before > WORD_MOST ? before - WORD_MOST : 0);
    if (is_directive_of_assembler(joined))
        return refuse(r, "the assembler may not read files: a string has one "
                         "of .incbin, .include, .macro, .irp, .altmacro");
    if (r->pragma && has_pragma(joined))
        return refuse(r, "a pragma may not read a file");
    return GROAT__READ_END;
}

static void skip_character(groat__reads *r)
{
    const char *at;
    const char *next;
    char c;

    (void)look(r->at, &at);
    while ((c = look(at, &next)) != '\'' && c != '\n' && c != '\0') {
        if (c == '\\' && look(next, &at) != '\n')
            next = at;
        at = next;
    }
    go_to(r, c == '\'' ? next : at);
}

/* Skips a number, which may have quotes between its digits. */
static void skip_number(groat__reads *r)
{
    const char *at = r->at;
    const char *next;
    char last = '\0';
    char c;

    for (;;) {
        const char *after;

        c = look(at, &next);
        if (is_word(c) || c == '.' ||
            ((c == '+' || c == '-') && last != '\0' &&
             strchr("eEpP", last) != NULL))
            at = next;
        else if (c == '\'' && is_word(look(next, &after)))
            at = after;
        else
            break;
        last = c;
    }
    go_to(r, at);
}

static bool is_number(const char *at, char c)
{
    const char *next;

    if (groat__is_digit(c))
        return true;
    (void)look(at, &next);
    return c == '.' && groat__is_digit(look(next, &next));
}

static void begin_line(groat__reads *r, const char *at)
{
    r->line++;
    r->at = at;
    r->line_begin = at;
    r->fresh = true;
    r->directive = false;
    r->pragma = false;
}

/* Whether the comment at r->at stands behind a backslash, which would splice
 * lines if the comment went. */
static bool follows_backslash(const groat__reads *r)
{
    const char *at = r->at;

    while (at > r->line_begin && (is_blank(at[-1]) || at[-1] == '\r'))
        at--;
    return at > r->line_begin && at[-1] == '\\';
}

/* Reads a token, comment or newline.  END: it reads no file. */
static groat__read step(groat__reads *r)
{
    const char *next;
    char c = look(r->at, &next);
    bool fresh = r->fresh;
    bool stays;

    if (c == '\n') {
        go_to(r, next - 1);
        begin_line(r, next);
        return GROAT__READ_END;
    }
    if (is_blank(c)) {
        go_to(r, next);
        return GROAT__READ_END;
    }
    if (c == '/' && is_comment(r->at)) {
        const char *end = skip_comment(r->at);

        if (end == NULL)
            return refuse(r, "a comment does not end");
        stays = follows_backslash(r) ||
                (r->directive &&
                 memchr(r->at, '\n', (size_t)(end - r->at)) != NULL);
        r->begin = r->at;
        r->end = end;
        go_to(r, end);
        return stays ? GROAT__READ_END : GROAT__READ_COMMENT;
    }
    r->fresh = false;
    if (c == '"')
        return read_string(r);
    if (is_number(r->at, c)) {
        groat__str_clear(&r->joined);
        skip_number(r);
        return GROAT__READ_END;
    }
    if (is_word(c))
        return read_name(r);
    groat__str_clear(&r->joined);
    if (fresh && c == '#')
        return read_directive(r, next);
    if (fresh && c == '%' && look(next, &next) == ':')
        return read_directive(r, next);
    if (c == '\'') {
        skip_character(r);
    } else {
        (void)look(r->at, &next);
        go_to(r, next);
    }
    return GROAT__READ_END;
}

groat__read groat__reads_next(groat__reads *r)
{
    groat__read what = GROAT__READ_END;

    if (r->why != NULL) {
        go_to(r, r->begin);
        return GROAT__READ_REFUSED;
    }
    while (what == GROAT__READ_END && *skip_splices(r->at) != '\0')
        what = step(r);
    if (r->joined.failed)
        return refuse(r, "no memory to read it with");
    return what;
}
