/* SPDX-License-Identifier: Apache-2.0
 *
 * commands.c - the table of commands and, per command, the table of options.
 *
 * Owns every name that a user may type after `groat`.  The parser (opt.c), help
 * and completion (cmd_help.c) and the test of the manual page all read these
 * rows; a command itself is in its cmd_*.c.
 * Invariant: a row's offset names a member of groat__values of its kind.
 * Locking: none; all tables are const.
 */
#include "cli/commands.h"
#include "cli/attention/attention.h"
#include "cli/bench/bench.h"
#include "cli/draw/draw.h"
#include "cli/family/new.h"
#include "cli/fleet/fleet.h"
#include "cli/judge/judge.h"
#include "cli/prewarm/prewarm.h"
#include "cli/run/trial.h"
#include "cli/store/store.h"

#include <string.h>

#define AT(member) offsetof(groat__values, member)

#define FLAG(option, member, meaning)                                          \
    {                                                                          \
        option, NULL, GROAT__OPTION_FLAG, AT(member), 0, 0, meaning            \
    }
#define TEXT(option, value, member, meaning)                                   \
    {                                                                          \
        option, value, GROAT__OPTION_TEXT, AT(member), 0, 0, meaning           \
    }
#define LIST(option, value, member, meaning)                                   \
    {                                                                          \
        option, value, GROAT__OPTION_LIST, AT(member), 0, 0, meaning           \
    }
#define COUNT(option, member, min, max, meaning)                               \
    {                                                                          \
        option, "N", GROAT__OPTION_COUNT, AT(member), min, max, meaning        \
    }

#define ROW_JSON       FLAG("json", json, "answer with one JSON object")
#define ROW_HELP       FLAG("help", help, "show this command's help")
#define TARGET_MEANING "who runs it: cuda:sm_90a, hip:gfx950, cpu:gfx950 ..."
#define ROW_TARGET     TEXT("target", "T", target, TARGET_MEANING)
#define ROW_TARGETS    LIST("target", "T", targets, TARGET_MEANING)
#define ROW_FAMILIES                                                           \
    TEXT("family-path", "P", family_path,                                      \
         "folders of further families, colon-separated")
#define ROW_CACHE_DIR                                                          \
    TEXT("cache-dir", "D", cache_dir, "folder of the kernel store")
#define ROW_SHARE_GROUP                                                        \
    FLAG("share-group", share_group,                                           \
         "that folder is shared by its group: members run code as each other")
#define ROW_NO_CACHE                                                           \
    FLAG("no-cache", no_cache, "keep no kernel on disk and use none")
#define ROWS_BUNDLES                                                           \
    LIST("bundle", "FILE", bundles,                                            \
         "look there, too, for kernels that the store lacks"),                 \
        ROW_TRUST,                                                             \
        FLAG("allow-unsigned", allow_unsigned,                                 \
             "use bundles whoever has made them")
#define ROW_TRUST                                                              \
    TEXT("trust", "FILE", trust, "public keys whose bundles are used")
#define ROWS_OBJECTS                                                           \
    TEXT("remote", "URL", remote,                                              \
         "where the hosts of a fleet keep each other's kernels"),              \
        TEXT("remote-key", "FILE", remote_key,                                 \
             "send there what is compiled here, signed with that secret key")
#define ROWS_REMOTE                                                            \
    ROWS_OBJECTS,                                                              \
        TEXT("leases", "URL", leases,                                          \
             "the Redis by which one host compiles what others wait for")
#define ROW_INPUT                                                              \
    LIST("input", "[NAME=]FILE", inputs,                                       \
         "raw bytes or .npy of an input buffer (the first)")
#define ROW_BUFFER LIST("buffer", "NAME=FILE", inputs, "the same as --input")
#define ROWS_FED                                                               \
    ROW_INPUT,                                                                 \
        LIST("arg", "NAME=VALUE", args,                                        \
             "a run-time argument of the family; may be repeated"),            \
        TEXT("grid", "X[,Y[,Z]]", grid, "blocks, in the place of run.def's")
#define ROW_EXPECT                                                             \
    LIST("expect", "[NAME=]FILE", expected,                                    \
         "raw bytes or .npy that an output buffer must hold")
