/* SPDX-License-Identifier: Apache-2.0
 *
 * Launch arguments of paged_sum.  Include it after groat_tensor.h on the host,
 * after common/vendor.h in the kernel: both define groat_tensor_map.
 *
 * Grid: heads x sequences; block (h, s) writes 2 * depth floats, the sum of K's
 * rows, then that of V's, at output + (s * heads + h) * 2 * depth.
 */
#pragma once

struct paged_sum_args {
    struct groat_tensor_map keys;
    struct groat_tensor_map values;
    unsigned long long page_table; /* u32: block of page p of sequence s at
                                    * s * pitch + p                         */
    unsigned long long lengths;    /* u32: keys of each sequence            */
    unsigned long long output;     /* floats                                */
    unsigned pitch;                /* a multiple of 8                       */
    unsigned stride;               /* rows from block to block of the cache */
    unsigned heads;
    unsigned reserved[7];
};
