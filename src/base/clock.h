/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_BASE_CLOCK_H
#define GROAT_BASE_CLOCK_H

#include <stdint.h>

/* Nanoseconds of a monotonic clock; no system call if the vDSO has it. */
uint64_t groat__now_ns(void);
/* The same clock in milliseconds. */
double groat__now_ms(void);

#endif
