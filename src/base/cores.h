/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_BASE_CORES_H
#define GROAT_BASE_CORES_H

/* Processors of the host that are switched on; 1 where nobody knows. */
unsigned groat__cores(void);

#endif
