/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd.h - what every command of the tool shares.
 *
 * A command is a row of the table in commands.c and one function.  The row
 * alone feeds the parser, help, completion and the check of the manual page.
 * A command prints its answer to stdout, or, when values.json is set, puts it
 * into cli->json: main.c opened that object, ends it and prints it.  It
 * returns an exit code; errors go through groat__cli_fail.
 */
#ifndef GROAT_CLI_CMD_H
#define GROAT_CLI_CMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
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

/* What the options said; commands.c says which command has which. */
typedef struct groat__values {
    bool json;
    bool help;
    bool no_cache;
    bool sanitize;
    bool time;
    bool identity;
    const char *target;  /* where one is wanted; NULL: the library's default */
    groat__list targets; /* of build and cache export                        */
    groat__list inputs;
    groat__list expected;
    groat__list args;    /* of --arg */
    groat__list buffers; /* of judge and attention */
    const char *score;   /* of attention */
    const char *entry;
    const char *block;
    uint64_t shared_bytes;
    bool pointers;
    const char *grid;
    const char *from; /* of new and fleet push; the next of new */
    bool refresh;
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
    const char *key;
    bool allow_unsigned;
    bool alone; /* uses no bundle: what is measured is compiled or stored */
    uint64_t seed;
    uint64_t repeat;
    uint64_t device;
    uint64_t max_bytes;
    groat__list only_targets; /* these eight of prewarm */
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
    GROAT__OPTION_LIST,  /* groat__list: the one kind that may be repeated */
    GROAT__OPTION_COUNT, /* uint64_t in [min, max], decimal or 0x         */
    GROAT__OPTION_BYTES  /* the same, with K, M, G for powers of 1024     */
} groat__option_kind;

typedef struct groat__option {
    const char *name;  /* without "--"; NULL ends a table                 */
    const char *value; /* how help calls its value, NULL for a flag       */
    groat__option_kind kind;
    size_t offset; /* in groat__values                                */
    uint64_t min;
    uint64_t max;
    const char *meaning;
} groat__option;

typedef struct groat__cli groat__cli;

typedef struct groat__command {
    const char *name;  /* NULL ends the table                             */
    const char *words; /* "SPEC...", as help shows it; "" for none; where
                        * there is a "|" its lower-case words are literal */
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
    const groat__command *commands; /* all there are; ends with NULL      */
    const groat__command *command;
    groat__values values;
    const char *const *words; /* what is no option                         */
    size_t word_count;
    char *made[GROAT__LIST_MAX]; /* words whose folder had no name of its own */
    size_t made_count;
    uint64_t given;         /* bit i: option i of the command was said   */
    char **argv;            /* as main got them                          */
    groat_context *context; /* NULL until groat__cli_open                */
    groat_trace_fn *trace;  /* set before groat__cli_open; NULL: nobody  */
    void *trace_user;
    bool tracing;           /* only while this is set is trace told          */
    unsigned judge_seconds; /* set before groat__cli_open; 0: no bound     */
    unsigned judge_jobs;    /* likewise; 0: 1                              */
    const char *launching;  /* the kernel whose launch shows its progress  */
    groat__json json;       /* the open top object, with "format"        */
    groat__progress progress;
    groat__str *scratch; /* a folder to remove where the tool must end at   *
                          * once; NULL: none                                */
    groat_error failure; /* what groat__cli_fail reported, for JSON   */
};

/* ---- opt.c ------------------------------------------------------------- */

/* --json counts from the first byte on: a usage error is answered in it.  A --
 * that is an option's value ends no options. */
bool groat__opt_wants_json(const groat__command *commands, int argc,
                           char **argv);

/* Parses everything behind the command's name into values and words; what is
 * no list may be said once.  Returns DONE, or USAGE after it has said what is
 * wrong. */
int groat__opt_parse(groat__cli *cli, int argc, char **argv);
/* A whole number or a real one, and nothing else. */
bool groat__opt_whole(const char *text, int64_t *out);
bool groat__opt_real(const char *text, double *out);

/* How a name of a table is typed: "valid_rows" as "valid-rows". */
void groat__opt_spell(const char *name, char out[GROAT__NAME_ROOM]);

/* ---- cli.c ------------------------------------------------------------- */

/* "groat: ..." on stderr, control characters made visible. */
void groat__cli_say(groat__cli *cli, const char *format, ...)
    GROAT_PRINTF(2, 3);
/* Says error->text and its log. */
void groat__cli_say_error(groat__cli *cli, const groat_error *error);
/* The same, remembers it for the JSON answer, empties error, and returns the
 * exit code of its status. */
