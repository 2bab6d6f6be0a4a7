/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "run.h"

/* Rounds x to `digits` binary digits with exponents from `least` on, and to at
 * most `most`. */
static double rounded(double x, int digits, int least, double most)
{
    int exponent;
    double step;
    double y;

    (void)frexp(x, &exponent);
    step = ldexp(1, (exponent < least ? least : exponent) - digits);
    y = rint(x / step) * step;
    return fabs(y) > most ? copysign(most, y) : y == 0 ? fabs(y) : y;
}

static double nearest(double x)
{
    switch (number) {
    case number_e4m3:
        return rounded(x, 4, -5, 448);
    case number_e5m2:
        return rounded(x, 3, -13, 57344);
    case number_e4m3fnuz:
        return rounded(x, 4, -6, 240);
    case number_e5m2fnuz:
        return rounded(x, 3, -14, 57344);
    case number_f16:
        return rounded(x, 11, -13, 65504);
    default:
        return rounded(x, 8, -125, 3e38);
    }
}

void reference(const struct run *run)
{
    for (long long i = 0; i < run->count; i++) {
        double x = ldexp((double)run->x[i], -(int)(i % 32));
        double y = nearest(x);
        int signed_zero =
            number != number_e4m3fnuz && number != number_e5m2fnuz;

        y = y == 0 && signed_zero ? copysign(0, x) : y;
        run->y[i] = (float)y;
        run->back[i] = (float)y;
    }
}
