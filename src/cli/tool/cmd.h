/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd.h - what every command of the tool shares.
 *
 * A command is a row of the table in commands.c and one function.  The row
 * alone feeds the parser, help, completion and the check of the manual page.
 * A command prints its answer to stdout, or, when values.json is set, adds it
 * to cli->json, an object that main.c opens, ends and prints.  It returns an
 * exit code; errors go through groat__cli_fail.
 */
#ifndef GROAT_CLI_CMD_H
#define GROAT_CLI_CMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "cli/tool/out.h"
#include "cli/tool/progress.h"
#include "groat.h"

/* Exit codes of the tool. */
enum {
    GROAT__EXIT_DONE = 0,
    GROAT__EXIT_FAILED = 1,
    GROAT__EXIT_USAGE = 2,
    GROAT__EXIT_NO_DEVICE = 3,
    GROAT__EXIT_COMPILE = 4
};

enum {
    GROAT__LIST_MAX = 64, /* values of an option that may be repeated */
    GROAT__FORMAT = 1,    /* "format" of every JSON answer            */
    GROAT__WORDS_ANY = 65536,
    GROAT__NAME_ROOM = 80 /* an option's name and NUL */
};

typedef struct groat__list {
    const char *item[GROAT__LIST_MAX];
    size_t count;
} groat__list;

/* One "--valid-rows 33" of the command line. */
typedef struct groat__assignment {
    const char *name; /* as in the driver's table, "valid_rows" */
    const char *text;
} groat__assignment;

/* Values of the options; commands.c lists the options of each command. */
typedef struct groat__values {
    bool json;
    bool help;
    bool no_cache;
    bool sanitize;
    bool time;
    bool identity;
    const char *target;  /* of commands with one; NULL: library's default */
    groat__list targets; /* of commands that take several                 */
    groat__list inputs;
    groat__list expected;
    groat__list outputs;  /* of run and judge */
    groat__list args;     /* of --arg */
    groat__list buffers;  /* of judge and attention */
    groat__list includes; /* of judge */
    const char *score;    /* of attention */
    const char *entry;
    const char *block;
    uint64_t shared_bytes;
    bool pointers;
    const char *grid;
    const char *from; /* of new and fleet push */
    bool refresh;     /* of new */
    const char *output;
    const char *picture;
    const char *report;
    const char *cache_dir;
    bool share_group;
    const char *family_path;
    groat__list bundles;
    const char *trust;
    const char *remote;
    const char *remote_key;
    const char *leases;
    uint64_t older_than; /* days; of fleet */
    bool remove;         /* of fleet */
    const char *key;
    bool allow_unsigned;
    bool alone; /* use no bundles: kernels come from compiler or store */
    uint64_t seed;
    uint64_t repeat;
    uint64_t device;
    uint64_t max_bytes;
    groat__list only_targets; /* from here: of prewarm, some also of run */
    groat__list from_stores;
    const char *shard;
    uint64_t min_uses;
    uint64_t jobs;
    uint64_t timeout_s;
    uint64_t memory;
    bool check;
    groat__assignment arg[GROAT__LIST_MAX]; /* run-time arguments */
    size_t arg_count;
} groat__values;

typedef enum groat__option_kind {
    GROAT__OPTION_FLAG,  /* bool                                          */
    GROAT__OPTION_TEXT,  /* const char *, not empty                       */
    GROAT__OPTION_LIST,  /* groat__list; the only kind that may be repeated */
    GROAT__OPTION_COUNT, /* uint64_t in [min, max], decimal or 0x         */
    GROAT__OPTION_BYTES  /* the same, with K, M, G for powers of 1024     */
} groat__option_kind;

typedef struct groat__option {
    const char *name;  /* without "--"; NULL ends a table                 */
    const char *value; /* its value's name in help, NULL for a flag       */
    groat__option_kind kind;
    size_t offset; /* in groat__values                                */
    uint64_t min;
    uint64_t max;
    const char *meaning;
} groat__option;

typedef struct groat__cli groat__cli;

