/* SPDX-License-Identifier: Apache-2.0
 *
 * groat_attention.h - attention of decode steps over a KV cache, in one launch,
 * and the launch before it, which puts new keys and values into the cache.
 *
 * THE MANUAL IN SHORT
 *
 *   1. Describe the model once: groat_decode_shape.
 *   2. groat_decode_open() chooses the kernel and gets it: at start-up.
 *   3. Allocate groat_decode_workspace() bytes and set them to zeros, once.
 *   4. groat_decode_run() for each layer of each step.
 *   5. groat_decode_close().
 *
 * and likewise groat_append_open(), groat_append_run(), groat_append_close().
 *
 * For query i of q_len of a sequence of n keys, query head h, and KV head
 * h / (heads / kv_heads), over the keys t that the query sees:
 *
 *     s(t) = scale * <q, k(t)>       cap * tanh(s / cap) with GROAT_DECODE_CAP
 *            + slope(h) * (t - p)    with GROAT_DECODE_ALIBI; p = n - q_len + i
 *            passed through `score`, if there is one
 *     out  = sum e^s(t) v(t) / Z     Z = sum e^s(t)
 *                                    + e^sink(h) with GROAT_DECODE_SINK
 *     lse  = log2 Z                  with GROAT_DECODE_LSE
 *
 * A query sees the keys t <= p, so that the last one sees all; fewer with a
 * mask, those that its bits name with GROAT_DECODE_TREE, and none whose s is
 * below -1e30 * ln 2 (-6.93e29).  One that sees nothing gets zeros
 * and an lse of -infinity, unless there is a sink, which is above -6.93e29 and
 * below 2.3e38, or -infinity.  A score without an expression, too, is below
 * 2.3e38.  With keys of E4M3 queries of BF16 are read as f16: those from 65520
 * on are infinite, and those below 3e-8 are 0.
 * Keys in front of the first one that a query of the sequence sees, and bytes
 * of the cache that are no key of a sequence, are not read; entries of the page
 * table for these alone are not used.  A value that a query does not see counts
 * nothing if it is finite; a NaN or infinity that another query of the sequence
 * sees, or of a key that `score` or all bits of GROAT_DECODE_TREE hide, may
 * make the query's output a NaN, which depends on how blocks share the keys
 * out.
 *
 * CUSTOM SCORES.  shape.score is a C expression that is compiled into the
 * kernel, in which
 *
 *     score           is s(t) so far
 *     q_pos, kv_pos   are p and t, counted from the sequence's first key, with
 *                     GROAT_DECODE_TREE, too; an array can give the depths in
 *                     the tree
 *     head, batch     are h and the number of the sequence in the launch
 *     NAME            is a float, NAME[index] an element of an array of floats
 *                     of arguments.named: up to 8 floats and 4 arrays
 *
 * with + - * / % < <= > >= == != && || ! ?: and parentheses over floats and
 * ints of 32 bits, numbers, inf, and min max abs int float exp exp2 log log2
 * sqrt rsqrt sin cos tanh.  Anything else is refused; the error has its column.
 * Ints wrap around; an int divided by 0, and an element outside of the array,
 * are 0.  A key whose score is NaN is not seen; a score above 1e30 * ln 2
 * counts as that.  255 characters at most, blanks not counted: they never
 * matter, so that a--b is a - -b.  Up to 31 parentheses lie in each other,
 * fewer with signs, ! and ?: around them.
 *
 *     "kv_pos < prefix || q_pos - kv_pos < 128 ? score + bias[kv_pos] : -inf"
 *
 * Lengths and page tables are read on the device: nothing is planned on the
 * host, and a captured graph of the launch uses what they hold when it runs.
 *
 * OVERLAP.  With the flag a launch starts while the launch ahead of it on its
 * stream ends, and reads before that end: lengths, page table, and those keys
 * and values, with their scales, that come before the last q_len keys of a
 * sequence.  The caller promises that
 *
 *     the launch ahead writes none of these, also not by a page that another
 *     sequence of the batch shares;
 *     the launch ahead waits for all launches before it, before it lets this
 *     one start.  A launch that does not overlap always does; so do decodes.
 *
 * Everything else is read when the launch ahead has ended.
 *
 * THREADS.  A groat_decode may be used from any thread at any time.  Launches
 * that may run at the same time, on several streams, need a workspace each.
 */
