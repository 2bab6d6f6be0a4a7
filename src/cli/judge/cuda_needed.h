/* SPDX-License-Identifier: Apache-2.0
 *
 * cuda_needed.h - leaves out what a kernel does not need in a file of CUDA C++.
 */
#ifndef GROAT_CLI_JUDGE_CUDA_NEEDED_H
#define GROAT_CLI_JUDGE_CUDA_NEEDED_H

#include "base/str.h"

/* Appends the text without functions, types and variables that the kernel
 * `entry` (NULL: every kernel) does not name, nor anything that it names, and
 * without those that use the host's part of CUDA or C++, such as main() and
 * what launches kernels.  Lines of the preprocessor and line breaks stay. */
void groat__cuda_drop_unneeded(const char *text, const char *entry,
                               groat__str *out);

/* Appends declarations which make the text's functions overloads of those of
 * CUDA that have the same name, and do not hide them. */
void groat__cuda_add_overloaded(const char *text, groat__str *out);

#endif