typedef struct groat__command {
    const char *name;  /* NULL ends the table                             */
    const char *words; /* "SPEC...", as help shows it; "" for none.  With
                        * a "|" in it, lower-case words are subcommands */
    size_t min_words;
    size_t max_words;
    bool hidden;      /* not in help and completion                      */
    bool driver_args; /* takes the run-time arguments of drivers         */
    const groat__option *options;
    const char *summary;
    const char *detail; /* further lines of `groat help COMMAND`, or NULL */
    int (*run)(groat__cli *cli);
} groat__command;

struct groat__cli {
    const groat__command *commands; /* the whole table                    */
    const groat__command *command;
    groat__values values;
    const char *const *words; /* arguments that are not options            */
    size_t word_count;
    char *made[GROAT__LIST_MAX]; /* words rewritten by name_folder(); owned */
    size_t made_count;
    char *families; /* folders of families, with those of words; owned     */
    uint64_t given; /* bit i: option i of the command was given  */
    char **argv;    /* main()'s                                  */
    groat_context *context; /* NULL until groat__cli_open                */
    groat_trace_fn *trace;  /* set before groat__cli_open; NULL: none    */
    void *trace_user;
    bool tracing;           /* trace is called only while this is set        */
    unsigned judge_seconds; /* set before groat__cli_open; 0: no bound     */
    unsigned judge_jobs;    /* host threads, set likewise; 0 means 1       */
    _Atomic uint64_t begun; /* clusters of the launch on a cpu target,     */
    _Atomic uint64_t total; /* of as many                                  */
    const char *quoted; /* text with #line directives whose lines findings   *
                         * quote, or NULL; others are of the spec's source */
    groat__json json;   /* the open top object, with "format"        */
    groat__progress progress;
    groat_error failure; /* what groat__cli_fail reported, for JSON   */
};

/* ---- opt.c ------------------------------------------------------------- */

/* Returns whether --json is given, before the options are parsed, so that usage
 * errors are answered in JSON, too.  A "--" that is an option's value does not
 * end the options. */
bool groat__opt_wants_json(const groat__command *commands, int argc,
                           char **argv);

/* Parses the arguments after the command's name into values and words.  An
 * option that is no list may be given once.  Returns DONE, or USAGE after
 * reporting the error. */
int groat__opt_parse(groat__cli *cli, int argc, char **argv);
/* Parse a text that is nothing but an integer, or a finite real number. */
bool groat__opt_whole(const char *text, int64_t *out);
bool groat__opt_real(const char *text, double *out);

/* Writes a table's name as users type it: "valid_rows" as "valid-rows". */
void groat__opt_spell(const char *name, char out[GROAT__NAME_ROOM]);

/* ---- cli.c ------------------------------------------------------------- */

/* Prints "groat: ..." to stderr, with control characters escaped. */
void groat__cli_say(groat__cli *cli, const char *format, ...)
    GROAT_PRINTF(2, 3);
/* Prints error->text and its log to stderr. */
void groat__cli_say_error(groat__cli *cli, const groat_error *error);
/* Prints the log of a compiler that has warned to stderr. */
void groat__cli_say_warnings(groat__cli *cli, const groat_kernel_info *info);
/* Prints error, moves it into cli->failure for the JSON answer, and returns the
 * exit code of its status. */
int groat__cli_fail(groat__cli *cli, groat_error *error);
/* Reports an error of the tool itself as groat__cli_fail does; returns the exit
 * code of status. */
int groat__cli_refuse(groat__cli *cli, groat_status status, const char *format,
                      ...) GROAT_PRINTF(3, 4);
int groat__exit_of(groat_status status);
/* Puts "error": {...} into the innermost object of the JSON answer. */
void groat__cli_json_error(groat__json *json, const groat_error *error);

/* Opens cli->context as the options say, with `flags` (GROAT_OPEN_*) added.  A
 * word that names a family by its folder becomes the family's name.  Returns
 * DONE, or an exit code after reporting the error. */
int groat__cli_open(groat__cli *cli, unsigned flags);
/* Opens another context for the same command line, without a store or trace,
 * with `flags` (GROAT_OPEN_*) added.  The caller closes it.  Errors: of
 * groat_open(). */
groat_status groat__cli_open_beside(groat__cli *cli, unsigned flags,
                                    groat_context **out, groat_error *error);
/* Opens a context over the store in `folder`, without bundles; the caller
 * closes it.  Errors: of groat_open(). */
groat_status groat__cli_open_store(groat__cli *cli, const char *folder,
                                   groat_context **out, groat_error *error);