#define ROW_OUTPUT                                                             \
    LIST("output", "[NAME=]FILE", outputs,                                     \
         "write an output buffer (the first) there, raw or as .npy")
#define ROW_JOBS                                                               \
    COUNT("jobs", jobs, 1, 256,                                                \
          "cpu targets: host threads for the blocks (the cores)")
#define ROW_POINTERS                                                           \
    FLAG("pointers", pointers,                                                 \
         "cpu targets: judge accesses through pointers, too")
#define ROW_TIMEOUT                                                            \
    COUNT("timeout", timeout_s, 1, 86400,                                      \
          "seconds that the judge, and a reference.c, may take (60)")
#define ROW_DEVICE                                                             \
    COUNT("device", device, 0, 1023, "ordinal of the GPU, from 0")
#define ROW_SEED                                                               \
    COUNT("seed", seed, 0, UINT64_MAX,                                         \
          "seed of the input and of the cpu judge's choices")
#define ROW_REPEAT                                                             \
    COUNT("repeat", repeat, 1, 1000000, "timed launches; 1 launches just once")
#define ROWS_END                                                               \
    {                                                                          \
        NULL, NULL, GROAT__OPTION_FLAG, 0, 0, 0, NULL                          \
    }

static const groat__option plain_options[] = {ROW_JSON, ROW_HELP, ROWS_END};

static const groat__option run_options[] = {
    ROW_TARGET,
    ROW_JSON,
    ROW_SEED,
    ROWS_FED,
    ROW_BUFFER,
    ROW_EXPECT,
    ROW_OUTPUT,
    ROW_TIMEOUT,
    ROW_JOBS,
    ROW_REPEAT,
    FLAG("time", time, "time by device events even with one launch"),
    FLAG("sanitize", sanitize, "cpu targets: build kernels with ASan, UBSan"),
    ROW_POINTERS,
    TEXT("report", "banks", report,
         "cpu targets: count bank conflicts by kind of access"),
    ROW_CACHE_DIR,
    ROW_SHARE_GROUP,
    ROW_NO_CACHE,
    ROWS_BUNDLES,
    ROWS_REMOTE,
    ROW_FAMILIES,
    ROW_DEVICE,
    ROW_HELP,
    ROWS_END,
};

static const groat__option judge_options[] = {
    TEXT("entry", "NAME", entry,
         "__global__ function, \"sum<256>\" (the only one)"),
    TEXT("block", "X[,Y[,Z]]", block, "threads of a block"),
    {"shared", "N", GROAT__OPTION_BYTES, AT(shared_bytes), 0, 228 << 10,
     "dynamic shared memory of a block in bytes; K allowed"},
    LIST("buffer", "NAME=SHAPE[:WORDS]", buffers,
         "elements of a pointer: x=1024, x=n,64:f32 in ramp"),
    LIST("include", "DIR", includes,
         "folder of headers that are not beside the file"),
    ROWS_FED,
    ROW_TARGET,
    ROW_JSON,
    ROW_SEED,
    ROW_EXPECT,
    ROW_OUTPUT,
    ROW_TIMEOUT,
    ROW_JOBS,
    ROW_HELP,
    ROWS_END,
};

static const groat__option draw_options[] = {
    TEXT("output", "FILE", picture,
         "write the picture there, as its name says: .svg, .png, .html; also "
         "-o FILE"),
    ROW_TARGET,
    ROW_JSON,
    ROW_SEED,
    ROWS_FED,
    ROW_BUFFER,
    ROW_EXPECT,
    ROW_POINTERS,
    ROW_TIMEOUT,
    ROW_CACHE_DIR,
    ROW_SHARE_GROUP,
    ROW_NO_CACHE,
    ROWS_BUNDLES,
    ROW_FAMILIES,
    ROW_HELP,
    ROWS_END,
};

#define ROWS_TUNED                                                             \
    TEXT("score", "EXPRESSION", score, "what becomes of each score"),          \
        LIST("arg", "NAME=VALUE", args,                                        \
             "a float that the score names; may be repeated"),                 \
        LIST("buffer", "NAME=ELEMENTS", buffers,                               \
             "an array that the score names, of random numbers"),              \
        ROW_TARGET, ROW_JSON, ROW_SEED, ROW_CACHE_DIR, ROW_SHARE_GROUP,        \
        ROW_FAMILIES, ROW_DEVICE, ROW_HELP

