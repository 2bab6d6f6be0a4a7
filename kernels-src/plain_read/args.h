/* SPDX-License-Identifier: Apache-2.0
 *
 * Launch arguments of plain_read, the same on host and device.  Block x of a
 * one-dimensional grid reads steps x, x + blocks ... of step_bytes.
 */
#pragma once

struct plain_read_args {
    unsigned long long source; /* device address, 16-byte aligned             */
    unsigned long long output; /* 16 bytes per thread of the grid             */
    unsigned steps;            /* of step_bytes each                          */
    unsigned blocks;           /* of the grid                                 */
};
