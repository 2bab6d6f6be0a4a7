/* SPDX-License-Identifier: Apache-2.0
 *
 * attention.h - groat attention: runs decodes of groat_attention.h, compares
 * them with the reference, and times them beside a plain read.
 */
#ifndef GROAT_CLI_ATTENTION_H
#define GROAT_CLI_ATTENTION_H

#include "cli/tool/cmd.h"
#include "groat_attention.h"

/* A shape parsed from the command line. */
typedef struct groat__decode_word {
    groat_decode_shape shape;
    groat_decode_choice choice;
    bool varied;     /* sequences differ in length, up to `length`        */
    unsigned batch;  /* sequences of a launch; 0: shape.sequences     */
    unsigned length; /* keys of each sequence; 0: shape.keys          */
} groat__decode_word;

/* Parses "heads=64,kv_heads=8,...".  Errors: INVALID. */
groat_status groat__decode_word_parse(const char *text, bool on_cpu,
                                      groat__decode_word *out,
                                      groat_error *error);

/* Returns the choice of a word, or NULL if it makes none. */
const groat_decode_choice *
groat__decode_word_choice(const groat__decode_word *word);

/* The inputs of a decode in host memory: random numbers, a page table in random
 * order, and NaNs in all keys and values that belong to no sequence. */
typedef struct groat__decode_input {
    groat_decode_shape shape;    /* with the sequences and keys of the launch */
    groat_kv_cache keys, values; /* addresses are of `bytes` */
    unsigned pitch;
    uint32_t *lengths, *table, *tree;
    unsigned char *bytes, *queries;
    float *facts;                  /* sinks, slopes, key scales, value scales */
    size_t key_bytes, cache_bytes; /* `bytes`: keys, then values */
    size_t query_bytes, output_bytes;
    size_t scale_count, fact_count; /* in floats */
    uint64_t moved_bytes;           /* of keys and values that are seen  */
} groat__decode_input;

/* Errors: INVALID (the cache is too large), NO_MEMORY.  Free it either way. */
groat_status groat__decode_input_make(groat__decode_input *in,
                                      const groat__decode_word *word,
                                      uint64_t seed, groat_error *error);
void groat__decode_input_free(groat__decode_input *in);
/* Returns arguments for the first `count` sequences, with host addresses. */
groat_decode_arguments groat__decode_input_on_host(groat__decode_input *in,
                                                   unsigned count);

enum { GROAT__NAMED_MOST = 1 << 26 }; /* elements of a --buffer */

/* The floats and arrays of --arg and --buffer, in host memory. */
typedef struct groat__decode_names {
    groat_decode_named named[GROAT__LIST_MAX];
    unsigned count;
} groat__decode_names;

/* Errors: INVALID, NO_MEMORY.  Free them either way. */
groat_status groat__decode_names_read(const groat__values *values,
                                      groat__decode_names *out,
                                      groat_error *error);
void groat__decode_names_free(groat__decode_names *names);

/* Returns a random number in [least, most). */
float groat__decode_draw(uint64_t *state, double least, double most);

/* ---- trial.c ----------------------------------------------------------- */

enum { GROAT__TRIAL_SETS = 64, GROAT__TRIAL_ROUNDS = 15 };

/* A decode with everything that it reads and writes.  Start from {0} and
 * groat__decode_trial_start(); clear it. */
typedef struct groat__decode_trial {
    groat__cli *cli;
    const char *target;
    groat_error *error;
    groat__decode_word word;
    groat__decode_input in;
    groat__decode_names names;  /* of the host   */
    groat_decode_named *placed; /* of the device */
    groat_decode *decode;
    groat_decode_info info;
    groat_kv_cache keys[GROAT__TRIAL_SETS], values[GROAT__TRIAL_SETS];
    size_t sets; /* caches that are used in turn */
    groat_decode_arguments arguments;
    uint64_t memory[12 + 2 * GROAT__LIST_MAX]; /* of the device, to be freed */
    size_t memories;
    double *wanted; /* the reference of the compared sequences; NULL: not yet */
    size_t wanted_count;
    size_t lse_count;  /* LSEs, which are in wanted behind the output */
    double norm;       /* ||output - reference|| / ||reference|| */
    double lse_error;  /* the largest; 0 without an LSE */
    bool lse_right;    /* as far as floats can tell */
    unsigned compared; /* sequences */
} groat__decode_trial;

/* Borrows cli and error; the target is that of the options. */
void groat__decode_trial_start(groat__decode_trial *t, groat__cli *cli,
                               groat_error *error);
bool groat__decode_trial_on_cpu(const groat__decode_trial *t);
/* Opens the decode of a SHAPE and places its memory.  Errors: of the word, of
 * groat_decode_open(), NO_MEMORY. */
groat_status groat__decode_trial_prepare(groat__decode_trial *t,
                                         const char *text);
/* Allocates device memory that the trial frees; data NULL: not written. */
groat_status groat__decode_trial_give(groat__decode_trial *t, const void *data,
                                      size_t bytes, uint64_t *address);
groat_status groat__decode_trial_give_zeros(groat__decode_trial *t,
                                            size_t bytes, uint64_t *address);
/* Enqueues a launch over the cache of that number. */
groat_status groat__decode_trial_launch(groat__decode_trial *t, size_t set);
/* Launches once and fills norm and compared. */
groat_status groat__decode_trial_compare(groat__decode_trial *t);
bool groat__decode_trial_is_right(const groat__decode_trial *t);
/* Launches of a timed round: the same number over each cache. */
size_t groat__decode_trial_calls(const groat__decode_trial *t);
/* Sorts. */
double groat__decode_trial_median(double us[GROAT__TRIAL_ROUNDS]);
void groat__decode_trial_clear(groat__decode_trial *t);

/* The commands. */
int groat__cmd_attention(groat__cli *cli);
int groat__cmd_tune(groat__cli *cli);
int groat__cmd_tune_worker(groat__cli *cli);

#endif