#ifndef GROAT_ATTENTION_H
#define GROAT_ATTENTION_H

#include <groat.h>
#include <groat_tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Element types of queries and output, and of keys and values. */
typedef enum groat_decode_dtype {
    GROAT_DECODE_BF16 = 0,
    GROAT_DECODE_F16 = 1,
    GROAT_DECODE_E4M3 = 2 /* only of keys and values, in the format of OCP on *
                           * all archs (fnuz nowhere); a NaN is read as 480   */
} groat_decode_dtype;

/* What one scale of e4m3 keys or values applies to. */
typedef enum groat_decode_scale {
    GROAT_DECODE_OF_TENSOR = 0, /* all keys, all values: k_scale, v_scale     */
    GROAT_DECODE_OF_HEAD = 1,   /* k_scales, v_scales are [kv_heads]          */
    GROAT_DECODE_OF_TOKEN = 2 /* each of a head: [blocks, page, kv_heads], in *
                               * HEAD_PAGE [blocks, kv_heads, page]           */
} groat_decode_scale;

typedef enum groat_decode_mask {
    GROAT_DECODE_CAUSAL = 0, /* all keys up to the query's own                */
    GROAT_DECODE_WINDOW = 1, /* of these, the last `seen`                     */
    GROAT_DECODE_CHUNK = 2   /* of these, the query's chunk of `seen` keys   */
} groat_decode_mask;

/* groat_decode_shape.flags */
enum {
    GROAT_DECODE_CAP = 1,   /* scores pass through a soft cap                 */
    GROAT_DECODE_ALIBI = 2, /* slopes[heads]                                  */
    GROAT_DECODE_SINK = 4,  /* sinks[heads]                                   */
    GROAT_DECODE_LSE = 8,   /* lse is written                                 */
    GROAT_DECODE_TREE = 16, /* tree[sequences, q_len]: bit j of a query says  *
                             * whether it sees key n - q_len + j, also one    *
                             * after p; the mask is CAUSAL, and no ALIBI      */
    GROAT_DECODE_BATCH_INVARIANT = 32, /* the same bits for a sequence,       *
                                        * whatever else is in the batch       */
    GROAT_DECODE_OVERLAP = 64 /* see OVERLAP above; from sm_90 on             */
};

/* What is compiled for. */
typedef struct groat_decode_shape {
    size_t size;
    groat_decode_dtype dtype;    /* BF16 or F16: of queries and output        */
    groat_decode_dtype kv_dtype; /* dtype, or E4M3                            */
    groat_decode_scale kv_scale; /* of E4M3                                   */
    unsigned heads;              /* query heads; 1 to 64 for each KV head,    *
                                  * 65536 at most                             */
    unsigned kv_heads;           /* 1 to 65536                                */
    unsigned head_dim;           /* 64 to 512; multiples of 16, E4M3: of 32, *
                                  * over 256: of 64                          */
    unsigned value_dim; /* of values and output: 64 to head_dim; multiples of *
                         * 16, E4M3: of 32, and of twice that with a head_dim *
                         * over 256, or of 256 and more than 8 rows (heads /  *
                         * kv_heads * q_len); 0: head_dim                     */
    unsigned q_len;     /* queries of a sequence: 1 to 16                     */
    unsigned page; /* keys of a page, 1 to 1024; 0: not paged, a sequence     *
                    * is the block of its own number                          */
    groat_kv_layout layout;
    groat_decode_mask mask;
    unsigned seen;  /* keys of the window or chunk; CAUSAL: 0                 */
    unsigned flags; /* GROAT_DECODE_*                                         */
    float scale;    /* of scores; 0: 1 / sqrt(head_dim)                       */
    float cap;      /* of GROAT_DECODE_CAP; not 0                             */
    unsigned sequences; /* most sequences of a launch; 1 to 65535             */
    unsigned keys;      /* most keys of a sequence; 1 to 2^31 - 1.  A launch  *
                         * without clusters may have fewer in all, by its     *
                         * sequences and the keys of a row of page_table:     *
                         * groat_decode_run() says how many                   */
    const char *score;  /* an expression, see above; NULL: none.  Borrowed    *
                         * for the call                                       */
} groat_decode_shape;

