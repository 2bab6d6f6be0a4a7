/* SPDX-License-Identifier: Apache-2.0
 *
 * paged_scores.c [TARGET] reads scores Q K^T of two sequences out of a paged
 * KV cache, and checks them:
 *     cc paged_scores.c $(pkg-config --cflags --libs groat)
 *     ./a.out cpu:sm_90a
 */
#include <groat.h>
#include <groat_tensor.h>
#include <kv_producer_pipeline/args.h>
#include <stdio.h>
#include <string.h>

enum { SEQUENCES = 2, PAGES = 4, PAGE = 16, HEADS = 4, DIM = 128, PITCH = 8 };
enum { CACHE, QUERIES, TABLE, LENGTHS, SCORES, BUFFERS };

static const char text[] = "kv_producer_pipeline:entry=scores,page_size=16";
static unsigned short cache[SEQUENCES * PAGES][2][PAGE][HEADS][DIM];
static unsigned short queries[SEQUENCES][HEADS][DIM];
static unsigned table[SEQUENCES][PITCH] = {{6, 0, 3, 5}, {7, 2, 4, 1}};
static unsigned lengths[SEQUENCES] = {PAGES * PAGE, 55};
static float scores[SEQUENCES][HEADS][PAGES * PAGE];

static unsigned short bf16(int whole)
{
    float x = (float)whole;
    unsigned bits;

    memcpy(&bits, &x, sizeof(bits));
    return (unsigned short)(bits >> 16);
}

/* Key k of block b is 16 b + k in its first element, query h is h + 1. */
static void fill(void)
{
    for (int i = 0; i < SEQUENCES * PAGES * PAGE * HEADS; i++)
        cache[i / HEADS / PAGE][0][i / HEADS % PAGE][i % HEADS][0] =
            bf16(i / HEADS);
    for (int i = 0; i < SEQUENCES * HEADS; i++)
        queries[i / HEADS][i % HEADS][0] = bf16(i % HEADS + 1);
}

static groat_kv_cache describe(uint64_t address)
{
    groat_kv_cache kv = GROAT_KV_CACHE_INIT;

    kv.address = address;
    kv.elem_bytes = 2;
    kv.blocks = SEQUENCES * PAGES;
    kv.planes = 2;
    kv.layers = 1;
    kv.page = PAGE;
    kv.heads = HEADS;
    kv.dim = DIM;
    return kv;
}

static unsigned count_wrong(void)
{
    unsigned wrong = 0;

    for (unsigned s = 0; s < SEQUENCES; s++)
        for (unsigned key = 0; key < lengths[s]; key++)
            for (unsigned h = 0; h < HEADS; h++)
                wrong += scores[s][h][key] !=
                         (float)((table[s][key / PAGE] * PAGE + key % PAGE) *
                                 (h + 1));
    return wrong;
}

int main(int argc, char **argv)
{
    const char *target = argc > 1 ? argv[1] : NULL;
    void *const data[] = {cache, queries, table, lengths, scores};
    const size_t bytes[] = {sizeof(cache), sizeof(queries), sizeof(table),
                            sizeof(lengths), sizeof(scores)};
    struct kv_producer_pipeline_args args = {0};
    groat_kv_cache kv;
    groat_launch launch = GROAT_LAUNCH_INIT;
    groat_error error = GROAT_ERROR_INIT;
    groat_kernel *kernel = NULL;
    groat_context *g = NULL;
    groat_spec *spec = NULL;
    uint64_t at[BUFFERS] = {0};
    int failed;

    fill();
    failed = groat_open(NULL, &g, &error) ||
             groat_spec_parse(g, text, target, &spec, &error) ||
             groat_kernel_get_spec(spec, NULL, &kernel, NULL, &error);
    for (int i = 0; i < BUFFERS && !failed; i++)
        failed =
            groat_memory_alloc(g, target, bytes[i], &at[i], &error) ||
            groat_memory_write(g, target, at[i], data[i], bytes[i], &error);
    kv = describe(at[CACHE]);
    args.page_table = at[TABLE];
    args.lengths = at[LENGTHS];
    args.output = at[SCORES];
    args.num_keys = PAGES * PAGE;
    args.pitch = PITCH;
    args.stride = 2 * PAGE; /* rows of K and V in a block */
    args.sequences = SEQUENCES;
    args.kv_heads = HEADS;
    args.group = 1;
    args.query_count = 1;
    launch.grid[1] = SEQUENCES * HEADS;
    failed =
        failed ||
        groat_kv_tensor_map(spec, &kv, GROAT_KV_KEYS, 0, NULL, &args.keys,
                            &error) ||
        groat_kv_tensor_map(spec, &kv, GROAT_KV_VALUES, 0, NULL, &args.values,
                            &error) ||
        groat_query_tensor_map(spec, at[QUERIES], SEQUENCES, HEADS,
                               &args.queries, &error) ||
        groat_kernel_launch(kernel, &launch, &args, sizeof(args), &error) ||
        groat_memory_read(g, target, scores, at[SCORES], sizeof(scores),
                          &error);
    if (failed)
        (void)fprintf(stderr, "paged_scores: %s\n", error.text);
    else
        (void)printf("paged_scores: %u of %u scores are wrong\n", count_wrong(),
                     HEADS * (lengths[0] + lengths[1]));
    groat_kernel_release(kernel);
    groat_spec_free(spec);
    groat_close(g); /* and all its memory with it */
    return failed || count_wrong() != 0;
}
