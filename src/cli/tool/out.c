/* SPDX-License-Identifier: Apache-2.0
 *
 * out.c - growing text, and tables of aligned columns.
 *
 * Owns the memory of what the tool is about to say.  JSON lies in json.c, the
 * talk on stderr in main.c.
 * Invariant: after a failed allocation an object stays failed and holds what
 * it held before; the caller asks once, when it prints.
 */
#include "cli/tool/out.h"

#include <stdlib.h>
#include <string.h>

void groat__text_free(groat__text *text)
{
    free(text->data);
    *text = (groat__text){0};
}

static bool text_reserve(groat__text *text, size_t more)
{
    size_t cap = text->cap ? text->cap : 256;
    char *data;

    if (text->failed || more >= SIZE_MAX / 4 - text->len) {
        text->failed = true;
        return false;
    }
    while (cap <= text->len + more)
        cap *= 2;
    if (cap == text->cap)
        return true;
    data = realloc(text->data, cap);
    if (!data) {
        text->failed = true;
        return false;
    }
    text->data = data;
    text->cap = cap;
    return true;
}

void groat__text_addn(groat__text *text, const char *bytes, size_t len)
{
    if (!text_reserve(text, len))
        return;
    if (len)
        memcpy(text->data + text->len, bytes, len);
    text->len += len;
    text->data[text->len] = '\0';
}

void groat__text_add(groat__text *text, const char *line)
{
    groat__text_addn(text, line, strlen(line));
}

void groat__text_addv(groat__text *text, const char *format, va_list args)
{
    va_list again;
    int len;

    va_copy(again, args);
    len = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (len < 0 || !text_reserve(text, (size_t)len)) {
        text->failed = true;
        return;
    }
    (void)vsnprintf(text->data + text->len, (size_t)len + 1, format, args);
    text->len += (size_t)len;
}

void groat__text_addf(groat__text *text, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    groat__text_addv(text, format, args);
    va_end(args);
}

void groat__print_plain(FILE *file, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)bytes[i];

        if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
            (void)fprintf(file, "\\x%02x", c);
        else
            (void)fputc(c, file);
    }
}

void groat__table_add(groat__table *table, const char *format, ...)
{
    groat__text cell = {0};
    va_list args;

    va_start(args, format);
    groat__text_addv(&cell, format, args);
    va_end(args);
    if (table->cells == table->cap) {
        size_t cap = table->cap ? table->cap * 2 : 64;
        char **grown = realloc(table->cell, cap * sizeof(*grown));

        if (!grown)
            cell.failed = true;
        else {
            table->cell = grown;
            table->cap = cap;
        }
    }
    if (cell.failed || table->failed) {
        groat__text_free(&cell);
        table->failed = true;
        return;
    }
    table->cell[table->cells++] = cell.data;
}

static size_t column_width(const groat__table *table, size_t column)
{
    size_t width = 0;

    for (size_t i = column; i < table->cells; i += table->columns) {
        size_t len = strlen(table->cell[i]);

        width = len > width ? len : width;
    }
    return width;
}

void groat__table_print(groat__table *table)
{
    size_t width[32] = {0};

    for (size_t c = 0; c < table->columns && c < 32; c++)
        width[c] = column_width(table, c);
    for (size_t i = 0; i < table->cells; i++) {
        size_t column = i % table->columns;
        size_t len = strlen(table->cell[i]);
        int pad = column < 32 ? (int)(width[column] - len) : 0;
        bool last = column + 1 == table->columns || i + 1 == table->cells;

        if (table->right >> column & 1)
            (void)printf("%*s", pad, "");
        groat__print_plain(stdout, table->cell[i], len);
        if (!last && !(table->right >> column & 1))
            (void)printf("%*s", pad, "");
        (void)fputs(last ? "\n" : "  ", stdout);
        free(table->cell[i]);
    }
    free(table->cell);
    if (table->failed)
        (void)fputs("groat: out of memory: the table is not complete\n",
                    stderr);
    *table = (groat__table){.columns = table->columns, .right = table->right};
}