#define GROAT_DECODE_SHAPE_INIT                                                \
    {                                                                          \
        sizeof(groat_decode_shape), GROAT_DECODE_BF16, GROAT_DECODE_BF16,      \
            GROAT_DECODE_OF_TENSOR, 0, 0, 0, 0, 1, 0, GROAT_KV_PAGE_HEAD,      \
            GROAT_DECODE_CAUSAL, 0, 0, 0, 0, 0, 0, NULL                        \
    }

/* How a shape is run; groat chooses fields that are 0.  `groat tune` measures
 * which choice is the fastest. */
typedef struct groat_decode_choice {
    size_t size;
    unsigned warps;   /* of a block: 1, 2, 4, 8, 2 at least where head_dim  *
                       * is above 256, or 256 with more than 8 rows (query  *
                       * heads of a KV head, times q_len); INVALID, too, if *
                       * the block's slots do not fit into shared memory    */
    unsigned stages;  /* slots of 16 or 32 keys on their way: 2 to 8        */
    unsigned cluster; /* blocks that share out the keys of each sequence   *
                       * and KV head, and add up in each other's shared    *
                       * memory: 1; from sm_90 on to 8, on sm_90(a) to 16  */
    unsigned split;   /* tiles (all warps' keys of a step) of a split's     *
                       * part; only with BATCH_INVARIANT: 1 to 4096         */
    unsigned blocks;  /* of the grid, 65535 at most: as many as the device  *
                       * holds at once, or one for each sequence and KV     *
                       * head where these are several times as many.  If it *
                       * is given and cluster is 0, there are no clusters;  *
                       * with clusters it is ignored, as each strip has one */
    unsigned least;   /* units (tiles, or parts of a split) that a block    *
                       * takes at least, to 1048576; as blocks              */
} groat_decode_choice;

#define GROAT_DECODE_CHOICE_INIT                                               \
    {                                                                          \
        sizeof(groat_decode_choice), 0, 0, 0, 0, 0, 0                          \
    }

/* The value of a name of shape.score: a float, or an array in device memory. */
typedef struct groat_decode_named {
    const char *name;
    float value;
    uint64_t array; /* [count] of f32 */
    uint32_t count;
} groat_decode_named;

/* What one launch reads and writes.  Addresses are of device memory, multiples
 * of 8 of queries and output, of 16 of caches and workspace, else of 4; fields
 * that the shape does not need are ignored. */
typedef struct groat_decode_arguments {
    size_t size;
    const groat_kv_cache *keys; /* the cache, borrowed for the call           */
    const groat_kv_cache *values; /* as keys, with a dim of value_dim; if that *
                                   * is head_dim, with the same strides.      *
                                   * NULL: the second plane of keys, if       *
                                   * value_dim is head_dim; of a cache of one *
                                   * plane the keys' first elements (MLA)     */
    unsigned layer;
    unsigned sequences;  /* of this launch; 0 launches nothing                */
    unsigned pitch;      /* entries of page_table from sequence to sequence   */
    uint64_t queries;    /* [sequences, q_len, heads, head_dim], packed       */
    uint64_t page_table; /* [sequences, pitch] of u32: blocks                 */
    uint64_t lengths;    /* [sequences] of u32: keys; clamped to the shape's  *
                          * keys, and to those of page_table                  */
    uint64_t output;     /* [sequences, q_len, heads, value_dim]              */
    uint64_t lse;        /* [sequences, q_len, heads] of f32                  */
    uint64_t sinks;      /* [heads] of f32                                    */
    uint64_t slopes;     /* [heads] of f32                                    */
    uint64_t tree;       /* [sequences, q_len] of u32                         */
    uint64_t k_scales;   /* of f32                                            */
    uint64_t v_scales;   /* OF_TOKEN: 2^-12 to 255, or 0                      */
    float k_scale; /* what keys, values of E4M3 are to be multiplied with     */
    float v_scale;
    uint64_t workspace; /* groat_decode_workspace() bytes                     */
    const groat_decode_named *named; /* [named_count], borrowed for the call:  *
                                      * all names of shape.score, maybe more  */
    unsigned named_count;
} groat_decode_arguments;