/* Returns whether the folder named by len bytes has a readable file `name`. */
bool groat__file_is_in(const char *folder, size_t len, const char *name);
/* Returns the command of that name, or NULL. */
const groat__command *groat__command_find(const groat__command *commands,
                                          const char *name);

/* ---- targets.c --------------------------------------------------------- */

/* Refuses an unknown target of an option's list; returns an exit code. */
int groat__cli_check_targets(groat__cli *cli, const char *option,
                             const groat__list *targets);

/* ---- action.c ---------------------------------------------------------- */

/* A subcommand, such as `stat` of groat cache. */
typedef struct groat__action {
    const char *name;  /* its first word; NULL ends a table                */
    const char *words; /* the words that follow, for messages; NULL: none  */
    size_t min;        /* number of these words                            */
    size_t max;
    bool store;          /* works on the store               */
    const char *options; /* its own, each between blanks */
    int (*run)(groat__cli *cli);
} groat__action;

/* Returns the action that the first word names, after checking the words and
 * options given against it; `always` lists the options that all actions take.
 * Returns NULL after reporting an error, with the exit code in *code. */
const groat__action *groat__action_find(groat__cli *cli,
                                        const groat__action *actions,
                                        const char *always, int *code);

/* ---- output.c ---------------------------------------------------------- */

/* The file of --output; start from {0}. */
typedef struct groat__output {
    const char *path;
    FILE *file;  /* NULL: not open */
    bool made;   /* the file did not exist before open */
    bool stream; /* stdout: append, never truncate     */
} groat__output;

/* Opens path for writing without truncating it.  path must outlive output.
 * Errors: IO. */
groat_status groat__output_open(groat__output *output, const char *path,
                                groat_error *error);
/* Opens a duplicate of stdout in place of a file.  Errors: IO. */
groat_status groat__output_stdout(groat__output *output, groat_error *error);
/* Replaces the contents of an open file, and closes it.  Errors: IO. */
groat_status groat__output_write(groat__output *output, const void *data,
                                 size_t bytes, groat_error *error);
/* Closes a file that was not written, and removes it if open created it; does
 * nothing after write. */
void groat__output_drop(groat__output *output);

/* ---- scratch.c --------------------------------------------------------- */

/* Makes a private folder groat-WHAT-XXXXXX below $TMPDIR, else /tmp, and stores
 * its path in folder, which starts from {0}.  Errors: IO, NO_MEMORY. */
groat_status groat__scratch_make(const char *what, groat__str *folder,
                                 groat_error *error);
/* Removes the folder, if it was made, with its contents. */
void groat__scratch_remove(groat__str *folder);
/* Lists a path to be removed with the folders if the process ends before its
 * work does, in the place of another one; NULL: none. */
void groat__scratch_list(const char *other, const char *path);
/* Removes those of the process, which ends: a thread that lists another one, or
 * takes one from the list, does not return any more.  SIGHUP, SIGINT, SIGPIPE,
 * SIGQUIT and SIGTERM do so, too, once a path is listed. */
void groat__scratch_remove_all(void);

/* Opens cli->context over a store in a fresh folder below base (NULL: $TMPDIR,
 * else /tmp), or over that of --cache-dir.  folder starts from {0}.  Returns
 * DONE, or an exit code after reporting the error; close it either way. */
int groat__scratch_open(groat__cli *cli, const char *base, groat__str *folder);
/* Closes the context and removes the fresh folder. */
void groat__scratch_close(groat__cli *cli, groat__str *folder);

/* ---- spawn.c ----------------------------------------------------------- */

/* A program to run. */
typedef struct groat__spawn {
    char *const *argv; /* argv[0] is searched in $PATH if it has no slash     */
    size_t max;        /* bytes of its output to keep                        */
    unsigned seconds;  /* time limit; 0: none                                 */
    bool with_stderr;  /* capture stderr, too; else it is inherited           */
} groat__spawn;

/* Runs the program to its end and returns its output, NUL-terminated, and its
 * exit code (128 + signal when killed).  error may be NULL.  Errors: IO,
 * TIMED_OUT (after killing it).  free() *out. */
groat_status groat__spawn_run(const groat__spawn *how, char **out, int *code,
                              groat_error *error);
#endif