int groat__cli_fail(groat__cli *cli, groat_error *error);
/* Puts a status and a line into error, which may be NULL; returns status. */
groat_status groat__cli_error(groat_error *error, groat_status status,
                              const char *format, ...) GROAT_PRINTF(3, 4);
/* Says a line that is no library error, the same way; returns the exit code
 * of status. */
int groat__cli_refuse(groat__cli *cli, groat_status status, const char *format,
                      ...) GROAT_PRINTF(3, 4);
int groat__exit_of(groat_status status);
/* Puts "error": {...} into the innermost object of the JSON answer. */
void groat__cli_json_error(groat__json *json, const groat_error *error);

/* Opens cli->context as the options say, with `flags` (GROAT_OPEN_*) added.  A
 * word that names a family by its folder becomes the family's name.
 * Returns DONE or the exit code of a failure that it has told. */
int groat__cli_open(groat__cli *cli, unsigned flags);
/* Opens another store than the options say, and no bundles, as a context that
 * the caller closes.  Errors: of groat_open(). */
groat_status groat__cli_open_store(groat__cli *cli, const char *folder,
                                   groat_context **out, groat_error *error);
/* Whether a folder, of len bytes of a text, has a file that can be read. */
bool groat__file_is_in(const char *folder, size_t len, const char *name);
/* NULL when there is none. */
const groat__command *groat__command_find(const groat__command *commands,
                                          const char *name);

/* ---- action.c ---------------------------------------------------------- */

/* What a command does that has several subcommands. */
typedef struct groat__action {
    const char *name;  /* its first word; NULL ends a table                */
    const char *words; /* what it wants behind its name; NULL: nothing     */
    size_t min;        /* of these                                         */
    size_t max;
    bool store;          /* works on the store               */
    const char *options; /* that not all have, each in blanks */
    int (*run)(groat__cli *cli);
} groat__action;

/* The action that the first word names, with words and options that suit it;
 * `always` lists the options that all have.  NULL: *code is the exit code after
 * it was told what is wrong. */
const groat__action *groat__action_find(groat__cli *cli,
                                        const groat__action *actions,
                                        const char *always, int *code);

/* ---- output.c ---------------------------------------------------------- */

/* The file of --output; start from {0}. */
typedef struct groat__output {
    const char *path;
    FILE *file;  /* NULL: not open */
    bool made;   /* by open: it was not there before */
    bool stream; /* it may go on where another ended */
} groat__output;

/* Opens path for writing and leaves in it what it holds.  path must outlive
 * output.  Errors: IO. */
groat_status groat__output_open(groat__output *output, const char *path,
                                groat_error *error);
/* What this process prints to, in the place of a file.  Errors: IO. */
groat_status groat__output_stdout(groat__output *output, groat_error *error);
/* Replaces what an open file holds, and closes it.  Errors: IO. */
groat_status groat__output_write(groat__output *output, const void *data,
                                 size_t bytes, groat_error *error);
/* Closes a file that got nothing, and removes it if open made it; does nothing
 * after write. */
void groat__output_drop(groat__output *output);

/* ---- scratch.c --------------------------------------------------------- */

/* Makes a folder groat-WHAT-... of this process's own below $TMPDIR, else /tmp;
 * folder starts from {0} and is its path.  Errors: IO, NO_MEMORY. */
groat_status groat__scratch_make(const char *what, groat__str *folder,
                                 groat_error *error);
/* Removes it with all that is in it, if it was made. */
void groat__scratch_remove(groat__str *folder);

/* Opens cli->context over a store in a fresh folder below base (NULL: $TMPDIR,
 * else /tmp), or over that of --cache-dir.  folder starts from {0}.  Returns
 * DONE or the exit code of a failure that it has told; close it either way. */
int groat__scratch_open(groat__cli *cli, const char *base, groat__str *folder);
/* Closes the context and removes the folder that was made. */
void groat__scratch_close(groat__cli *cli, groat__str *folder);

/* ---- spawn.c ----------------------------------------------------------- */

/* A program to run. */
typedef struct groat__spawn {
    char *const *argv; /* argv[0] is looked for in $PATH if it has no slash   */
    size_t max;        /* bytes of what it prints that are kept              */
    unsigned seconds;  /* that it may run; 0: any number                      */
    bool with_stderr;  /* keep that, too; else it is this process's           */
} groat__spawn;

/* Runs it, waits, and gives what it printed, NUL-terminated, and its exit code
 * (128 + signal when it was killed).  error may be NULL.  Errors: IO, TIMED_OUT
 * (it was killed then).  free() *out. */
groat_status groat__spawn_run(const groat__spawn *how, char **out, int *code,
                              groat_error *error);
#endif
