/* SPDX-License-Identifier: Apache-2.0
 * paged_scores.c TARGET: scores of a query against the keys of a paged cache.
 * cc paged_scores.c $(pkg-config --cflags --libs groat) && ./a.out cpu:sm_90a
 */
#include <groat_tensor.h>
#include <kv_producer_pipeline/args.h>
#include <stdio.h>

enum { PAGE = 16, KEYS = 64, DIM = 128, ONE = 0x3F80 /* in bf16 */ };
struct memory {
    unsigned short rows[KEYS + 1][DIM]; /* row n has n ones; the last is Q */
    unsigned table[8], lengths[4];
    float scores[KEYS];
} m = {.table = {2, 0, 3, 1}, .lengths = {55}}, *at;

int main(int argc, char **argv)
{
    const char *text = "kv_producer_pipeline:entry=scores,page_size=16";
    const char *target = argc > 1 ? argv[1] : "cuda:sm_90a";
    struct kv_producer_pipeline_args a = {.num_keys = KEYS, .pitch = 8};
    groat_kv_cache kv = GROAT_KV_CACHE_INIT;
    groat_launch launch = GROAT_LAUNCH_INIT;
    groat_error e = GROAT_ERROR_INIT;
    groat_context *g;
    groat_spec *spec;
    groat_kernel *kernel;

    for (int i = 0; i < DIM * (KEYS + 1); i++)
        m.rows[i / DIM][i % DIM] = i % DIM < i / DIM ? ONE : 0;
    a.sequences = a.kv_heads = a.group = a.query_count = 1;
    if (groat_open(NULL, &g, &e) ||
        groat_spec_parse(g, text, target, &spec, &e) ||
        groat_kernel_get_spec(spec, NULL, &kernel, NULL, &e) ||
        groat_memory_alloc(g, target, sizeof(m), &kv.address, &e) ||
        groat_memory_write(g, target, kv.address, &m, sizeof(m), &e))
        return puts(e.text), 1;
    kv.elem_bytes = 2;
    kv.blocks = KEYS / PAGE;
    kv.planes = kv.layers = kv.heads = 1;
    kv.page = a.stride = PAGE;
    kv.dim = DIM;
    at = (struct memory *)(uintptr_t)kv.address;
    a.page_table = (uintptr_t)at->table;
    a.lengths = (uintptr_t)at->lengths;
    a.output = (uintptr_t)at->scores;
    if (groat_kv_tensor_map(spec, &kv, GROAT_KV_KEYS, 0, NULL, &a.keys, &e) ||
        groat_kv_tensor_map(spec, &kv, GROAT_KV_KEYS, 0, NULL, &a.values, &e) ||
        groat_query_tensor_map(spec, (uintptr_t)at->rows[KEYS], 1, 1,
                               &a.queries, &e) ||
        groat_kernel_launch(kernel, &launch, &a, sizeof(a), &e) ||
        groat_memory_read(g, target, &m, kv.address, sizeof(m), &e))
        return puts(e.text), 1;
    for (unsigned key = 0; key < m.lengths[0]; key++)
        if (m.scores[key] != (float)(m.table[key / PAGE] * PAGE + key % PAGE))
            return printf("key %u is wrong\n", key), 1;
    printf("paged_scores: all %u scores are right\n", m.lengths[0]);
    groat_kernel_release(kernel);
    groat_spec_free(spec);
    groat_close(g); /* frees its memory, too */
    return 0;
}
