/* SPDX-License-Identifier: Apache-2.0
 *
 * out.c - tables of aligned columns.
 *
 * Owns the memory of what the tool is about to say.  JSON lies in json.c, the
 * talk on stderr in main.c.
 * Invariant: after a failed allocation an object stays failed and holds what
 * it held before; the caller asks once, when it prints.
 */
#include "cli/tool/out.h"

#include <stdlib.h>
#include <string.h>

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
