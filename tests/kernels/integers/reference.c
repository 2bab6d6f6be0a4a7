/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

void reference(const struct run *run)
{
    for (long long i = 0; i < run->count; i++) {
        const signed char *a = (const signed char *)&run->a[i];
        const signed char *b = (const signed char *)&run->b[i];

        run->y[i] = run->a[i] + (unsigned)(a[0] * b[0] + a[1] * b[1] +
                                           a[2] * b[2] + a[3] * b[3]);
    }
}