#define GROAT_DECODE_ARGUMENTS_INIT                                            \
    {                                                                          \
        sizeof(groat_decode_arguments), NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
            0, 0, 0, 0, 1, 1, 0, NULL, 0                                       \
    }

/* A chosen kernel and the state that its launches share. */
typedef struct groat_decode groat_decode;

/* Chooses the kernel of a shape for the context's device and gets it, as
 * groat_kernel_get() does.
 *
 * target  NULL: groat_default_target().  cuda of sm_80 and later, and cpu of
 *         the same archs.
 * choice  NULL: the one that was recorded for this shape and device, in the
 *         store or in a bundle; without a record all of it is chosen, from
 *         shape and device alone.  Else its fields that are 0 are chosen.
 *         Open decodes before groat_seal(): a record that comes later may
 *         choose a kernel that a sealed context refuses.
 *
 * Errors: INVALID (a field of shape or choice; a target without the
 * instructions); as of groat_kernel_get().  Free with groat_decode_close(). */
GROAT_API groat_status groat_decode_open(
    groat_context *context, const char *target, const groat_decode_shape *shape,
    const groat_decode_choice *choice, groat_decode **out, groat_error *error);

/* No launch may be using its workspace's counts any more.  NULL is allowed. */
GROAT_API void groat_decode_close(groat_decode *decode);

/* Returns the first key of a sequence of `length` keys, at most shape.keys as
 * in a launch, that one of its queries sees by shape.mask: pages in front of
 * its page can be given back, and their entries of the page table may hold
 * anything.  0 without a mask, or for NULL.
 */
GROAT_API uint32_t groat_decode_first_key(const groat_decode_shape *shape,
                                          uint32_t length);

/* Returns the bytes of device memory, at a multiple of 16, that launches work
 * in: zeros before the first launch, and not written by others. */
GROAT_API size_t groat_decode_workspace(const groat_decode *decode);

/* The complete choice.  choice->size must be set.  Errors: INVALID (choice). */
GROAT_API groat_status groat_decode_choice_get(const groat_decode *decode,
                                               groat_decode_choice *choice,
                                               groat_error *error);

/* What a decode was opened for. */
typedef struct groat_decode_info {
    size_t size;
    int tuned;                /* 1: the choice was recorded, 0: it was not  */
    unsigned multiprocessors; /* of the device                              */
    const char *device; /* as records name it: "NVIDIA H200, 132            *
                         * multiprocessors"; borrowed from the decode       */
} groat_decode_info;

/* info->size must be set.  Errors: INVALID (info). */
GROAT_API groat_status groat_decode_info_get(const groat_decode *decode,
                                             groat_decode_info *info,
                                             groat_error *error);

/* Records a measured choice in the store, in the place of an older one.
 *
 * target  NULL: groat_default_target().
 * device  as of groat_decode_info_get(); NULL: the context's.
 * choice  in full, as of groat_decode_choice_get(); split may be 0.
 *
 * Errors: INVALID (a field of shape or choice; a kernel that the family's rules
 * refuse); IO (the store); of the driver, where device is NULL. */
GROAT_API groat_status groat_decode_put_tuned(groat_context *context,
                                              const char *target,
                                              const char *device,
                                              const groat_decode_shape *shape,
                                              const groat_decode_choice *choice,
                                              groat_error *error);

/* Reads a recorded choice from the store, else from a bundle.
 *
 * target, device  as of groat_decode_put_tuned().
 * choice          choice->size must be set.  All else is 0 where no choice is
 *                 recorded, or one that this version cannot use.
 *
 * Errors: INVALID (a field of shape; choice; device); of the driver, where
 * device is NULL. */
