/* SPDX-License-Identifier: Apache-2.0
 *
 * bench_attention.c
 * [SEQUENCES,HEADS,KV_HEADS,KEYS[,PAGE[,HEAD_DIM[/VALUE_DIM][,e4m3]]]]...:
 * prints the time of a decode on the CUDA device beside a plain read of the
 * same bytes, as lines of JSON that attention_plot.py draws.  Without
 * arguments, of the shapes in NOTES.md.  A captured graph of launches is
 * replayed, as engines do; each launch reads another copy of the cache, so that
 * none finds its keys in L2; page tables are random.  The sides take turns;
 * medians.  The read is the best of several shapes of plain_read.  Whether
 * results are right is shown by `groat attention`; here overlapping launches
 * must agree with the others.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "groat_attention.h"
#include "tests/bench/bench.h"

enum {
    ROUNDS = 21,
    LAUNCHES_LEAST = 40, /* of a graph, if that is no more than ... */
    SETS_MOST = 80
};

#define COLD_BYTES  2.6e8 /* of all copies of the cache; L2 has 50 to 60 MB */
#define GRAPH_BYTES 4e9   /* ... that a graph reads */

typedef struct driver {
    int (*init)(unsigned flags);
    int (*retain)(void **context, int device);
    int (*set)(void *context);
    int (*count)(int *count, int attribute, int device);
    int (*make_stream)(void **stream, unsigned flags);
    int (*begin)(void *stream, int mode);
    int (*end)(void *stream, void **graph);
    int (*instantiate)(void **exec, void *graph, unsigned long long flags);
    int (*replay)(void *exec, void *stream);
    int (*drop_exec)(void *exec);
    int (*drop_graph)(void *graph);
    int (*wait)(void *stream);
    int (*make_event)(void **event, unsigned flags);
    int (*mark)(void *event, void *stream);
    int (*elapsed)(float *ms, void *start, void *end);
} driver;

typedef struct problem {
    groat_decode_shape shape;
    unsigned pages;   /* of a sequence */
    size_t key_bytes; /* of the cache; values lie behind them */
    size_t cache_bytes;
    size_t query_bytes;
    size_t output_bytes;
    unsigned sets; /* copies of the cache */
} problem;

typedef struct bench {
    driver cu;
    groat_context *context;
    void *stream;
    void *events[2];
    unsigned multiprocessors;
    problem p;
    uint64_t caches[SETS_MOST];
    uint64_t page_table, lengths, queries, sink;
} bench;

/* Launches of one kind that are replayed together. */
typedef struct side {
    groat_decode *decode;
    groat_decode_choice choice;
    uint64_t workspace, output;
    void *exec, *graph;
    unsigned launches;
    double us[ROUNDS];
} side;

typedef groat_status launch_fn(bench *b, const void *user, unsigned set,
                               groat_error *error);

static uint64_t device_alloc(bench *b, size_t bytes)
{
    groat_error error = GROAT_ERROR_INIT;
    uint64_t address;

    if (groat_memory_alloc(b->context, NULL, bytes, &address, &error) !=
        GROAT_OK)
        die(error.text);
    return address;
}

static void device_write(bench *b, uint64_t to, const void *from, size_t bytes)
{
    groat_error error = GROAT_ERROR_INIT;

    if (groat_memory_write(b->context, NULL, to, from, bytes, &error) !=
        GROAT_OK)
        die(error.text);
}

/* ---- a problem on the device ----------------------------------------------
 */

static uint64_t seed = 88172645463325252u;

static unsigned random_number(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)(seed >> 20);
}

/* Numbers of +-0.5 to 2, which are some of either dtype. */
static uint16_t *random_numbers(size_t bytes)
{
    uint16_t *numbers = malloc(bytes);

    if (numbers == NULL)
        die("memory");
    for (size_t i = 0; i < bytes / 2; i++)
        numbers[i] = (uint16_t)((random_number() & 0x807f) | 0x3f00);
    return numbers;
}

