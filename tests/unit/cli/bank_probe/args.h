/* SPDX-License-Identifier: Apache-2.0
 *
 * Launch arguments of bank_probe, and the accesses that it can make.
 */
#pragma once

enum bank_probe_what {
    /* one wave: lane l accesses byte l * stride */
    BANK_PROBE_READ,
    BANK_PROBE_READ_SWIZZLED, /* the same, through swizzle (3,4,4) */
    BANK_PROBE_WRITE,
    /* eight waves: copy a tile in one placement, then transpose reads */
    BANK_PROBE_V227,
    BANK_PROBE_FP8,
    BANK_PROBE_BF16
};

struct bank_probe_args {
    unsigned long long source; /* tile of 16384 bytes, row-major            */
    unsigned what;             /* enum bank_probe_what                      */
    unsigned stride;
    unsigned bytes;  /* per lane: 4, 8, 16                                  */
    unsigned valid;  /* rows of the tile; later ones are out of range       */
    unsigned filled; /* whether stores fill shared memory first             */
    unsigned reserved;
};
