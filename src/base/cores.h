/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_BASE_CORES_H
#define GROAT_BASE_CORES_H

/* Returns the number of processors that are online; 1 if it is unknown. */
unsigned groat__cores(void);

#endif