static const groat__option attention_options[] = {
    ROWS_TUNED,
    ROW_NO_CACHE,
    ROWS_BUNDLES,
    ROWS_END,
};

#define ROW_TUNE_TIMEOUT                                                       \
    COUNT("timeout", timeout_s, 1, 86400,                                      \
          "seconds that a choice may take at a time (60)")

static const groat__option tune_options[] = {
    ROWS_TUNED,
    ROW_TUNE_TIMEOUT,
    TEXT("output", "FILE", output, "write a manifest of what was tuned there"),
    ROWS_END,
};

static const groat__option tune_worker_options[] = {
    ROWS_TUNED,
    ROW_TUNE_TIMEOUT,
    ROWS_END,
};

static const groat__option build_options[] = {
    ROW_TARGETS,
    TEXT("output", "FILE", output, "write the binary there (one build only)"),
    ROW_JSON,
    ROW_CACHE_DIR,
    ROW_SHARE_GROUP,
    ROW_NO_CACHE,
    ROWS_BUNDLES,
    ROWS_REMOTE,
    ROW_FAMILIES,
    ROW_HELP,
    ROWS_END,
};

static const groat__option source_options[] = {
    ROW_TARGET, ROW_JSON, ROW_FAMILIES, ROW_HELP, ROWS_END,
};

static const groat__option key_options[] = {
    ROW_TARGET,
    FLAG("identity", identity, "print the text that the key is the hash of"),
    ROW_JSON,
    ROW_FAMILIES,
    ROW_HELP,
    ROWS_END,
};

static const groat__option explain_options[] = {
    ROW_TARGET,  ROW_JSON,     ROW_CACHE_DIR, ROW_SHARE_GROUP, ROWS_BUNDLES,
    ROWS_REMOTE, ROW_FAMILIES, ROW_HELP,      ROWS_END,
};

static const groat__option new_options[] = {
    TEXT("from", "TEMPLATE", from, "reduce, gemv, tile or ring (reduce)"),
    FLAG("refresh", refresh,
         "write params.h, run.h and the editors' files of FOLDER anew"),
    ROW_JSON,
    ROW_HELP,
    ROWS_END,
};

static const groat__option families_options[] = {
    ROW_JSON, ROW_TARGET, ROW_FAMILIES, ROW_HELP, ROWS_END,
};

static const groat__option completion_options[] = {
    ROW_JSON,
    ROW_FAMILIES,
    ROW_HELP,
    ROWS_END,
};

static const groat__option doctor_options[] = {
    ROW_JSON,    ROW_CACHE_DIR, ROW_SHARE_GROUP, ROW_NO_CACHE, ROW_TRUST,
    ROWS_REMOTE, ROW_FAMILIES,  ROW_DEVICE,      ROW_HELP,     ROWS_END,
};

static const groat__option fleet_options[] = {
    ROWS_OBJECTS,
    ROW_TRUST,
    ROW_TARGETS,
    COUNT("older-than", older_than, 1, 36500,
          "gc: days since an object was written"),
    FLAG("remove", remove, "check: remove unsigned and damaged objects"),
    TEXT("from", "BUNDLE", from, "push: what a bundle has, not the store"),
    ROW_JSON,
    ROW_CACHE_DIR,
    ROW_SHARE_GROUP,
    ROW_FAMILIES,
    ROW_HELP,
    ROWS_END,
};

static const groat__option cache_options[] = {
    {"max-bytes", "N", GROAT__OPTION_BYTES, AT(max_bytes), 1, UINT64_MAX,
     "bound that gc shrinks the store to; K, M, G allowed"},
    ROW_JSON,
    ROW_CACHE_DIR,
    ROW_SHARE_GROUP,
    ROWS_BUNDLES,
    TEXT("output", "FILE", output, "the bundle that export or merge makes"),
    TEXT("key", "FILE", key, "sign with that secret key"),
    LIST("target", "T", targets, "export the kernels of that target only"),
    ROW_HELP,
    ROWS_END,
};

