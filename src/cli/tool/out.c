/* SPDX-License-Identifier: Apache-2.0
 *
 * out.c - tables of aligned columns.
 *
 * Owns the cells until they are printed.  JSON is in json.c, messages on stderr
 * are in cli.c.
 * Invariant: after a failed allocation a table stays failed and keeps its
 * earlier cells; the failure is reported once, when it is printed.
 */
#include "cli/tool/out.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

enum {
    COLUMNS = 32,
    LINE = 80, /* columns of a terminal */
    COLUMN_MIN = 12
};

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
    groat__str cell = {0};
    va_list args;

    va_start(args, format);
    groat__str_addv(&cell, format, args);
    va_end(args);
    if (cell.failed || table->failed ||
        !groat__grow(&table->cell, table->cells + 1, &table->cap,
                     sizeof(*table->cell))) {
        groat__str_free(&cell);
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

/* Returns the length of a text up to where a line may end first: in front of a
 * blank or behind a '|'. */
static size_t piece_of(const char *text)
{
    size_t len = strcspn(text, " |");

    return len + (text[len] == '|');
}

/* Returns the length of a column's longest piece. */
static size_t longest_piece(const groat__table *table, size_t column)
{
    size_t longest = 0;

    for (size_t i = column; i < table->cells; i += table->columns) {
        const char *text = table->cell[i];

        while (*text != '\0') {
            size_t len = piece_of(text);

            longest = len > longest ? len : longest;
            text += len;
            text += *text == ' ';
        }
    }
    return longest;
}

/* Narrows the widest columns, none below its `least`, until the table fits a
 * line; returns whether it does. */
static bool narrow(const groat__table *table, size_t *width,
                   const size_t *least)
{
    size_t sum = 2 * (table->columns - 1);

    for (size_t c = 0; c < table->columns; c++)
        sum += width[c];
    for (; sum > LINE; sum--) {
        size_t widest = table->columns;

        for (size_t c = 0; c < table->columns; c++)
            if (width[c] > least[c] &&
                (widest == table->columns || width[c] >= width[widest]))
                widest = c;
        if (widest == table->columns)
            return false;
        width[widest]--;
    }
    return true;
}

/* Fits a wide table into a line, without tearing words if it can; names, which
 * are in the first column, stay whole. */
static void fit_columns(const groat__table *table, size_t *width)
{
    size_t least[COLUMNS];

    for (size_t c = 0; c < table->columns; c++) {
        size_t longest = longest_piece(table, c);

        width[c] = column_width(table, c);
        least[c] = longest > COLUMN_MIN ? longest : COLUMN_MIN;
    }
    least[0] = width[0];
    if (!table->fold || narrow(table, width, least))
        return;
    for (size_t c = 1; c < table->columns; c++)
        least[c] = COLUMN_MIN;
    (void)narrow(table, width, least);
}

/* Returns how many bytes of text fit a line of `width`, ending between pieces
 * if there are several. */
static size_t line_of(const char *text, size_t width)
{
    size_t end = 0;

    if (strlen(text) <= width)
        return strlen(text);
    for (;;) {
        size_t next = end + (end > 0 && text[end] == ' ');

        next += piece_of(text + next);
        if (next > width || next == end)
            break;
        end = next;
    }
    if (end > 0)
        return end;
    for (end = width; end > 1 && (text[end] & 0xC0) == 0x80;)
        end--; /* do not split a UTF-8 character */
    return end;
}

void groat__print_folded(const char *indent, const char *text)
{
    while (*text != '\0') {
        size_t len = line_of(text, LINE - strlen(indent));

        (void)fputs(indent, stdout);
        groat__print_plain(stdout, text, len);
        (void)fputc('\n', stdout);
        text += len;
        text += *text == ' ';
    }
}

static void print_cell(const char *text, size_t len, size_t width, bool right,
                       bool last)
{
    int pad = (int)(width - len);

    if (right)
        (void)printf("%*s", pad, "");
    groat__print_plain(stdout, text, len);
    if (!last && !right)
        (void)printf("%*s", pad, "");
    if (!last)
        (void)fputs("  ", stdout);
}

/* Prints a row as one or more lines, until all of its cells are printed. */
static void print_row(const groat__table *table, size_t first,
                      const size_t *width)
{
    const char *rest[COLUMNS];
    size_t count = table->cells - first;
    bool more = true;

    if (count > table->columns)
        count = table->columns;
    for (size_t c = 0; c < count; c++)
        rest[c] = table->cell[first + c];
    while (more) {
        size_t end = count;

        more = false;
        while (end > 1 && *rest[end - 1] == '\0')
            end--;
        for (size_t c = 0; c < end; c++) {
            size_t len = line_of(rest[c], width[c]);

            print_cell(rest[c], len, width[c], table->right >> c & 1,
                       c + 1 == end);
            rest[c] += len;
            rest[c] += *rest[c] == ' ';
        }
        for (size_t c = 0; c < count; c++)
            more = more || *rest[c] != '\0';
        (void)fputc('\n', stdout);
    }
}

void groat__table_print(groat__table *table)
{
    size_t width[COLUMNS] = {0};

    fit_columns(table, width);
    for (size_t i = 0; i < table->cells; i += table->columns)
        print_row(table, i, width);
    for (size_t i = 0; i < table->cells; i++)
        free(table->cell[i]);
    free(table->cell);
    if (table->failed)
        (void)fputs("groat: out of memory: the table is not complete\n",
                    stderr);
    *table = (groat__table){
        .columns = table->columns, .right = table->right, .fold = table->fold};
}
