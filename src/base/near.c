/* SPDX-License-Identifier: Apache-2.0
 *
 * near.c finds the name that was meant, by Levenshtein distance; names are
 * short.  "valid-rows" and "valid_rows" count as the same name.  The beginning
 * of a name counts as near.
 */
#include "base/near.h"

#include <string.h>

enum { NAME_MAX_LEN = 64, SHORT = 3, BEGUN = 2 };

static bool same_char(char typed, char known)
{
    return typed == known || (typed == '-' && known == '_');
}

static size_t distance(const char *a, size_t a_len, const char *b, size_t len)
{
    size_t row[NAME_MAX_LEN + 1];

    if (len > NAME_MAX_LEN || a_len > NAME_MAX_LEN)
        return SIZE_MAX;
    for (size_t j = 0; j <= len; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        size_t corner = row[0];

        row[0] = i;
        for (size_t j = 1; j <= len; j++) {
            size_t change = corner + !same_char(a[i - 1], b[j - 1]);
            size_t step = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;

            corner = row[j];
            row[j] = change < step ? change : step;
        }
    }
    return row[len];
}

void groat__near_start(groat__near *near, const char *typed, size_t len)
{
    /* One more than the edits that still count as a typing mistake. */
    *near = (groat__near){.typed = typed,
                          .len = len,
                          .best = len < 2              ? 1
                                  : len < SHORT        ? 2
                                  : len < NAME_MAX_LEN ? 3
                                                       : 0};
}

void groat__near_try(groat__near *near, const char *known, size_t len)
{
    size_t far = distance(near->typed, near->len, known, len);

    if (far > BEGUN && near->len > SHORT && near->len < len &&
        len <= NAME_MAX_LEN && memcmp(known, near->typed, near->len) == 0)
        far = BEGUN;
    if (far >= near->best)
        return;
    near->best = far;
    near->found = known;
    near->found_len = len;
}

void groat__near_tell(const groat__near *near, const char *list,
                      groat__str *out)
{
    groat__str_add(out, "; ");
    if (near->found != NULL)
        groat__str_addf(out, "did you mean '%.*s'? ", (int)near->found_len,
                        near->found);
    groat__str_addf(out, "%s: ", list);
}