static const groat__option prewarm_options[] = {
    LIST("target", "T", targets,
         "target of lines that name none; may be repeated"),
    LIST("only-target", "T", only_targets,
         "leave out kernels for other targets; may be repeated"),
    LIST("from-store", "FILE", from_stores,
         "kernels of another store, by the path of its groat.sqlite"),
    COUNT("min-uses", min_uses, 0, UINT64_MAX,
          "leave out kernels of --from-store that were used less"),
    COUNT("jobs", jobs, 1, 256, "processes at once (the cores); also -j N"),
    FLAG("check", check, "compile nothing; exit with 1 if any is missing"),
    TEXT("shard", "I/N", shard, "part I of N of all kernels, I from 1"),
    COUNT("timeout", timeout_s, 1, 86400, "seconds for one kernel (600)"),
    {"memory", "N", GROAT__OPTION_BYTES, AT(memory), 1 << 26, UINT64_MAX,
     "address space of a process in bytes; K, M, G allowed"},
    ROW_JSON,
    ROW_CACHE_DIR,
    ROW_SHARE_GROUP,
    ROWS_BUNDLES,
    ROWS_REMOTE,
    ROW_FAMILIES,
    ROW_HELP,
    ROWS_END,
};

static const groat__option record_options[] = {
    TEXT("output", "FILE", output, "the manifest, in the place of what it was"),
    ROW_JSON,
    ROW_HELP,
    ROWS_END,
};

static const groat__option prewarm_worker_options[] = {
    {"memory", "N", GROAT__OPTION_BYTES, AT(memory), 0, UINT64_MAX,
     "address space in bytes"},
    ROW_JSON,
    ROW_CACHE_DIR,
    ROW_SHARE_GROUP,
    ROW_TRUST,
    ROWS_REMOTE,
    ROW_FAMILIES,
    ROW_HELP,
    ROWS_END,
};

/* demo and bench use a temporary store unless --cache-dir names one. */
static const groat__option demo_options[] = {
    ROW_TARGET, ROW_JSON, ROW_CACHE_DIR, ROW_DEVICE, ROW_HELP, ROWS_END,
};

static const groat__option bench_options[] = {
    ROW_TARGET, ROW_JSON,    ROW_CACHE_DIR, ROW_SEED,   ROWS_FED, ROW_BUFFER,
    ROW_EXPECT, ROW_TIMEOUT, ROW_FAMILIES,  ROW_DEVICE, ROW_HELP, ROWS_END,
};

#define ANY GROAT__WORDS_ANY