GROAT_API groat_status groat_decode_get_tuned(groat_context *context,
                                              const char *target,
                                              const char *device,
                                              const groat_decode_shape *shape,
                                              groat_decode_choice *choice,
                                              groat_error *error);

/* Writes the spec of the kernel of a shape and a choice in full, for manifests;
 * needs no device.  Free *spec with groat_free().  Errors: INVALID (a field of
 * shape or choice; not what only the family's rules refuse, when the spec is
 * parsed), NO_MEMORY. */
GROAT_API groat_status groat_decode_choice_spec(
    const groat_decode_shape *shape, const groat_decode_choice *choice,
    char **spec, groat_error *error);

/* The kernel's spec and its handle, for tools; borrowed from the decode. */
GROAT_API const char *groat_decode_spec(const groat_decode *decode);
GROAT_API groat_kernel *groat_decode_kernel(const groat_decode *decode);

/* Enqueues one launch.
 *
 * stream  CUstream; NULL: the default stream.
 *
 * Allocates nothing and reads nothing of the device.  Errors: INVALID (a field
 * of arguments; more keys in all than the kernel counts, see keys); as of
 * groat_kernel_launch(). */
GROAT_API groat_status groat_decode_run(const groat_decode *decode,
                                        const groat_decode_arguments *arguments,
                                        void *stream, groat_error *error);

/* Computes the same on the host, in float64, by the definition above: a value
 * that a query does not see counts nothing, also a NaN.
 *
 * arguments  addresses are of host memory, also those of the caches; output,
 *            lse and workspace are ignored
 * output     [sequences, q_len, heads, value_dim]
 * lse        [sequences, q_len, heads], or NULL
 *
 * Errors: INVALID (a field of shape or arguments; a length or a page that is
 * not the cache's), NO_MEMORY. */
GROAT_API groat_status groat_decode_reference(
    const groat_decode_shape *shape, const groat_decode_arguments *arguments,
    double *output, double *lse, groat_error *error);

/* ---- new keys and values ------------------------------------------------ */

/* Whether keys are rotated by their position: element i with i + rotary / 2, as
 * GPT-NeoX and Llama do, or element 2i with 2i + 1, as GPT-J does. */
typedef enum groat_append_rope {
    GROAT_APPEND_PLAIN = 0,
    GROAT_APPEND_HALVES = 1,
    GROAT_APPEND_PAIRS = 2
} groat_append_rope;

/* What is compiled for. */
typedef struct groat_append_shape {
    size_t size;
    groat_decode_dtype dtype;    /* BF16 or F16: of new keys and values       */
    groat_decode_dtype kv_dtype; /* of the cache: dtype, or E4M3              */
    groat_decode_scale kv_scale; /* of E4M3.  Those OF_TENSOR and OF_HEAD are *
                                  * read, those OF_TOKEN computed and written */
    unsigned kv_heads;           /* 1 to 65536                                */
    unsigned head_dim;           /* 64 to 512, multiples of 16                */
    unsigned value_dim;          /* of values: 64 to head_dim, likewise; 0:   *
                                  * head_dim                                  */
    unsigned page; /* keys of a page, 1 to 1024; 0: a sequence is the block   *
                    * of its own number                                       */
    groat_kv_layout layout;
    groat_append_rope rope;
    unsigned rotary; /* elements of a key that are rotated, the first ones:   *
                      * 16 to head_dim, multiples of 16; 0: all.  HALVES of a *
                      * head_dim above 256: multiples of 32, all of them too  */
} groat_append_shape;

#define GROAT_APPEND_SHAPE_INIT                                                \
    {                                                                          \
        sizeof(groat_append_shape), GROAT_DECODE_BF16, GROAT_DECODE_BF16,      \
            GROAT_DECODE_OF_TENSOR, 0, 0, 0, 0, GROAT_KV_PAGE_HEAD,            \
            GROAT_APPEND_PLAIN, 0                                              \
    }