static void make_cache(bench *b)
{
    enum { PIECE = 16 << 20 };
    uint16_t *numbers = random_numbers(PIECE);

    for (unsigned s = 0; s < b->p.sets; s++) {
        b->caches[s] = device_alloc(b, b->p.cache_bytes);
        for (size_t at = 0; at < b->p.cache_bytes; at += PIECE)
            device_write(b, b->caches[s] + at, numbers,
                         b->p.cache_bytes - at < PIECE ? b->p.cache_bytes - at
                                                       : PIECE);
    }
    free(numbers);
}

static void make_table(bench *b)
{
    const unsigned sequences = b->p.shape.sequences;
    unsigned all = b->p.pages * sequences;
    uint32_t *table = malloc(4 * (size_t)all);
    uint32_t *lengths = malloc(4 * (size_t)sequences);

    if (table == NULL || lengths == NULL)
        die("memory");
    for (unsigned i = 0; i < all; i++) {
        unsigned at = random_number() % (i + 1);

        table[i] = table[at];
        table[at] = i;
    }
    for (unsigned i = 0; i < sequences; i++)
        lengths[i] = b->p.shape.keys;
    b->page_table = device_alloc(b, 4 * (size_t)all);
    device_write(b, b->page_table, table, 4 * (size_t)all);
    b->lengths = device_alloc(b, 4 * (size_t)sequences);
    device_write(b, b->lengths, lengths, 4 * (size_t)sequences);
    free(table);
    free(lengths);
}

static void make_problem(bench *b)
{
    uint16_t *numbers = random_numbers(b->p.query_bytes);

    make_cache(b);
    make_table(b);
    b->queries = device_alloc(b, b->p.query_bytes);
    device_write(b, b->queries, numbers, b->p.query_bytes);
    free(numbers);
}

static void drop_problem(bench *b)
{
    for (unsigned s = 0; s < b->p.sets; s++)
        groat_memory_free(b->context, NULL, b->caches[s]);
    groat_memory_free(b->context, NULL, b->page_table);
    groat_memory_free(b->context, NULL, b->lengths);
    groat_memory_free(b->context, NULL, b->queries);
}

/* ---- sides ----------------------------------------------------------------
 */

static void capture(bench *b, side *s, launch_fn *launch, const void *user)
{
    groat_error error = GROAT_ERROR_INIT;
    const unsigned sets = b->p.sets;

    s->launches = sets;
    while (s->launches < LAUNCHES_LEAST &&
           (double)s->launches * (double)b->p.cache_bytes < GRAPH_BYTES)
        s->launches += sets;
    check_call(b->cu.begin(b->stream, 2), "cuStreamBeginCapture");
    for (unsigned i = 0; i < s->launches; i++)
        if (launch(b, user, i % sets, &error) != GROAT_OK)
            die(error.text);
    check_call(b->cu.end(b->stream, &s->graph), "cuStreamEndCapture");
    check_call(b->cu.instantiate(&s->exec, s->graph, 0), "cuGraphInstantiate");
    check_call(b->cu.replay(s->exec, b->stream), "cuGraphLaunch");
    check_call(b->cu.wait(b->stream), "cuStreamSynchronize");
}

static void drop_graph(const bench *b, side *s)
{
    check_call(b->cu.drop_exec(s->exec), "cuGraphExecDestroy");
    check_call(b->cu.drop_graph(s->graph), "cuGraphDestroy");
}

/* Returns the microseconds of a launch. */
static double replay(const bench *b, const side *s)
{
    float ms = 0;

    check_call(b->cu.mark(b->events[0], b->stream), "cuEventRecord");
    check_call(b->cu.replay(s->exec, b->stream), "cuGraphLaunch");
    check_call(b->cu.mark(b->events[1], b->stream), "cuEventRecord");
    check_call(b->cu.wait(b->stream), "cuStreamSynchronize");
    check_call(b->cu.elapsed(&ms, b->events[0], b->events[1]),
               "cuEventElapsedTime");
    return (double)ms * 1e3 / s->launches;
}

