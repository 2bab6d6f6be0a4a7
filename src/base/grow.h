/* SPDX-License-Identifier: Apache-2.0
 *
 * grow.h - room for one more item of an array on the heap.
 */
#ifndef GROAT_BASE_GROW_H
#define GROAT_BASE_GROW_H

#include <stdbool.h>
#include <stddef.h>

/* Makes room for `needed` items of `bytes` bytes each in the array that the
 * pointer at `items` points to (NULL: none yet), which has room for *cap; that
 * at least doubles each time.  Returns false, and changes nothing, if there is
 * no memory. */
bool groat__grow(void *items, size_t needed, size_t *cap, size_t bytes);

#endif
