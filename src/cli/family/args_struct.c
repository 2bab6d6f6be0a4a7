/* SPDX-License-Identifier: Apache-2.0
 *
 * args_struct.c reads the structure of args.h, so that run.def can name its
 * fields.  Their offsets follow from the types, by the layout rules that host
 * and device compilers share.
 */
#include "cli/family/args_struct.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/str.h"

enum { TYPE_MAX = 64 };

static const struct {
    const char *name;
    groat__field_kind kind;
    size_t bytes;
    size_t align; /* 0: same as bytes */
} types[] = {
    {"unsigned long long", GROAT__FIELD_UNSIGNED, 8, 0},
    {"unsigned long", GROAT__FIELD_UNSIGNED, 8, 0},
    {"unsigned long long int", GROAT__FIELD_UNSIGNED, 8, 0},
    {"unsigned long int", GROAT__FIELD_UNSIGNED, 8, 0},
    {"long long int", GROAT__FIELD_SIGNED, 8, 0},
    {"long int", GROAT__FIELD_SIGNED, 8, 0},
    {"short int", GROAT__FIELD_SIGNED, 2, 0},
    {"unsigned short int", GROAT__FIELD_UNSIGNED, 2, 0},
    {"long long", GROAT__FIELD_SIGNED, 8, 0},
    {"long", GROAT__FIELD_SIGNED, 8, 0},
    {"unsigned", GROAT__FIELD_UNSIGNED, 4, 0},
    {"unsigned int", GROAT__FIELD_UNSIGNED, 4, 0},
    {"int", GROAT__FIELD_SIGNED, 4, 0},
    {"unsigned short", GROAT__FIELD_UNSIGNED, 2, 0},
    {"short", GROAT__FIELD_SIGNED, 2, 0},
    {"unsigned char", GROAT__FIELD_UNSIGNED, 1, 0},
    {"signed char", GROAT__FIELD_SIGNED, 1, 0},
    {"float", GROAT__FIELD_FLOAT, 4, 0},
    {"double", GROAT__FIELD_FLOAT, 8, 0},
    {"struct groat_tensor_map", GROAT__FIELD_MAP, 128, 64},
    {"groat_tensor_map", GROAT__FIELD_MAP, 128, 64},
};

static size_t align_of(size_t type)
{
    return types[type].align ? types[type].align : types[type].bytes;
}

typedef struct reader {
    const char *family;
    const char *at;
    int line;
    char word[TYPE_MAX]; /* the current token; "" at the end */
    groat_error *error;
} reader;

static groat_status bad(const reader *r, const char *what)
{
    return groat__fail(r->error, GROAT_INVALID,
                       "%.64s/args.h:%d: %s, at '%.60s'", r->family, r->line,
                       what, r->word);
}

/* Skips blanks, comments and preprocessor lines. */
static void skip(reader *r)
{
    for (; *r->at != '\0'; r->at++) {
        const char *end = NULL;

        if (strncmp(r->at, "/*", 2) == 0) {
            end = strstr(r->at + 2, "*/");
            end = end == NULL ? r->at + strlen(r->at) : end + 1;
        } else if (strncmp(r->at, "//", 2) == 0 || *r->at == '#') {
            end = r->at + strcspn(r->at, "\n");
        } else if (*r->at == '\n') {
            r->line++;
        } else if (!isspace((unsigned char)*r->at)) {
            return;
        }
        for (; end != NULL && r->at < end && *r->at != '\0'; r->at++)
            r->line += *r->at == '\n';
        if (*r->at == '\0')
            return;
        r->line += end != NULL && *r->at == '\n';
    }
}

/* Reads the next token: a word, or a punctuator of one byte. */
static void take(reader *r)
{
    size_t len = 0;

    skip(r);
    while (groat__is_word(r->at[len]))
        len++;
    if (len == 0 && *r->at != '\0')
        len = 1;
    if (len >= sizeof(r->word))
        len = sizeof(r->word) - 1;
    memcpy(r->word, r->at, len);
    r->word[len] = '\0';
    r->at += len;
}

