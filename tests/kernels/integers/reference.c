/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

void reference(const struct run *run)
{
    for (long long i = 0; i < run->count; i++) {
        const signed char *a = (const signed char *)&run->a[i];
        const signed char *b = (const signed char *)&run->b[i];

        const unsigned char *ua = (const unsigned char *)a;
        const unsigned char *ub = (const unsigned char *)b;
        unsigned all = run->b[i];

        for (int k = 0; k < 4; k++)
            all += (unsigned)ua[k] * ub[k];
        run->y[i] = (run->a[i] + (unsigned)(a[0] * b[0] + a[1] * b[1] +
                                            a[2] * b[2] + a[3] * b[3])) ^
                    all;
        int sa = (int)run->a[i], sb = (int)run->b[i];

        run->z[i] = (run->a[i] < run->b[i] ? run->a[i] : run->b[i]) ^
                    (unsigned)(sa > sb ? sa : sb);
    }
}
