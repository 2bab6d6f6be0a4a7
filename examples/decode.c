/* SPDX-License-Identifier: Apache-2.0
 * decode.c [TARGET]: attention of one query over a paged KV cache, checked
 * against the reference on the host.
 *   cc decode.c $(pkg-config --cflags --libs groat) -lm && ./a.out cpu:sm_90a
 */
#include "paged_cache.h"
#include <groat_attention.h>

static void bind(groat_decode_arguments *a, const groat_kv_cache *kv)
{
    a->keys = kv;
    a->queries = AT(*kv, query);
    a->output = AT(*kv, output);
    a->page_table = AT(*kv, table);
    a->lengths = AT(*kv, length);
}

int main(int argc, char **argv)
{
    const char *target = argc > 1 ? argv[1] : NULL;
    groat_decode_shape shape = GROAT_DECODE_SHAPE_INIT;
    groat_decode_arguments a = GROAT_DECODE_ARGUMENTS_INIT;
    groat_kv_cache kv = GROAT_KV_CACHE_INIT, on_host;
    groat_error e = GROAT_ERROR_INIT;
    static struct paged_cache m;
    static double wanted[HEADS * DIM];
    groat_context *g;
    groat_decode *decode;
    size_t bytes;

    shape.heads = HEADS;
    shape.kv_heads = shape.q_len = shape.sequences = 1;
    shape.head_dim = DIM;
    shape.page = PAGE;
    shape.keys = PAGES * PAGE; /* the most of a launch */
    a.sequences = 1;
    a.pitch = PAGES; /* table entries per sequence */

    TRY(groat_open(NULL, &g, &e));
    TRY(groat_decode_open(g, target, &shape, NULL, &decode, &e));
    TRY(put_cache(g, target, &m, &kv, &e));
    on_host = kv;
    on_host.address = (uint64_t)(uintptr_t)&m;
    bind(&a, &on_host);
    TRY(groat_decode_reference(&shape, &a, wanted, NULL, &e));

    bytes = groat_decode_workspace(decode);
    TRY(groat_memory_alloc(g, target, bytes, &a.workspace, &e));
    TRY(groat_memory_write(g, target, a.workspace, NULL, bytes, &e));
    bind(&a, &kv);
    TRY(groat_decode_run(decode, &a, NULL, &e));
    TRY(groat_memory_read(g, target, &m, kv.address, sizeof(m), &e));
    groat_decode_close(decode);
    groat_close(g); /* frees its memory, too */
    return !(error_of_output(&m, wanted) < 4e-3);
}