static groat_status launch_decode(bench *b, const void *user, unsigned set,
                                  groat_error *error)
{
    const groat_decode_shape *shape = &b->p.shape;
    const side *s = user;
    groat_kv_cache cache = GROAT_KV_CACHE_INIT;
    groat_kv_cache values;
    groat_decode_arguments arguments = GROAT_DECODE_ARGUMENTS_INIT;

    cache.address = b->caches[set];
    cache.elem_bytes = shape->kv_dtype == GROAT_DECODE_E4M3 ? 1 : 2;
    cache.blocks = b->p.pages * shape->sequences;
    cache.planes = 2;
    cache.layers = 1;
    cache.page = shape->page;
    cache.heads = shape->kv_heads;
    cache.dim = shape->head_dim;
    if (shape->value_dim != shape->head_dim)
        cache.planes = 1;
    values = cache;
    values.address += b->p.key_bytes;
    values.dim = shape->value_dim;
    arguments.keys = &cache;
    arguments.values = cache.planes == 1 ? &values : NULL;
    arguments.sequences = shape->sequences;
    arguments.pitch = b->p.pages;
    arguments.queries = b->queries;
    arguments.page_table = b->page_table;
    arguments.lengths = b->lengths;
    arguments.output = s->output;
    arguments.workspace = s->workspace;
    return groat_decode_run(s->decode, &arguments, b->stream, error);
}

static void open_decode(bench *b, unsigned flags, side *s)
{
    groat_decode_shape shape = b->p.shape;
    groat_error error = GROAT_ERROR_INIT;
    size_t bytes;

    shape.flags = flags;
    s->choice = (groat_decode_choice)GROAT_DECODE_CHOICE_INIT;
    if (groat_decode_open(b->context, NULL, &shape, NULL, &s->decode, &error) !=
            GROAT_OK ||
        groat_decode_choice_get(s->decode, &s->choice, &error) != GROAT_OK)
        die(error.text);
    bytes = groat_decode_workspace(s->decode);
    s->workspace = device_alloc(b, bytes);
    device_write(b, s->workspace, NULL, bytes);
    s->output = device_alloc(b, b->p.output_bytes);
    capture(b, s, launch_decode, s);
}

static void drop_decode(bench *b, side *s)
{
    drop_graph(b, s);
    groat_decode_close(s->decode);
    groat_memory_free(b->context, NULL, s->workspace);
    groat_memory_free(b->context, NULL, s->output);
}

static float bf16(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;

    memcpy(&value, &wide, sizeof(value));
    return value;
}

/* Both read the same copy last. */
static void check_outputs(bench *b, const side *one, const side *two)
{
    groat_error error = GROAT_ERROR_INIT;
    uint16_t *first = malloc(b->p.output_bytes);
    uint16_t *second = malloc(b->p.output_bytes);
    double off = 0;
    double all = 0;

    if (first == NULL || second == NULL ||
        groat_memory_read(b->context, NULL, first, one->output,
                          b->p.output_bytes, &error) != GROAT_OK ||
        groat_memory_read(b->context, NULL, second, two->output,
                          b->p.output_bytes, &error) != GROAT_OK)
        die(error.text);
    for (size_t i = 0; i < b->p.output_bytes / 2; i++) {
        double a = (double)bf16(first[i]);
        double d = a - (double)bf16(second[i]);

        all += a * a;
        off += d * d;
    }
    if (!(all > 0 && sqrt(off / all) < 5e-3))
        die("overlapping launches have another result");
    free(first);
    free(second);
}

/* ---- the plain read -------------------------------------------------------
 */

/* Arguments of plain_read, and its kernel. */
typedef struct reader {
    groat_kernel *kernel;
    struct {
        uint64_t source, output;
        uint32_t steps, blocks;
    } args;
} reader;

static groat_status launch_read(bench *b, const void *user, unsigned set,
                                groat_error *error)
{
    reader r = *(const reader *)user;
    groat_launch launch = GROAT_LAUNCH_INIT;

    r.args.source = b->caches[set];
    launch.grid[0] = r.args.blocks;
    launch.stream = b->stream;
    return groat_kernel_launch(r.kernel, &launch, &r.args, sizeof(r.args),
                               error);
}

/* Returns the microseconds of the best shape; what is no whole step is added in
 * proportion. */
