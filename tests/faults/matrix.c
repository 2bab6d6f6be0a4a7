/* SPDX-License-Identifier: Apache-2.0
 *
 * matrix.c owns the table of faults.  Tests run in processes of their own, so
 * the table is in shared memory.  Locking: none; one test runs at a time.
 */
#include "matrix.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ROWS = 96, WORDS = 12, WORD = 64 };

typedef struct row {
    char fault[WORD];
    char layer[WORD];
    char cells[MATRIX_COLUMNS][WORDS][WORD]; /* each sorted */
    unsigned faults;
} row;

static row *rows;

void matrix_begin(void)
{
    rows = mmap(NULL, ROWS * sizeof(*rows), PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (rows == MAP_FAILED)
        abort();
}

static row *row_of(const char *fault, const char *layer)
{
    row *at = rows;

    while (at->fault[0] != '\0' &&
           (strcmp(at->fault, fault) != 0 || strcmp(at->layer, layer) != 0))
        if (++at == rows + ROWS)
            abort();
    (void)snprintf(at->fault, WORD, "%s", fault);
    (void)snprintf(at->layer, WORD, "%s", layer);
    return at;
}

void matrix_note(const char *fault, const char *layer, matrix_column column,
                 const char *word)
{
    char(*cell)[WORD] = row_of(fault, layer)->cells[column];
    size_t at = 0;

    if (word == NULL)
        return;
    while (cell[at][0] != '\0' && strcmp(cell[at], word) < 0)
        at++;
    if (strcmp(cell[at], word) == 0)
        return;
    if (cell[WORDS - 2][0] != '\0' || strlen(word) >= WORD)
        abort();
    memmove(cell[at + 1], cell[at], (WORDS - 1 - at) * WORD);
    (void)snprintf(cell[at], WORD, "%s", word);
}

void matrix_count(const char *fault, const char *layer)
{
    row_of(fault, layer)->faults++;
}

static void write_cell(FILE *file, char (*cell)[WORD])
{
    (void)fprintf(file, " %s", cell[0][0] == '\0' ? "-" : cell[0]);
    for (size_t i = 1; i < WORDS && cell[i][0] != '\0'; i++)
        (void)fprintf(file, "; %s", cell[i]);
    (void)fprintf(file, " |");
}

int matrix_write(const char *path)
{
    FILE *file = fopen(path, "w");
    unsigned sum = 0;

    if (file == NULL)
        return -1;
    (void)fprintf(file,
                  "With SQLite %s:\n\n"
                  "| fault | strikes | a kept kernel | a new one | found "
                  "afterwards | said | counted |\n"
                  "|---|---|---|---|---|---|---|\n",
                  sqlite3_libversion());
    for (row *at = rows; at < rows + ROWS && at->fault[0] != '\0'; at++) {
        (void)fprintf(file, "| %s | %s |", at->fault, at->layer);
        for (int i = 0; i < MATRIX_COLUMNS; i++)
            write_cell(file, at->cells[i]);
        (void)fprintf(file, "\n");
        (void)printf("%6u of: %s, %s\n", at->faults, at->fault, at->layer);
        sum += at->faults;
    }
    (void)printf("%6u faults in all\n", sum);
    return fclose(file);
}
