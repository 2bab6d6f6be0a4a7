/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct lanes_args {
    unsigned long long x;
    unsigned long long y;
    unsigned long long z;
    unsigned long long w;
};
