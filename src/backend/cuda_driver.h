/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_BACKEND_CUDA_DRIVER_H
#define GROAT_BACKEND_CUDA_DRIVER_H

#include "backend/backend.h"

/* What nvrtc.c needs of the driver: no more than its version. */

/* cuDriverGetVersion without initializing the driver: 13000 for 13.0; 0 when
 * there is no driver. */
int groat__cuda_driver_version(const groat__env *env);

/* Appends one doctor line; control characters of the text become blanks and
 * a line's end becomes "; ". */
void groat__cuda_finding(groat__str *out, const char *subject, int usable,
                         const char *format, ...) GROAT_PRINTF(4, 5);

#endif
