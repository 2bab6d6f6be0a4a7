/* SPDX-License-Identifier: Apache-2.0
 *
 * bench_key.c measures the steps from a spec to its key: parsing a text,
 * changing a parameter, rendering the source, and computing the key.  One JSON
 * object; each figure is the median of many batches, in nanoseconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "spec/key.h"
#include "spec/render.h"
#include "spec/load.h"

enum { ROUNDS = 31, BATCH = 2000 };

static const char spec[] = "tile_loader_lds:dtype=fp8,tile_rows=128,"
                           "tile_cols=128,full_width=true,src_cols=1024";
static const char compiler[] =
    "compiler nvrtc 13.0 build 65be0db342ad51a06876e71e210bccc5aa8322cf\n"
    "option --gpu-architecture=sm_90a\noption --std=c++17\n";

static double now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return x < y ? -1 : x > y;
}

typedef struct bench {
    groat_family *family;
    groat__target target;
    groat__params params;
    groat__str text;
    unsigned char sum; /* keeps the work from being optimized away */
} bench;

static const char *read_file(void *user, const char *path)
{
    (void)user;
    return groat__embedded_find(path);
}

static void parse(bench *b)
{
    if (groat__params_parse(b->family, spec, &b->target, &b->params, NULL) !=
        GROAT_OK)
        abort();
}

static void change(bench *b)
{
    size_t slot = groat__family_slot(b->family, "tile_rows", 9);

    if (groat__params_set(&b->params, slot, 128, NULL) != GROAT_OK)
        abort();
}

static void make_key(bench *b)
{
    groat__str_clear(&b->text);
    groat__key_identity(&b->params, compiler, &b->text);
    b->sum ^= groat__key_of(&b->text).bytes[0];
}

static void render(bench *b)
{
    groat__str_clear(&b->text);
    groat__render_source(&b->params, &b->text);
    b->sum ^= (unsigned char)b->text.len;
}

static double measure(bench *b, void (*step)(bench *))
{
    double samples[ROUNDS];

    for (int r = 0; r < ROUNDS; r++) {
        double start = now_ns();

        for (int i = 0; i < BATCH; i++)
            step(b);
        samples[r] = (now_ns() - start) / BATCH;
    }
    qsort(samples, ROUNDS, sizeof(samples[0]), by_value);
    return samples[ROUNDS / 2];
}

int main(void)
{
    bench b = {0};

    if (groat__family_load("tile_loader_lds", read_file, NULL, &b.family,
                           NULL) != GROAT_OK ||
        groat__target_parse("cuda:sm_90a", &b.target, NULL) != GROAT_OK) {
        (void)fputs("bench_key: the family or the target is not to be had\n",
                    stderr);
        return EXIT_FAILURE;
    }
    (void)printf("{\"format\": 1, \"bench\": \"key\", \"unit\": \"ns\",\n");
    (void)printf(" \"parse_spec\": %.0f,\n", measure(&b, parse));
    (void)printf(" \"set_parameter\": %.0f,\n", measure(&b, change));
    (void)printf(" \"key\": %.0f,\n", measure(&b, make_key));
    (void)printf(" \"render_source\": %.0f,\n", measure(&b, render));
    (void)printf(" \"check\": %d}\n", b.sum);
    groat__str_free(&b.text);
    groat__family_free(b.family);
    return EXIT_SUCCESS;
}
