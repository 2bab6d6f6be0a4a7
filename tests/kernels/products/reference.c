/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

void reference(const struct run *run)
{
    for (long long i = 0; i < run->count * 16 * 8; i++) {
        long long column = i % 8;
        long long row = i / 8;
        const float *b = run->b + i / 128 * deep * 8;
        double sum = 0;

        for (long long k = 0; k < deep; k++)
            sum += (double)run->a[row * deep + k] *
                   b[transposed ? k * 8 + column : column * deep + k];
        run->y[i] = (float)sum;
    }
}
