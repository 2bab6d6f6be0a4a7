/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

void reference(const struct run *run)
{
    for (long long i = 0; i < run->count * m * m; i++) {
        const float *a = run->a + i / m * k;
        const float *b = run->b + (i / m / m * m + i % m) * k;
        double sum = 0;

        for (long long n = 0; n < k; n++)
            sum += (double)a[n] * b[n];
        run->y[i] = (float)sum;
    }
}