static double time_reads(bench *b)
{
    static const unsigned shapes[][2] = {{8, 4}, {8, 8},  {16, 4}, {4, 8},
                                         {4, 4}, {4, 16}, {8, 2}};
    groat_error error = GROAT_ERROR_INIT;
    double best = INFINITY;

    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        size_t step = (size_t)64 * shapes[i][0] * 16 * shapes[i][1];
        reader r = {.args = {.output = b->sink}};
        char spec[80];

        (void)snprintf(spec, sizeof(spec), "plain_read:num_warps=%u,unroll=%u",
                       shapes[i][0], shapes[i][1]);
        if (groat_kernel_get(b->context, spec, NULL, &r.kernel, NULL, &error) !=
            GROAT_OK)
            die(error.text);
        r.args.steps = (uint32_t)(b->p.cache_bytes / step);
        for (unsigned waves = 1; r.args.steps > 0 && waves <= 4; waves *= 2) {
            double us[9];
            side s = {0};

            r.args.blocks = b->multiprocessors * waves;
            capture(b, &s, launch_read, &r);
            for (size_t k = 0; k < sizeof(us) / sizeof(us[0]); k++)
                us[k] = replay(b, &s) * (double)b->p.cache_bytes /
                        ((double)r.args.steps * (double)step);
            drop_graph(b, &s);
            best = fmin(best, median(us, sizeof(us) / sizeof(us[0])));
        }
        groat_kernel_release(r.kernel);
    }
    return best;
}

/* ---- the program ----------------------------------------------------------
 */

static void print_side(const bench *b, const char *who, side *s, double read)
{
    const groat_decode_shape *shape = &b->p.shape;
    double us = median(s->us, ROUNDS);

    printf("{\"sequences\": %u, \"heads\": %u, \"kv_heads\": %u, \"keys\": %u, "
           "\"page\": %u, \"head_dim\": %u, \"value_dim\": %u, \"kv\": \"%s\", "
           "\"who\": \"%s\", \"us\": %.2f, \"least\": %.2f, \"most\": %.2f, "
           "\"read_us\": %.2f, "
           "\"warps\": %u, \"stages\": %u, \"cluster\": %u, \"blocks\": %u}\n",
           shape->sequences, shape->heads, shape->kv_heads, shape->keys,
           shape->page, shape->head_dim, shape->value_dim,
           shape->kv_dtype == GROAT_DECODE_E4M3 ? "e4m3" : "bf16", who, us,
           s->us[0], s->us[ROUNDS - 1], read, s->choice.warps, s->choice.stages,
           s->choice.cluster, s->choice.blocks);
    (void)fflush(stdout);
}

static void run_problem(bench *b)
{
    side plain = {0};
    side overlap = {0};
    double read;

    make_problem(b);
    open_decode(b, 0, &plain);
    open_decode(b, GROAT_DECODE_OVERLAP, &overlap);
    check_outputs(b, &plain, &overlap);
    read = time_reads(b);
    for (int i = 0; i < ROUNDS; i++) {
        plain.us[i] = replay(b, &plain);
        overlap.us[i] = replay(b, &overlap);
    }
    print_side(b, "groat", &plain, read);
    print_side(b, "groat, overlap", &overlap, read);
    drop_decode(b, &plain);
    drop_decode(b, &overlap);
    drop_problem(b);
}

