/* SPDX-License-Identifier: Apache-2.0
 *
 * json.c reads JSON: what files of others say in it, once, from front to back,
 * without a tree of it in memory.  Numbers are checked and not read: nobody
 * wants any yet.
 *
 * Invariant: at never passes the NUL that ends the text, and what a string
 * gives is UTF-8 without NUL.
 */
#include "base/json.h"

#include <string.h>

enum { DEPTH_MAX = 64 };

static bool refuse(groat__json_in *in, const char *why)
{
    if (in->why == NULL)
        in->why = why;
    return false;
}

static void skip_blanks(groat__json_in *in)
{
    in->at += strspn(in->at, " \t\r\n");
}

/* Goes past one character that must be there. */
static bool take(groat__json_in *in, char wanted, const char *why)
{
    skip_blanks(in);
    if (in->why != NULL || *in->at != wanted)
        return refuse(in, why);
    in->at++;
    return true;
}

void groat__json_in_start(groat__json_in *in, const char *text)
{
    *in = (groat__json_in){text, text, NULL};
}

char groat__json_in_peek(groat__json_in *in)
{
    skip_blanks(in);
    return *in->at;
}

bool groat__json_in_open(groat__json_in *in, char open)
{
    return take(in, open,
                open == '{' ? "an object is missing" : "a list is missing");
}

bool groat__json_in_more(groat__json_in *in, char close, bool *first)
{
    bool is_first = *first;

    *first = false;
    if (in->why != NULL)
        return false;
    if (groat__json_in_peek(in) == close) {
        in->at++;
        return false;
    }
    return is_first || take(in, ',',
                            close == '}' ? "',' or '}' is missing"
                                         : "',' or ']' is missing");
}

/* ---- strings --------------------------------------------------------------
 */

static bool read_hex(groat__json_in *in, uint32_t *out)
{
    uint8_t bytes[2];
    char digits[5] = "";

    memcpy(digits, in->at, strnlen(in->at, 4));
    if (!groat__unhex(bytes, sizeof(bytes), digits))
        return refuse(in, "\\u needs four hex digits");
    in->at += 4;
    *out = (uint32_t)bytes[0] << 8 | bytes[1];
    return true;
}

static void add_code(groat__str *out, uint32_t code)
{
    char text[4];
    size_t len = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

    for (size_t i = len; i-- > 1; code >>= 6)
        text[i] = (char)(0x80 | (code & 0x3f));
    text[0] = (char)(len == 1 ? code : (0xf00u >> len & 0xff) | code);
    if (out != NULL)
        groat__str_addn(out, text, len);
}

/* Behind "\u": one character, which may take two of these. */
static bool read_code(groat__json_in *in, groat__str *out)
{
    uint32_t code = 0;
    uint32_t low = 0;

    if (!read_hex(in, &code))
        return false;
    if (code == 0)
        return refuse(in, "\\u0000 is not taken");
    if (code >= 0xd800 && code < 0xdc00 && in->at[0] == '\\' &&
        in->at[1] == 'u') {
        in->at += 2;
        if (!read_hex(in, &low))
            return false;
    }
    if (low >= 0xdc00 && low < 0xe000)
        code = 0x10000 + ((code - 0xd800) << 10 | (low - 0xdc00));
    else if (low != 0 || (code >= 0xd800 && code < 0xe000))
        return refuse(in, "half of a pair of \\u");
    add_code(out, code);
    return true;
}

static bool read_escape(groat__json_in *in, groat__str *out)
{
    static const char names[] = "\"\\/bfnrt";
    static const char meant[] = "\"\\/\b\f\n\r\t";
    const char *name = *in->at == '\0' ? NULL : strchr(names, *in->at);

    if (*in->at == 'u') {
        in->at++;
        return read_code(in, out);
    }
    if (name == NULL)
        return refuse(in, "no such escape");
    in->at++;
    if (out != NULL)
        groat__str_addn(out, &meant[name - names], 1);
    return true;
}

/* One character as it stands there, or an escape. */
static bool read_one(groat__json_in *in, groat__str *out)
{
    size_t len = groat__utf8_len(in->at);

    if (*in->at == '\0')
        return refuse(in, "a string does not end");
    if ((unsigned char)*in->at < ' ')
        return refuse(in, "a control character in a string");
    if (len == 0)
        return refuse(in, "not UTF-8");
    if (*in->at == '\\') {
        in->at++;
        return read_escape(in, out);
    }
    if (out != NULL)
        groat__str_addn(out, in->at, len);
    in->at += len;
    return true;
}

bool groat__json_in_string(groat__json_in *in, groat__str *out)
{
    if (!take(in, '"', "a string is missing"))
        return false;
    if (out != NULL) {
        groat__str_clear(out);
        groat__str_add(out, "");
    }
    while (*in->at != '"')
        if (!read_one(in, out))
            return false;
    in->at++;
    return true;
}

bool groat__json_in_name(groat__json_in *in, groat__str *out)
{
    return groat__json_in_string(in, out) && take(in, ':', "':' is missing");
}

/* ---- values ---------------------------------------------------------------
 */

static bool skip_digits(groat__json_in *in)
{
    const char *from = in->at;

    while (groat__is_digit(*in->at))
        in->at++;
    return in->at > from || refuse(in, "a digit is missing");
}

static bool skip_number(groat__json_in *in)
{
    in->at += *in->at == '-';
    if (*in->at == '0')
        in->at++;
    else if (!skip_digits(in))
        return false;
    if (*in->at == '.') {
        in->at++;
        if (!skip_digits(in))
            return false;
    }
    if (*in->at == 'e' || *in->at == 'E') {
        in->at++;
        in->at += *in->at == '+' || *in->at == '-';
        return skip_digits(in);
    }
    return true;
}

static bool skip_word(groat__json_in *in)
{
    static const char *const words[] = {"true", "false", "null"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t len = strlen(words[i]);

        if (strncmp(in->at, words[i], len) == 0 &&
            !groat__is_word(in->at[len])) {
            in->at += len;
            return true;
        }
    }
    return refuse(in, "a value is missing");
}

static bool skip_value(groat__json_in *in, unsigned depth);

static bool skip_members(groat__json_in *in, unsigned depth)
{
    bool is_object = *in->at++ == '{';
    bool first = true;

    if (depth == 0)
        return refuse(in, "more than 64 values in each other");
    while (groat__json_in_more(in, is_object ? '}' : ']', &first))
        if ((is_object && !groat__json_in_name(in, NULL)) ||
            !skip_value(in, depth - 1))
            return false;
    return in->why == NULL;
}

static bool skip_value(groat__json_in *in, unsigned depth)
{
    char c = groat__json_in_peek(in);

    if (in->why != NULL)
        return false;
    if (c == '{' || c == '[')
        return skip_members(in, depth);
    if (c == '"')
        return groat__json_in_string(in, NULL);
    return c == '-' || groat__is_digit(c) ? skip_number(in) : skip_word(in);
}

bool groat__json_in_skip(groat__json_in *in)
{
    return skip_value(in, DEPTH_MAX);
}

bool groat__json_in_end(groat__json_in *in)
{
    if (groat__json_in_peek(in) != '\0')
        return refuse(in, "more follows");
    return in->why == NULL;
}

size_t groat__json_in_column(const groat__json_in *in)
{
    return (size_t)(in->at - in->start) + 1;
}
