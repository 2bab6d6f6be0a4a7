/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "run.h"

/* Operands are words; half of them have the highest bit set. */
static unsigned operand(const struct run *run, long long i)
{
    unsigned x = run->x[i];

    if (op == op_add_float) {
        float real = (float)(x % 64);

        memcpy(&x, &real, sizeof(x));
        return x;
    }
    return i % 2 ? x | 0x80000000u : x;
}

void reference(const struct run *run)
{
    unsigned left = 0;
    unsigned least = 0;
    unsigned taken = 0;
    float sum = 0;

    for (long long i = 0; i < run->blocks * 256; i++) {
        unsigned x = operand(run, i);
        float real;

        memcpy(&real, &x, sizeof(real));
        sum += real;
        switch (op) {
        case op_add:
            left += x;
            break;
        case op_min: /* minimum per block; the maximum of those */
            least = i % 256 == 0 || x < least ? x : least;
            if (i % 256 == 255 && least > left)
                left = least;
            break;
        case op_max:
            left = x > left ? x : left;
            break;
        case op_min_signed:
            left = (int)x < (int)left ? x : left;
            break;
        case op_max_signed:
            left = (int)x > (int)left ? x : left;
            break;
        case op_exchange: /* sum of all values taken out or left */
            taken += x;
            break;
        case op_cas: /* counts the threads */
            left++;
            break;
        default:
            break;
        }
    }
    if (op == op_add_float)
        memcpy(&left, &sum, sizeof(left));
    run->y[0] = left;
    run->y[1] = taken;
}
