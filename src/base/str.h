/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_BASE_STR_H
#define GROAT_BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "groat.h"

/* A growing text, which starts from {0}. The first failed allocation sets
 * `failed` for good and later appends do nothing, so that a caller checks once,
 * at the end.  data is NUL-terminated whenever it is not NULL. */
typedef struct groat__str {
    char *data;
    size_t len;
    size_t cap;
    bool failed;
} groat__str;

void groat__str_free(groat__str *str);
/* Keeps the memory, drops the text. */
void groat__str_clear(groat__str *str);
/* Makes room for exactly so many bytes more, if there is not as much. */
void groat__str_reserve(groat__str *str, size_t more);
void groat__str_add(groat__str *str, const char *text);
void groat__str_addn(groat__str *str, const char *text, size_t len);
void groat__str_add_int(groat__str *str, int64_t value);
void groat__str_addf(groat__str *str, const char *format, ...)
    GROAT_PRINTF(2, 3);
void groat__str_addv(groat__str *str, const char *format, va_list args);
/* Returns the text, malloc'd, and empties str.  NULL only if str has failed. */
char *groat__str_take(groat__str *str);

/* ASCII only, whatever locale the program has set. */
bool groat__is_digit(char c);
bool groat__is_letter(char c);
/* A letter, a digit or '_'. */
bool groat__is_word(char c);
/* Whether the text is a letter, and then letters, digits and '_'; not if it is
 * NULL. */
bool groat__is_name(const char *text);
/* Whether C++ has the word for itself. */
bool groat__is_keyword(const char *word);
/* The text behind the mark that some editors put in front of UTF-8. */
const char *groat__skip_mark(const char *text);
/* Whether the len bytes at text are the word. */
bool groat__is_text(const char *text, size_t len, const char *word);

/* Returns the length of the well-formed UTF-8 sequence at the start of text; 0:
 * none, or the end. */
size_t groat__utf8_len(const char *text);
/* Makes a text one harmless line, in place: control characters become blanks,
 * invalid bytes of UTF-8 question marks. */
void groat__one_line(char *text);

/* Writes len bytes as 2*len lower-case hex digits and NUL. */
void groat__hex(char *out, const uint8_t *bytes, size_t len);
/* Reads them back; false unless text is exactly 2*len hex digits. */
bool groat__unhex(uint8_t *out, size_t len, const char *text);

#endif