/* What one launch reads and writes, in device memory; fields that the shape
 * does not need are ignored.
 *
 * The new tokens of a sequence are its last keys: token t of its [first, end)
 * becomes key number length - (end - t).  Nothing is written for a token after
 * the last sequence's, for a key below 0 or beyond the sequence's row of
 * page_table (or its block), or for a block that is not in the cache. */
typedef struct groat_append_arguments {
    size_t size;
    const groat_kv_cache *keys;   /* the caches, as those of                  */
    const groat_kv_cache *values; /* groat_decode_arguments are; if NULL, keys *
                                   * has two planes, value_dim is head_dim    */
    unsigned layer;
    unsigned sequences;  /* to 65535; 0 launches nothing                      */
    unsigned tokens;     /* of all sequences, at most; times kv_heads to      *
                          * 2^31 - 1; 0 launches nothing                      */
    unsigned each;       /* tokens of each sequence, if starts is 0; not more *
                          * than `tokens`                                     */
    unsigned pitch;      /* entries of page_table from sequence to sequence   */
    uint64_t new_keys;   /* [tokens, kv_heads, head_dim], at multiples of 16  */
    uint64_t new_values; /* [tokens, kv_heads, value_dim], likewise           */
    uint64_t key_stride; /* bytes from token to token of new_keys, a multiple *
                          * of 16; 0: packed                                  */
    uint64_t value_stride;
    uint64_t page_table; /* [sequences, pitch] of u32: blocks                 */
    uint64_t lengths;    /* [sequences] of u32: keys, the new ones too        */
    uint64_t starts;     /* [sequences + 1] of u32, not descending: the first *
                          * token of each sequence, and the end; 0: each      *
                          * sequence has `each`                               */
    uint64_t positions;  /* [tokens] of u32: rows of rope; 0: a key's place   *
                          * in its sequence                                   */
    uint64_t rope; /* [rope_rows, rotary] of f32, at a multiple of 16: the    *
                    * cosines of a position, then its sines                   */
    unsigned rope_rows; /* higher positions use the last row                  */
    float k_scale; /* what keys, values of E4M3 are to be multiplied with     *
                    * when they are read; with finite reciprocals, here and   *
                    * in k_scales                                             */
    float v_scale;
    uint64_t k_scales; /* of f32, as of groat_decode_arguments                */
    uint64_t v_scales; /* OF_TOKEN: 2^-12 to 255; values beyond saturate      */
} groat_append_arguments;

#define GROAT_APPEND_ARGUMENTS_INIT                                            \
    {                                                                          \
        sizeof(groat_append_arguments), NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
            0, 0, 0, 0, 0, 0, 1, 1, 0, 0                                       \
    }

typedef struct groat_append groat_append;

/* Gets the kernel of a shape, as groat_kernel_get() does.
 *
 * target  NULL: groat_default_target().  Any.
 *
 * Errors: INVALID (a field of shape); as of groat_kernel_get().  Free with
 * groat_append_close(). */
GROAT_API groat_status groat_append_open(groat_context *context,
                                         const char *target,
                                         const groat_append_shape *shape,
                                         groat_append **out,
                                         groat_error *error);

/* NULL is allowed. */
GROAT_API void groat_append_close(groat_append *append);

/* The kernel's handle, for tools; borrowed from the append. */
GROAT_API groat_kernel *groat_append_kernel(const groat_append *append);

/* Enqueues one launch.
 *
 * stream  CUstream or hipStream_t; NULL: the default stream.
 *
 * Allocates nothing and reads nothing of the device.  Any thread.  Errors:
 * INVALID (a field of arguments); as of groat_kernel_launch(). */
GROAT_API groat_status groat_append_run(const groat_append *append,
                                        const groat_append_arguments *arguments,
                                        void *stream, groat_error *error);

/* Does the same on the host, where all addresses of arguments are, those of the
 * caches and scales too: the same bytes, but for the bits of NaNs.  Errors:
 * INVALID (a field of shape or arguments). */
GROAT_API groat_status groat_append_reference(
    const groat_append_shape *shape, const groat_append_arguments *arguments,
    groat_error *error);

#ifdef __cplusplus
}
#endif

#endif /* GROAT_ATTENTION_H */
