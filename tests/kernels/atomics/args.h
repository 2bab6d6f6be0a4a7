/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct atomics_args {
    unsigned long long x;
    unsigned long long y;
};
