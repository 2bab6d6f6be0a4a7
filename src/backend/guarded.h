/* SPDX-License-Identifier: Apache-2.0
 *
 * guarded.h - memory that lies far from all other.
 */
#ifndef GROAT_BACKEND_GUARDED_H
#define GROAT_BACKEND_GUARDED_H

#include <stddef.h>
#include <stdint.h>

/* Returns memory at a multiple of 256 that ends with a page, up to that, so
 * that an access past its end or far in front of it fails and meets nothing
 * else. NULL: there is no memory. */
uint8_t *groat__guarded_map(size_t bytes);
void groat__guarded_unmap(uint8_t *memory, size_t bytes);

#endif
