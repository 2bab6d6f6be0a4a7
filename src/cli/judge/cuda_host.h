/* SPDX-License-Identifier: Apache-2.0
 *
 * cuda_host.h - leaves out what a kernel does not need in a file of CUDA C++.
 */
#ifndef GROAT_CLI_JUDGE_CUDA_HOST_H
#define GROAT_CLI_JUDGE_CUDA_HOST_H

#include "base/str.h"

/* Appends the text without functions, types and variables that use the host's
 * part of CUDA or C++, such as main() and what launches kernels, and without
 * kernels of other names than `entry`; NULL, or one that is not there: with all
 * kernels.  Line breaks stay. */
void groat__cuda_drop_unused(const char *text, const char *entry,
                             groat__str *out);

/* Appends declarations which make the text's functions overloads of those of
 * CUDA that have the same name, and do not hide them. */
void groat__cuda_add_overloaded(const char *text, groat__str *out);

#endif