static bool is(const reader *r, const char *word)
{
    return strcmp(r->word, word) == 0;
}

/* Adds a field whose name is the current token. */
static groat_status add(reader *r, size_t type, groat__args_struct *out)
{
    groat__field *field = &out->fields[out->count];
    size_t align = align_of(type);

    if (out->count == GROAT__ARGS_FIELDS)
        return bad(r, "more than 64 fields");
    if (!groat__is_letter(r->word[strspn(r->word, "_")]))
        return bad(r, "a field's name expected");
    memcpy(field->name, r->word, sizeof(r->word));
    field->kind = types[type].kind;
    field->bytes = types[type].bytes;
    field->at = (out->bytes + align - 1) / align * align;
    out->bytes = field->at + field->bytes;
    out->count++;
    return GROAT_OK;
}

/* Reads a type of one or more words, from the current token on.  The current
 * token is then the field's name. */
static groat_status take_type(reader *r, size_t *type)
{
    size_t count = sizeof(types) / sizeof(types[0]);
    char name[2 * TYPE_MAX] = "";
    size_t len = 0;
    bool found = false;

    while (groat__is_letter(r->word[0])) {
        bool longer = false;

        len += (size_t)snprintf(name + len, sizeof(name) - len, "%s%s",
                                len > 0 ? " " : "", r->word);
        if (len >= sizeof(name))
            break;
        for (size_t i = 0; i < count; i++) {
            longer =
                longer ||
                (strncmp(types[i].name, name, len) == 0 &&
                 (types[i].name[len] == ' ' || types[i].name[len] == '\0'));
            if (strcmp(types[i].name, name) == 0) {
                *type = i;
                found = true;
            }
        }
        if (!longer)
            return found ? GROAT_OK
                         : bad(r, "a type expected: an integer, float, "
                                  "double or struct groat_tensor_map; a "
                                  "family with other arguments is launched "
                                  "by a program of its own");
        take(r);
    }
    return found ? GROAT_OK : bad(r, "a type and a field's name expected");
}

static groat_status read_fields(reader *r, groat__args_struct *out)
{
    size_t align = 1;

    for (take(r); !is(r, "}"); take(r)) {
        size_t type = 0;
        groat_status status = take_type(r, &type);

        if (status == GROAT_OK)
            status = add(r, type, out);
        for (take(r); status == GROAT_OK && is(r, ","); take(r)) {
            take(r);
            status = add(r, type, out);
        }
        if (status != GROAT_OK)
            return status;
        if (!is(r, ";"))
            return bad(r, "';' expected");
        align = align_of(type) > align ? align_of(type) : align;
    }
    out->bytes = (out->bytes + align - 1) / align * align;
    return GROAT_OK;
}

/* Reads past "struct FAMILY_args {", or "struct ANY {" where family is NULL. */
static bool find_struct(reader *r, const char *family)
{
    size_t len = family == NULL ? 0 : strlen(family);

    do {
        bool named;

        take(r);
        if (!is(r, "struct"))
            continue;
        take(r);
        named = family == NULL || (strncmp(r->word, family, len) == 0 &&
                                   strcmp(r->word + len, "_args") == 0);
        take(r);
        if (named && is(r, "{"))
            return true;
    } while (r->word[0] != '\0');
    return false;
}

groat_status groat__args_struct_read(const char *family, const char *text,
                                     groat__args_struct *out,
                                     groat_error *error)
{
    reader r = {.family = family, .at = text, .line = 1, .error = error};

    memset(out, 0, sizeof(*out));
    if (!find_struct(&r, family)) {
        r.at = text;
        r.line = 1;
        (void)find_struct(&r, NULL);
    }
    if (!is(&r, "{"))
        return bad(&r, "struct NAME { ... }; expected");
    return read_fields(&r, out);
}
