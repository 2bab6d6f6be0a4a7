/* SPDX-License-Identifier: Apache-2.0
 *
 * attention.h - groat attention: decodes by groat_attention.h, run, compared
 * with the reference, and timed beside a plain read of the same bytes.
 */
#ifndef GROAT_CLI_ATTENTION_H
#define GROAT_CLI_ATTENTION_H

#include "cli/tool/cmd.h"
#include "groat_attention.h"

/* A shape as a word of the command line says it, and its lengths. */
typedef struct groat__decode_word {
    groat_decode_shape shape;
    groat_decode_choice choice;
    bool varied; /* lengths differ; else each sequence has shape.keys */
} groat__decode_word;

/* Reads "heads=64,kv_heads=8,...".  Errors: INVALID. */
groat_status groat__decode_word_parse(const char *text, bool on_cpu,
                                      groat__decode_word *out,
                                      groat_error *error);

/* Everything that a decode reads, in host memory: random numbers, a page table
 * in random order, and NaNs in what no sequence has. */
typedef struct groat__decode_input {
    groat_decode_shape shape;
    groat_kv_cache cache; /* address: of `bytes` */
    unsigned pitch;
    uint32_t *lengths, *table, *tree;
    unsigned char *bytes, *queries;
    float *facts; /* sinks, slopes, scales of keys and of values */
    size_t cache_bytes, query_bytes, output_bytes;
    size_t scale_count, fact_count; /* of f32 */
    uint64_t moved_bytes;           /* of keys and values of all sequences */
} groat__decode_input;

/* Errors: INVALID (it does not fit), NO_MEMORY.  Free it either way. */
groat_status groat__decode_input_make(groat__decode_input *in,
                                      const groat__decode_word *word,
                                      uint64_t seed, groat_error *error);
void groat__decode_input_free(groat__decode_input *in);
/* The arguments of the first `count` sequences, on the host. */
groat_decode_arguments groat__decode_input_on_host(groat__decode_input *in,
                                                   unsigned count);

/* What --arg and --buffer name for a score, in host memory. */
enum { GROAT__NAMED_MOST = 1 << 26 };

typedef struct groat__decode_names {
    groat_decode_named named[GROAT__LIST_MAX];
    unsigned count;
} groat__decode_names;

/* Errors: INVALID, NO_MEMORY.  Free them either way. */
groat_status groat__decode_names_read(const groat__values *values,
                                      groat__decode_names *out,
                                      groat_error *error);
void groat__decode_names_free(groat__decode_names *names);

/* A random number of [least, most). */
float groat__decode_draw(uint64_t *state, double least, double most);

/* The command. */
int groat__cmd_attention(groat__cli *cli);

#endif
