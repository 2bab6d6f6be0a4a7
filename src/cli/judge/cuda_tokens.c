/* SPDX-License-Identifier: Apache-2.0
 *
 * cuda_tokens.c - tokens of CUDA C++.  No state.
 */
#include "cli/judge/cuda_tokens.h"

#include <ctype.h>
#include <string.h>

#include "base/str.h"

typedef groat__cuda_token token;

bool groat__cuda_is(const token *t, const char *word)
{
    return groat__is_text(t->at, t->len, word);
}

static const char *skip_comment(const char *at)
{
    const char *end;

    if (at[1] == '/') {
        while (*at != '\0' && *at != '\n')
            at += at[0] == '\\' && at[1] == '\n' ? 2 : 1;
        return at;
    }
    end = strstr(at + 2, "*/");
    return end == NULL ? at + strlen(at) : end + 2;
}

void groat__cuda_skip(groat__cuda_cursor *c)
{
    const char *end;

    for (;;) {
        if (c->at[0] == '/' && (c->at[1] == '/' || c->at[1] == '*'))
            end = skip_comment(c->at);
        else if (isspace((unsigned char)*c->at))
            end = c->at + 1;
        else
            return;
        for (; c->at < end; c->at++)
            if (*c->at == '\n') {
                c->line++;
                c->fresh = true;
            }
    }
}

static size_t quoted(const char *at)
{
    size_t len = 1;

    while (at[len] != '\0' && at[len] != '\n' && at[len] != *at)
        len += at[len] == '\\' && at[len + 1] != '\0' ? 2 : 1;
    return len + (at[len] == *at);
}

/* Bytes of "DELIMITER(...)DELIMITER", with the quotes, behind an R. */
static size_t raw(const char *at)
{
    size_t len = strcspn(at, "(\n");
    const char *end = at + len;

    if (*end != '(')
        return quoted(at);
    while ((end = strchr(end + 1, ')')) != NULL)
        if (strncmp(end + 1, at + 1, len - 1) == 0 && end[len] == '"')
            return (size_t)(end - at) + len + 1;
    return strlen(at);
}

/* Whether a word before a quote makes it a raw text. */
static bool is_raw(const token *t)
{
    static const char *const words[] = {"R", "u8R", "uR", "UR", "LR"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (groat__cuda_is(t, words[i]))
            return t->at[t->len] == '"';
    return false;
}

token groat__cuda_take(groat__cuda_cursor *c)
{
    token t;

    groat__cuda_skip(c);
    t = (token){c->at, 0, c->line};
    if (*c->at == '\0')
        return t;
    /* "1'000" is one number. */
    while (groat__is_word(c->at[t.len]) ||
           (c->at[t.len] == '\'' && isdigit((unsigned char)*c->at) &&
            isalnum((unsigned char)c->at[t.len + 1])))
        t.len++;
    if (t.len == 0)
        t.len = *c->at == '"' || *c->at == '\'' ? quoted(c->at) : 1;
    else if (is_raw(&t))
        t.len += raw(c->at + t.len);
    for (size_t i = 0; i < t.len; i++)
        c->line += c->at[i] == '\n';
    c->at += t.len;
    c->fresh = false;
    return t;
}

token groat__cuda_take_to(groat__cuda_cursor *c, char open, char close)
{
    token all = {c->at, 0, c->line};
    int depth = 1;

    while (depth > 0) {
        token t = groat__cuda_take(c);

        if (t.len == 0)
            break;
        if (t.len == 1)
            depth += (*t.at == open) - (*t.at == close);
        all.len = (size_t)(t.at - all.at);
    }
    return all;
}

groat__cuda_turn groat__cuda_turn_of(const char *behind)
{
    behind += strspn(behind, " \t");
    return strncmp(behind, "if", 2) == 0      ? GROAT__CUDA_IF
           : strncmp(behind, "el", 2) == 0    ? GROAT__CUDA_ELSE
           : strncmp(behind, "endif", 5) == 0 ? GROAT__CUDA_ENDIF
                                              : GROAT__CUDA_NO_TURN;
}

void groat__cuda_skip_directive(groat__cuda_cursor *c)
{
    while (*c->at != '\0' && *c->at != '\n') {
        c->line += c->at[0] == '\\' && c->at[1] == '\n';
        c->at += c->at[0] == '\\' && c->at[1] != '\0' ? 2 : 1;
    }
}

token groat__cuda_take_text(groat__cuda_cursor *c)
{
    token t = groat__cuda_take(c);

    while (groat__cuda_is(&t, "#")) {
        groat__cuda_skip_directive(c);
        t = groat__cuda_take(c);
    }
    return t;
}
