/* SPDX-License-Identifier: Apache-2.0
 * paged_scores.c [TARGET]: scores of queries against the keys of a paged cache.
 * cc paged_scores.c $(pkg-config --cflags --libs groat) && ./a.out cpu:sm_90a
 */
#include "paged_cache.h"
#include <kv_producer_pipeline/args.h>

int main(int argc, char **argv)
{
    const char *text = "kv_producer_pipeline:entry=scores,page_size=16";
    const char *target = argc > 1 ? argv[1] : "cuda:sm_90a";
    struct kv_producer_pipeline_args a = {.num_keys = KEYS, .pitch = PAGES};
    groat_launch launch = {sizeof(launch), {1, HEADS, 1}, NULL};
    groat_kv_cache kv = GROAT_KV_CACHE_INIT;
    groat_error e = GROAT_ERROR_INIT;
    static struct paged_cache m;
    groat_context *g;
    groat_spec *spec;
    groat_kernel *kernel;

    TRY(groat_open(NULL, &g, &e));
    TRY(put_cache(g, target, &m, &kv, &e));
    a.page_table = AT(kv, table);
    a.lengths = AT(kv, length);
    a.output = AT(kv, scores);
    a.sequences = a.kv_heads = a.query_count = 1;
    a.group = HEADS;
    a.stride = 2 * PAGE; /* rows from page to page: its keys, its values */
    TRY(groat_spec_parse(g, text, target, &spec, &e));
    TRY(groat_kernel_get_spec(spec, NULL, &kernel, NULL, &e));
    TRY(groat_kv_tensor_map(spec, &kv, GROAT_KV_KEYS, 0, NULL, &a.keys, &e));
    a.values = a.keys; /* scores read no values */
    TRY(groat_query_tensor_map(spec, AT(kv, query), 1, HEADS, &a.queries, &e));
    TRY(groat_kernel_launch(kernel, &launch, &a, sizeof(a), &e));
    TRY(groat_memory_read(g, target, &m, kv.address, sizeof(m), &e));
    groat_kernel_release(kernel);
    groat_spec_free(spec);
    groat_close(g); /* frees its memory, too */
    return wrong_scores(&m) != 0;
}
