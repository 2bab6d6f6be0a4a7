/* SPDX-License-Identifier: Apache-2.0
 *
 * str.c owns growing texts, harmless lines, and hex.  Invariant: cap > len
 * whenever data is not NULL, and data[len] is NUL.  No locking: a text belongs
 * to one thread.
 */
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void groat__str_free(groat__str *str)
{
    free(str->data);
    memset(str, 0, sizeof(*str));
}

void groat__str_clear(groat__str *str)
{
    str->len = 0;
    if (str->data != NULL)
        str->data[0] = '\0';
}

static void set_room(groat__str *str, size_t cap)
{
    char *data = realloc(str->data, cap);

    if (data == NULL) {
        str->failed = true;
        return;
    }
    if (str->data == NULL)
        data[0] = '\0';
    str->data = data;
    str->cap = cap;
}

/* Returns whether the text may have so many bytes more; sets `failed`. */
static bool is_possible(groat__str *str, size_t more)
{
    if (more > SIZE_MAX / 4 || str->len > SIZE_MAX / 4)
        str->failed = true;
    return !str->failed;
}

void groat__str_reserve(groat__str *str, size_t more)
{
    if (is_possible(str, more) && str->cap <= str->len + more)
        set_room(str, str->len + more + 1);
}

static bool reserve(groat__str *str, size_t more)
{
    size_t cap = str->cap == 0 ? 256 : str->cap;

    if (!is_possible(str, more))
        return false;
    while (cap <= str->len + more)
        cap *= 2;
    if (cap != str->cap)
        set_room(str, cap);
    return !str->failed;
}

void groat__str_addn(groat__str *str, const char *text, size_t len)
{
    if (!reserve(str, len))
        return;
    if (len > 0)
        memcpy(str->data + str->len, text, len);
    str->len += len;
    str->data[str->len] = '\0';
}

void groat__str_add(groat__str *str, const char *text)
{
    groat__str_addn(str, text, strlen(text));
}

void groat__str_add_int(groat__str *str, int64_t value)
{
    char digits[24];
    size_t at = sizeof(digits);
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest != 0);
    if (value < 0)
        digits[--at] = '-';
    groat__str_addn(str, digits + at, sizeof(digits) - at);
}

void groat__str_addv(groat__str *str, const char *format, va_list args)
{
    va_list again;
    int need;

    va_copy(again, args);
    need = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (need < 0) /* a text with a part missing is a failure */
        str->failed = true;
    if (need < 0 || !reserve(str, (size_t)need))
        return;
    (void)vsnprintf(str->data + str->len, (size_t)need + 1, format, args);
    str->len += (size_t)need;
}

void groat__str_addf(groat__str *str, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    groat__str_addv(str, format, args);
    va_end(args);
}

char *groat__str_take(groat__str *str)
{
    char *data;

    groat__str_addn(str, "", 0);
    if (str->failed) {
        groat__str_free(str);
        return NULL;
    }
    data = str->data;
    memset(str, 0, sizeof(*str));
    return data;
}

bool groat__is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool groat__is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool groat__is_word(char c)
{
    return groat__is_letter(c) || groat__is_digit(c) || c == '_';
}

bool groat__is_name(const char *text)
{
    if (text == NULL || !groat__is_letter(*text))
        return false;
    while (groat__is_word(*text))
        text++;
    return *text == '\0';
}

bool groat__is_keyword(const char *word)
{
    static const char words[] =
        " alignas alignof and and_eq asm auto bitand bitor bool break case "
        "catch char char16_t char32_t class compl const const_cast constexpr "
        "continue decltype default delete do double dynamic_cast else enum "
        "explicit export extern false float for friend goto if inline int "
        "long mutable namespace new noexcept not not_eq nullptr operator or "
        "or_eq private protected public register reinterpret_cast return "
        "short signed sizeof static static_assert static_cast struct switch "
        "template this thread_local throw true try typedef typeid typename "
        "union unsigned using virtual void volatile wchar_t while xor xor_eq ";
    size_t len = strlen(word);

    for (const char *at = words; len > 0 && (at = strstr(at, word)); at++)
        if (at > words && at[-1] == ' ' && at[len] == ' ')
            return true;
    return false;
}

const char *groat__skip_mark(const char *text)
{
    return strncmp(text, "\xEF\xBB\xBF", 3) == 0 ? text + 3 : text;
}

bool groat__is_text(const char *text, size_t len, const char *word)
{
    /* Most differ in the first character. */
    return (len == 0 || *text == *word) && strlen(word) == len &&
           memcmp(text, word, len) == 0;
}

size_t groat__utf8_len(const char *text)
{
    /* The least code point that needs so many bytes. */
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const uint8_t *s = (const uint8_t *)text;
    uint32_t code;
    size_t len;

    if (s[0] < 0x80)
        return s[0] != 0;
    len = s[0] < 0xc0 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (len == 0 || s[0] > 0xf4)
        return 0;
    code = s[0] & (0x7fu >> len);
    for (size_t i = 1; i < len; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0; /* also at the end of text */
        code = code << 6 | (s[i] & 0x3fu);
    }
    return code < least[len] || code > 0x10ffff ||
                   (code >= 0xd800 && code <= 0xdfff)
               ? 0
               : len;
}

void groat__one_line(char *text)
{
    while (*text != '\0') {
        size_t len = groat__utf8_len(text);
        const uint8_t *s = (const uint8_t *)text;

        if (len == 0)
            *text = '?';
        else if (s[0] < 0x20 || s[0] == 0x7f)
            *text = ' ';
        else if (s[0] == 0xc2 && s[1] < 0xa0) /* C1 controls */
            memset(text, ' ', 2);
        text += len == 0 ? 1 : len;
    }
}

void groat__hex(char *out, const uint8_t *bytes, size_t len)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < len; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * len] = '\0';
}

static int hex_value(char c)
{
    if (groat__is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool groat__unhex(uint8_t *out, size_t len, const char *text)
{
    if (strlen(text) != 2 * len)
        return false;
    for (size_t i = 0; i < len; i++) {
        int hi = hex_value(text[2 * i]);
        int lo = hex_value(text[2 * i + 1]);

        if (hi < 0 || lo < 0)
            return false;
        out[i] = (uint8_t)(hi << 4 | lo);
    }
    return true;
}