const groat__command groat__commands[] = {
    {"run", "SPEC...", 1, ANY, false, true, run_options,
     "make kernels, launch them, and compare every byte",
     "Run-time arguments of the library's families follow as options:\n"
     "--valid-rows 33; --arg valid_rows=33 sets those of any family.\n"
     "`groat families NAME` lists them.\n",
     groat__cmd_run},
    {"draw", "SPEC", 1, 1, false, true, draw_options,
     "draw what a kernel does with memory, and its bank conflicts",
     "Runs the kernel on a cpu target (cpu:gfx950 unless told otherwise) and\n"
     "draws block 0 as an SVG: which lane copies what from where to where in\n"
     "shared memory, how reads and writes meet on its banks, and, step by "
     "step,\n"
     "all accesses and waits of its waves.\n"
     "Run-time arguments of the family follow as options, as with run.\n",
     groat__cmd_draw},
    {"judge", "FILE.cu", 1, 1, false, false, judge_options,
     "run a kernel of CUDA C++ on the CPU and report the first broken rule",
     "The file is plain CUDA C++, or a whole program: threadIdx, __shared__,\n"
     "__syncthreads(), warp shuffles, atomics, __pipeline_memcpy_async(), "
     "half,\n"
     "bfloat16, wmma, cooperative groups, and CUDA's headers for these.  Each "
     "pointer\n"
     "of the kernel needs a --buffer, each value an --arg; member n of a\n"
     "structure p that it takes by value is given as p.n.  A buffer\n"
     "of a pointer to const is filled with random numbers and is an input,\n"
     "another one is input and output; WORDS are those of run.def.\n"
     "A tensor map takes its box and swizzle, too, as in\n"
     "a=\"64,256:bf16 in box(64, 64) swizzle(128)\".\n",
     groat__cmd_judge},
    {"attention", "[SHAPE...]", 0, ANY, false, false, attention_options,
     "run decode attention, compare it, and time it beside a plain read",
     "A SHAPE is NAME=VALUE,... of: dtype, kv_dtype, kv_scale, heads,\n"
     "kv_heads, head_dim, value_dim (of values, if less), q_len, page (0:\n"
     "contiguous), layout, mask, seen, scale, cap, alibi, sink, lse, tree,\n"
     "batch_invariant, overlap (a launch starts while the one ahead ends),\n"
     "sequences, keys, batch and length (of the launch, where these are "
     "fewer),\n"
     "varied (1: sequences have fewer keys, down to none; so it is on cpu\n"
     "targets if it is not given);\n"
     "and, in the place of what is chosen, warps, stages, cluster, split,\n"
     "blocks, least.\n"
     "Exits with 1 if the output, or an LSE, differs from the library's "
     "reference\n"
     "in float64.\n",
     groat__cmd_attention},
    {"tune", "SHAPE...", 1, ANY, false, false, tune_options,
     "measure how decodes run best on this device, and record it",
     "A SHAPE is that of `groat attention`, without a choice.  Its choices of\n"
     "warps, stages, cluster, split, blocks and least are compared with the\n"
     "reference and timed in processes of their own; one that hangs or\n"
     "crashes is noted and left out.  The fastest is recorded in the store "
     "for\n"
     "this shape and device, and groat_decode_open() takes it.  --output\n"
     "writes a manifest from which `groat prewarm` puts records and kernels\n"
     "into a store.\n"
     "Servers open a shape with the most sequences and keys that may come;\n"
     "batch and length say what is measured: those of a usual step.\n",
     groat__cmd_tune},
    {"build", "SPEC...", 1, ANY, false, false, build_options,
     "compile into the store; needs no GPU",
     "--target may be repeated: each SPEC is built for each target.\n",
     groat__cmd_build},
    {"prewarm", "MANIFEST...", 0, ANY, false, false, prewarm_options,
     "fill the store with kernels that servers will want",
     "A MANIFEST (- is stdin) has one line of JSON per kernel:\n"
     "  {\"spec\": \"tile_loader_lds:dtype=fp8\", \"targets\": "
     "[\"cuda:sm_90a\"]}\n"
     "What the store or a --bundle has is not compiled again: a run that was\n"
     "stopped goes on where it ended.  With --json each kernel is told as a "
     "line of JSON "
     "on\n"
     "stderr as soon as it is made, unless that is a terminal.\n",
     groat__cmd_prewarm},
    {"record", "COMMAND...", 1, ANY, false, false, record_options,
     "run a program and write the manifest of the kernels it uses",
     "Put -- in front of a COMMAND that has options.  Each kernel of each\n"
     "target is in the manifest once; `groat prewarm` makes them elsewhere.\n"
     "A signal to end is passed on.  Exits as the program did, with 128 and\n"
     "the signal if one ended it.\n",
     groat__cmd_record},
    {"source", "SPEC", 1, 1, false, false, source_options,
     "print the source that the compiler gets", NULL, groat__cmd_source},
    {"key", "SPEC", 1, 1, false, false, key_options,
     "print the key of a kernel", NULL, groat__cmd_key},
    {"explain", "SPEC", 1, 1, false, false, explain_options,
     "say why a kernel would be compiled",
     "Names the nearest kernel of the store, and each field of the identity\n"
     "that is another.  Exits with 1 if the kernel is not there.\n",
     groat__cmd_explain},
    {"families", "[NAME]", 0, 1, false, false, families_options,
     "list kernel families, or all about one",
     "With a SPEC, or with --target, derived constants have their values.\n",
     groat__cmd_families},
    {"new", "FOLDER", 1, 1, false, false, new_options,
     "make the folder of a kernel family of your own",
     "The folder's last part is the family's name.  It holds a kernel, its\n"
     "parameters, arguments and buffers, a reference in C, and what editors\n"
     "want; `groat run FOLDER` runs it at once.\n",
     groat__cmd_new},
    {"devices", "", 0, 0, false, false, plain_options,
     "list the GPUs that can be used", NULL, groat__cmd_devices},
    {"doctor", "", 0, 0, false, false, doctor_options,
     "say which compilers and drivers were found, and why not", NULL,
     groat__cmd_doctor},
    {"cache",
     "path|stat|list|show KEYPREFIX|verify [BUNDLE]|gc|clear|"
     "backup FILE|export|"
     "import BUNDLE|merge BUNDLE...|diff BUNDLE BUNDLE|push BUNDLE URL|pull "
     "URL|"
     "sign BUNDLE|keygen FILE",
     1, GROAT__WORDS_ANY, false, false, cache_options,
     "look after the kernel store, make bundles of it",
     "  path    the database's path\n"
     "  stat    counts and sizes, also of bundles\n"
     "  list    the kernels, by last use\n"
     "  show    all about the kernels whose key starts with KEYPREFIX\n"
     "  verify  check every entry; exits with 1 if any had to be dropped, or\n"
     "          if BUNDLE is damaged or not signed by a key of --trust\n"
     "  gc      drop the least recently used, and shrink the file\n"
     "  clear   drop all\n"
     "  backup  copy the store, which may be in use, to FILE\n"
     "  export  write a bundle of what is in the store to --output\n"
     "  import  put what the store lacks into it from BUNDLE\n"
     "  merge   write what any BUNDLE has to --output\n"
     "  diff    list what differs; exits with 1 if anything does\n"
     "  push    send BUNDLE to a registry, oci://HOST/NAME[:TAG]; print its "
     "digest\n"
     "  pull    fetch it from oci://HOST/NAME@DIGEST into --output\n"
     "  sign    sign BUNDLE with the secret key of --key\n"
     "  keygen  make a secret key in FILE, and print its public key\n",
     groat__cmd_cache},
    {"fleet",
     "push [MANIFEST...]|pull [MANIFEST...]|ls|check [MANIFEST...]|"
     "gc [MANIFEST...]",
     1, GROAT__WORDS_ANY, false, false, fleet_options,
     "look after the place where hosts keep each other's kernels",
     "  push   sign and send what it lacks: the kernels of MANIFEST..., else\n"
     "         all, that the store, or the bundle of --from, has\n"
     "  pull   put what the store lacks into it: the kernels of MANIFEST...,\n"
     "         else all\n"
     "  ls     list the objects\n"
     "  check  verify the objects of MANIFEST..., else all; exits with 1 if\n"
     "         any is not good; --remove deletes those that no trusted key\n"
     "         signed, that are cut short, or that are another kernel's\n"
     "  gc     remove objects written before --older-than DAYS, but those of\n"
     "         MANIFEST... and those that this host's store has used since\n",
     groat__cmd_fleet},
    {"bench", "[hit|cold|disk|build|stream]... [SPEC...]", 0, GROAT__WORDS_ANY,
     false, false, bench_options,
     "measure what groat costs on top of the vendor's calls",
     "  hit   launch through a handle, and lookup, against the raw launch\n"
     "  cold  a first kernel against a raw compile of an empty one\n"
     "  disk  a kernel from the store against a raw module load\n"
     "  build   compile time of SPEC... against that of an empty kernel\n"
     "  stream  bandwidth of kernels (SPEC... or a list of its own) against\n"
     "          one that only reads; on a cpu target that of the judge\n",
     groat__cmd_bench},
    {"demo", "", 0, 0, false, false, demo_options,
     "make the KV loaders of real models: cold, from disk, from memory", NULL,
     groat__cmd_demo},
    {"help", "[COMMAND]", 0, 1, false, false, plain_options, "show help", NULL,
     groat__cmd_help},
    {"completion-data", "", 0, 0, true, false, completion_options,
     "print commands, options, families and targets for completion", NULL,
     groat__cmd_completion_data},
    {"prewarm-worker", "", 0, 0, true, false, prewarm_worker_options,
     "compile what prewarm asks for", NULL, groat__cmd_prewarm_worker},
    {"tune-worker", "SHAPE...", 2, ANY, true, false, tune_worker_options,
     "measure what tune asks for", NULL, groat__cmd_tune_worker},
    {"--version", "", 0, 0, true, false, plain_options, "print the version",
     NULL, groat__cmd_version},
    {"--help", "[COMMAND]", 0, 1, true, false, plain_options, "show help", NULL,
     groat__cmd_help},
    {NULL, NULL, 0, 0, false, false, NULL, NULL, NULL, NULL},
};
