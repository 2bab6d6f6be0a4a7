/* SPDX-License-Identifier: Apache-2.0
 *
 * matrix.h - the table of faults: what was seen of each, as sets of words.
 */
#ifndef GROAT_TEST_MATRIX_H
#define GROAT_TEST_MATRIX_H

typedef enum matrix_column {
    MATRIX_KEPT,  /* where a kernel that a layer had came from             */
    MATRIX_NEW,   /* where one that none had came from, and whether it was *
                   * kept                                                  */
    MATRIX_AFTER, /* what another process finds                            */
    MATRIX_SAID,
    MATRIX_COUNTED,
    MATRIX_COLUMNS
} matrix_column;

/* Memory that processes made from now on share. */
void matrix_begin(void);

/* Something was seen of a fault in a layer.  word NULL: nothing, but there is
 * such a row. */
void matrix_note(const char *fault, const char *layer, matrix_column column,
                 const char *word);

/* One more fault of this name was made. */
void matrix_count(const char *fault, const char *layer);

/* Writes the table to a file, rows in the order they came in, and the number
 * of faults of each to stdout. */
int matrix_write(const char *path);

#endif
