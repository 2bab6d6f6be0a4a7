/* SPDX-License-Identifier: Apache-2.0
 *
 * matrix.h - the table of faults: what was observed of each, as sets of words.
 */
#ifndef GROAT_TEST_MATRIX_H
#define GROAT_TEST_MATRIX_H

typedef enum matrix_column {
    MATRIX_KEPT,  /* origin of a kernel that a layer had */
    MATRIX_NEW,   /* origin of a kernel that no layer had, and whether it was
                   * kept */
    MATRIX_AFTER, /* what another process finds */
    MATRIX_SAID,
    MATRIX_COUNTED,
    MATRIX_COLUMNS
} matrix_column;

/* Creates the table in memory that later child processes share. */
void matrix_begin(void);

/* Notes an observation about a fault in a layer.  word NULL: only adds the
 * row. */
void matrix_note(const char *fault, const char *layer, matrix_column column,
                 const char *word);

/* Counts one more fault of this name. */
void matrix_count(const char *fault, const char *layer);

/* Writes the table to a file, with rows in the order of their first note, and
 * the number of faults of each to stdout. */
int matrix_write(const char *path);

#endif
