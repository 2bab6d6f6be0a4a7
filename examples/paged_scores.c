/* SPDX-License-Identifier: Apache-2.0
 * paged_scores.c [TARGET]: scores of a query against the keys of a paged cache.
 *   cc paged_scores.c $(pkg-config --cflags --libs groat) && ./a.out cpu:sm_90a
 */
#include <groat_tensor.h>
#include <kv_producer_pipeline/args.h>
#include <stddef.h>
#include <stdio.h>

enum { PAGES = 4, PAGE = 16, KEYS = 55, DIM = 128, ONE = 0x3F80 /* in bf16 */ };
static struct memory {
    unsigned short cache[PAGES][2][PAGE][DIM], query[DIM];
    unsigned table[8], length, unused[3];
    float scores[PAGES * PAGE];
} m = {.table = {2, 0, 3, 1}, .length = KEYS};

#define TRY(call)                                                              \
    if ((call) != GROAT_OK)                                                    \
    return fprintf(stderr, "paged_scores: %s\n", error.text), 1

int main(int argc, char **argv)
{
    const char *target = argc > 1 ? argv[1] : NULL;
    groat_error error = GROAT_ERROR_INIT;
    groat_launch launch = GROAT_LAUNCH_INIT;
    groat_kernel *kernel;
    groat_context *g;
    groat_spec *spec;
    uint64_t at;

    for (int i = 0; i < DIM * PAGES * PAGE; i++) /* row r holds r ones */
        m.cache[i / DIM / PAGE][0][i / DIM % PAGE][i % DIM] =
            i % DIM < i / DIM ? ONE : 0;
    for (int i = 0; i < DIM; i++)
        m.query[i] = ONE;
    TRY(groat_open(NULL, &g, &error));
    TRY(groat_spec_parse(g, "kv_producer_pipeline:entry=scores,page_size=16",
                         target, &spec, &error));
    TRY(groat_kernel_get_spec(spec, NULL, &kernel, NULL, &error));
    TRY(groat_memory_alloc(g, target, sizeof(m), &at, &error));
    TRY(groat_memory_write(g, target, at, &m, sizeof(m), &error));
    groat_kv_cache kv = {.size = sizeof(kv),
                         .address = at,
                         .elem_bytes = 2,
                         .blocks = PAGES,
                         .planes = 2, /* K and V */
                         .layers = 1,
                         .page = PAGE,
                         .heads = 1,
                         .dim = DIM};
    struct kv_producer_pipeline_args args = {
        .page_table = at + offsetof(struct memory, table),
        .lengths = at + offsetof(struct memory, length),
        .output = at + offsetof(struct memory, scores),
        .num_keys = PAGES * PAGE,
        .pitch = 8,         /* table entries per sequence */
        .stride = 2 * PAGE, /* rows of K and V in a block */
        .sequences = 1,
        .kv_heads = 1,
        .group = 1,
        .query_count = 1};
    TRY(groat_kv_tensor_map(spec, &kv, GROAT_KV_KEYS, 0, NULL, &args.keys,
                            &error));
    TRY(groat_kv_tensor_map(spec, &kv, GROAT_KV_VALUES, 0, NULL, &args.values,
                            &error));
    TRY(groat_query_tensor_map(spec, at + offsetof(struct memory, query), 1, 1,
                               &args.queries, &error));
    TRY(groat_kernel_launch(kernel, &launch, &args, sizeof(args), &error));
    TRY(groat_memory_read(g, target, &m, at, sizeof(m), &error));
    for (int key = 0; key < KEYS; key++)
        if (m.scores[key] != (float)(m.table[key / PAGE] * PAGE + key % PAGE))
            return printf("paged_scores: key %d is wrong\n", key), 1;
    printf("paged_scores: all %d scores are right\n", KEYS);
    groat_kernel_release(kernel);
    groat_spec_free(spec);
    groat_close(g); /* frees its memory, too */
    return 0;
}
