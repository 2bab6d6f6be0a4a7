/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

void reference(const struct run *run)
{
    for (long long i = 0; i < run->count; i++) {
        const signed char *a = (const signed char *)&run->a[i];
        const signed char *b = (const signed char *)&run->b[i];

        run->y[i] = run->a[i] + (unsigned)(a[0] * b[0] + a[1] * b[1] +
                                           a[2] * b[2] + a[3] * b[3]);
        int sa = (int)run->a[i], sb = (int)run->b[i];

        run->z[i] = (run->a[i] < run->b[i] ? run->a[i] : run->b[i]) ^
                    (unsigned)(sa > sb ? sa : sb);
    }
}
