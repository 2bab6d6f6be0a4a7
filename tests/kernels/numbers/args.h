/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct numbers_args {
    unsigned long long x;
    unsigned long long y;
    unsigned long long back;
    unsigned count;
};
