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

/* The same of words and of ints, at out and out + 4. */
static void word_extremes(const unsigned *x, int count, unsigned *out)
{
    out[0] = out[1] = out[4] = out[5] = x[0];
    for (int i = 1; i < count; i++) {
        out[0] = x[i] < out[0] ? x[i] : out[0];
        out[1] = x[i] > out[1] ? x[i] : out[1];
        out[4] = (int)x[i] < (int)out[4] ? x[i] : out[4];
        out[5] = (int)x[i] > (int)out[5] ? x[i] : out[5];
    }
}

/* Sums of words, of their high halves, and of ones, two apart. */
static void add_up(const unsigned *x, int count, unsigned *out)
{
    out[0] = out[2] = out[4] = 0;
    for (int i = 0; i < count; i++) {
        out[0] += x[i];
        out[2] += x[i] >> 16;
        out[4]++;
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
        word_extremes(all, wave, run->w + 14 * i);
        word_extremes(block, threads, run->w + 14 * i + 2);
        add_up(all, wave, run->w + 14 * i + 8);
        add_up(block, threads, run->w + 14 * i + 9);
    }
}
