/* SPDX-License-Identifier: Apache-2.0
 * decode.c [TARGET]: attention of one query over a paged KV cache, checked
 * against the reference on the host.
 *   cc decode.c $(pkg-config --cflags --libs groat) -lm && ./a.out cpu:sm_90a
 */
#include <groat_attention.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>

enum { PAGES = 8, PAGE = 16, HEADS = 8, DIM = 64, KEYS = 100 };
static struct memory {
    unsigned short cache[PAGES][2][PAGE][DIM], query[HEADS][DIM]; /* in bf16 */
    unsigned short output[HEADS][DIM];
    unsigned table[8], length, unused[3];
} m = {.table = {2, 0, 3, 1, 7, 5, 4}, .length = KEYS};

#define TRY(call)                                                              \
    if ((call) != GROAT_OK)                                                    \
    return fprintf(stderr, "decode: %s\n", error.text), 1

static void bind(groat_decode_arguments *a, groat_kv_cache *kv, uint64_t at)
{
    kv->address = at;
    a->queries = at + offsetof(struct memory, query);
    a->output = at + offsetof(struct memory, output);
    a->page_table = at + offsetof(struct memory, table);
    a->lengths = at + offsetof(struct memory, length);
}

/* Returns the norm of the output's error relative to the norm of `wanted`. */
static double compare(double (*wanted)[DIM])
{
    double off = 0, all = 0;

    for (int i = 0; i < HEADS * DIM; i++) {
        union {
            unsigned bits;
            float value;
        } x = {(unsigned)m.output[i / DIM][i % DIM] << 16};
        off += pow(x.value - wanted[i / DIM][i % DIM], 2);
        all += pow(wanted[i / DIM][i % DIM], 2);
    }
    return sqrt(off / all);
}

int main(int argc, char **argv)
{
    const char *target = argc > 1 ? argv[1] : NULL;
    groat_error error = GROAT_ERROR_INIT;
    groat_decode_shape shape = {.size = sizeof(shape),
                                .heads = HEADS,
                                .kv_heads = 1,
                                .head_dim = DIM,
                                .q_len = 1,
                                .page = PAGE,
                                .sequences = 1,
                                .keys = PAGES * PAGE};
    groat_kv_cache kv = {.size = sizeof(kv),
                         .elem_bytes = 2,
                         .blocks = PAGES,
                         .planes = 2,
                         .layers = 1,
                         .page = PAGE,
                         .heads = 1,
                         .dim = DIM};
    groat_decode_arguments a = GROAT_DECODE_ARGUMENTS_INIT;
    static double wanted[HEADS][DIM];
    double error_of_output;
    size_t bytes;
    groat_context *g;
    groat_decode *decode;
    uint64_t at;

    for (int i = 0; i < PAGES * 2 * PAGE * DIM; i++) /* 0.5 to 1, both signs */
        (&m.cache[0][0][0][0])[i] = (i * 2654435761u >> 16 & 0x807F) | 0x3F00;
    for (int i = 0; i < HEADS * DIM; i++)
        m.query[i / DIM][i % DIM] = (i * 40503u >> 4 & 0x807F) | 0x3F00;
    a.keys = &kv;
    a.sequences = 1;
    a.pitch = 8; /* table entries per sequence */
    bind(&a, &kv, (uint64_t)(uintptr_t)&m);
    TRY(groat_decode_reference(&shape, &a, &wanted[0][0], NULL, &error));
    TRY(groat_open(NULL, &g, &error));
    TRY(groat_decode_open(g, target, &shape, NULL, &decode, &error));
    TRY(groat_memory_alloc(g, target, sizeof(m), &at, &error));
    TRY(groat_memory_write(g, target, at, &m, sizeof(m), &error));
    bind(&a, &kv, at);
    bytes = groat_decode_workspace(decode);
    TRY(groat_memory_alloc(g, target, bytes, &a.workspace, &error));
    TRY(groat_memory_write(g, target, a.workspace, NULL, bytes, &error));
    TRY(groat_decode_run(decode, &a, NULL, &error));
    TRY(groat_memory_read(g, target, &m, at, sizeof(m), &error));
    error_of_output = compare(wanted);
    printf("decode: the error is %.1e of the output\n", error_of_output);
    groat_decode_close(decode);
    groat_close(g); /* frees its memory, too */
    return !(error_of_output < 4e-3);
}
