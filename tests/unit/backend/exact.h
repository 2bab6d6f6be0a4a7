/* SPDX-License-Identifier: Apache-2.0
 *
 * exact.h - reads a code object from an allocation of exactly its size, so that
 * a sanitizer or valgrind detects any read past it.
 */
#ifndef GROAT_TEST_BACKEND_EXACT_H
#define GROAT_TEST_BACKEND_EXACT_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "backend/amdgpu_elf.h"

static inline groat__amdgpu_finding exact_kernel(const void *data, size_t bytes,
                                                 const char *entry)
{
    unsigned char *copy = malloc(bytes > 0 ? bytes : 1);
    groat__amdgpu_kernel kernel;
    groat__amdgpu_finding finding;

    ck_assert_ptr_nonnull(copy);
    memcpy(copy, data, bytes);
    (void)groat__amdgpu_elf_whole(copy, bytes);
    finding = groat__amdgpu_elf_kernel(copy, bytes, entry, &kernel);
    free(copy);
    return finding;
}

#endif
