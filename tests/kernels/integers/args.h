/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct integers_args {
    unsigned long long a;
    unsigned long long b;
    unsigned long long y;
    unsigned long long z;
    unsigned count;
};
