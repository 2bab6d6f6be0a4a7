/* SPDX-License-Identifier: Apache-2.0
 *
 * cuda_ptx.h - inline PTX as C++.
 */
#ifndef GROAT_CLI_JUDGE_CUDA_PTX_H
#define GROAT_CLI_JUDGE_CUDA_PTX_H

#include <stdbool.h>

#include "base/str.h"

/* Appends the text with its asm statements, in macros, too, as calls of
 * groat_ptx::INSTRUCTION(), which common/cuda_ptx.h has; those that cannot be
 * read stay.  Line breaks stay.  Returns whether the text needs that header. */
bool groat__cuda_read_ptx(const char *text, groat__str *out);

#endif
