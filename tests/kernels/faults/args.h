// SPDX-License-Identifier: Apache-2.0
#pragma once

struct faults_args {
    unsigned long long x; /* 1024 words, ones        */
    unsigned long long y; /* 128 words, one a thread */
    unsigned words;       /* of x                    */
};
