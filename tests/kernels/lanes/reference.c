/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

/* The least and the greatest of some threads' words without their low bytes. */
static void extremes(const unsigned *x, int count, float *out)
{
    out[0] = out[1] = (float)(x[0] >> 8);
    for (int i = 1; i < count; i++) {
        float f = (float)(x[i] >> 8);

        out[0] = f < out[0] ? f : out[0];
        out[1] = f > out[1] ? f : out[1];
    }
}

static unsigned votes(const unsigned *x)
{
    unsigned any = 0, all = 2;

    for (int i = 0; i < wave; i++) {
        any |= x[i] % 64 == 0;
        all = x[i] % 64 == 1 ? 0 : all;
    }
    return any | all;
}

void reference(const struct run *run)
{
    for (long long i = 0; i < run->blocks * threads; i++) {
        const unsigned *block = run->x + i / threads * threads;
        const unsigned *all = run->x + i / wave * wave;
        int t = (int)(i % threads), lane = t % wave;
        unsigned x = run->x[i], next = block[(t + 1) % threads];
        unsigned *y = run->y + 8 * i;

        y[0] = all[lane ^ 5];
        y[1] = all[lane >= 3 ? lane - 3 : lane];
        y[2] = all[lane + 7 < wave ? lane + 7 : lane];
        y[3] = votes(all);
        y[4] = (next & 255) | (next >> 8 & 65535) << 8;
        y[5] = (x >> 8 & 255) | x >> 16 << 8;
        y[6] = x >> 24 | (x >> 8 & 0xFF00) | (x << 8 & 0xFF0000) | x << 24;
        y[7] = x >> 16 | x << 16;
        extremes(all, wave, run->z + 4 * i);
        extremes(block, threads, run->z + 4 * i + 2);
    }
}