static problem read_problem(const char *text)
{
    problem p = {.shape = GROAT_DECODE_SHAPE_INIT};
    groat_decode_shape *shape = &p.shape;
    size_t vectors;
    size_t elem_bytes = 2;
    char dims[16] = "128";
    char kv[8] = "";
    double sets;
    int found;

    shape->page = 16;
    shape->q_len = 1;
    found = sscanf(text, "%u,%u,%u,%u,%u,%15[0-9/],%7s", &shape->sequences,
                   &shape->heads, &shape->kv_heads, &shape->keys, &shape->page,
                   dims, kv);
    if (sscanf(dims, "%u/%u", &shape->head_dim, &shape->value_dim) == 1)
        shape->value_dim = shape->head_dim;
    if (found < 4 || shape->page == 0 || shape->sequences == 0 ||
        (found == 7 && strcmp(kv, "e4m3") != 0))
        die("a shape is "
            "SEQUENCES,HEADS,KV_HEADS,KEYS[,PAGE[,DIM[/DIM][,e4m3]]]");
    if (found == 7) {
        shape->kv_dtype = GROAT_DECODE_E4M3;
        elem_bytes = 1;
    }
    p.pages = (shape->keys + shape->page - 1) / shape->page;
    vectors =
        (size_t)p.pages * shape->sequences * shape->page * shape->kv_heads;
    p.key_bytes = vectors * shape->head_dim * elem_bytes;
    p.cache_bytes = p.key_bytes + vectors * shape->value_dim * elem_bytes;
    p.query_bytes =
        (size_t)shape->sequences * shape->heads * shape->head_dim * 2;
    p.output_bytes =
        (size_t)shape->sequences * shape->heads * shape->value_dim * 2;
    if (p.cache_bytes == 0)
        die("a shape has no keys");
    sets = COLD_BYTES / (double)p.cache_bytes + 1;
    p.sets = sets > SETS_MOST ? SETS_MOST : sets < 2 ? 2 : (unsigned)sets;
    return p;
}

static bool open_bench(bench *b)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    driver *cu = &b->cu;
    void *context;
    int count = 0;

    if (library == NULL)
        return false;
    take(library, "cuInit", &cu->init);
    take(library, "cuDevicePrimaryCtxRetain", &cu->retain);
    take(library, "cuCtxSetCurrent", &cu->set);
    take(library, "cuDeviceGetAttribute", &cu->count);
    take(library, "cuStreamCreate", &cu->make_stream);
    take(library, "cuStreamBeginCapture_v2", &cu->begin);
    take(library, "cuStreamEndCapture", &cu->end);
    take(library, "cuGraphInstantiateWithFlags", &cu->instantiate);
    take(library, "cuGraphLaunch", &cu->replay);
    take(library, "cuGraphExecDestroy", &cu->drop_exec);
    take(library, "cuGraphDestroy", &cu->drop_graph);
    take(library, "cuStreamSynchronize", &cu->wait);
    take(library, "cuEventCreate", &cu->make_event);
    take(library, "cuEventRecord", &cu->mark);
    take(library, "cuEventElapsedTime", &cu->elapsed);
    if (cu->init(0) != 0)
        return false;
    check_call(cu->retain(&context, 0), "cuDevicePrimaryCtxRetain");
    check_call(cu->set(context), "cuCtxSetCurrent");
    check_call(cu->count(&count, 16, 0), "cuDeviceGetAttribute");
    check_call(cu->make_stream(&b->stream, 1), "cuStreamCreate");
    check_call(cu->make_event(&b->events[0], 0), "cuEventCreate");
    check_call(cu->make_event(&b->events[1], 0), "cuEventCreate");
    b->multiprocessors = (unsigned)count;
    return true;
}

int main(int argc, char **argv)
{
    static char *const usual[] = {
        "64,64,8,4096",  "128,64,8,8192", "16,64,8,8192", "64,64,8,1024",
        "16,32,32,4096", "1,64,8,32768",  "8,64,8,4096",  "1,64,8,8192",
        "1,32,4,4096",   "1,32,8,1024"};
    char *const *shapes = argc > 1 ? argv + 1 : usual;
    int count = argc > 1 ? argc - 1 : (int)(sizeof(usual) / sizeof(*usual));
    groat_error error = GROAT_ERROR_INIT;
    bench b = {0};

    if (!open_bench(&b)) {
        printf("{\"format\": 1, \"skipped\": \"no CUDA device\"}\n");
        return 0;
    }
    if (groat_open(NULL, &b.context, &error) != GROAT_OK)
        die(error.text);
    b.sink = device_alloc(&b, (size_t)16 * 1024 * 4 * b.multiprocessors);
    for (int i = 0; i < count; i++) {
        b.p = read_problem(shapes[i]);
        run_problem(&b);
    }
    groat_memory_free(b.context, NULL, b.sink);
    groat_close(b.context);
    return 0;
}
