/* SPDX-License-Identifier: Apache-2.0
 *
 * trial.h - one kernel got, launched, and compared byte by byte.
 */
#ifndef GROAT_CLI_TRIAL_H
#define GROAT_CLI_TRIAL_H

#include "cli/family/folder.h"
#include "cli/run/banks.h"
#include "cli/run/compare.h"
#include "cli/tool/cmd.h"
#include "kernels-src/driver/driver.h"

typedef enum groat__verdict {
    GROAT__UNKNOWN = 0, /* no driver, or it did not come to a launch */
    GROAT__RIGHT,
    GROAT__WRONG
} groat__verdict;

/* Start from {0} with spec set; groat__trial_free frees that too. */
typedef struct groat__trial {
    groat_spec *spec;
    groat_kernel *kernel;
    groat_kernel_info info;
    bool made; /* info is filled: there is a binary, loaded or not       */
    groat_origin origin;
    const groat_driver *driver; /* NULL: the family has none              */
    groat__folder *folder;      /* that made it, or NULL                  */
    groat_plan plan;
    const char *inputs[GROAT_PLAN_BUFFERS];   /* files of --input, or NULL  */
    const char *expected[GROAT_PLAN_BUFFERS]; /* of --expect, or NULL       */
    char *own_path[GROAT_PLAN_BUFFERS];       /* inputs that run.def names  */
    uint64_t address[GROAT_PLAN_BUFFERS];     /* of the last launch's buffers */
    const char *near;     /* the buffer that a finding is about; or NULL      */
    char near_place[256]; /* "y[3] of y[4]", or how far from it               */
    const groat__banks *banks; /* to be told; NULL: nobody counted        */
    groat__output output; /* of --output, open from the plan on           */
    size_t written;       /* the buffer that goes there                   */
    double get_ms;        /* the whole of groat_kernel_get                   */
    double launch_us;     /* of one launch; 0: there was none                */
    bool device_clock;    /* launch_us is by device events, not by the host  */
    groat__verdict verdict;
    groat__comparison sum;
} groat__trial;

/* Sets what a launch on a cpu target, and a family's reference, may take: the
 * seconds of --timeout, else 60; and the host threads of the former, those of
 * --jobs, else one for each processor.  Before groat__cli_open. */
void groat__trial_limit(groat__cli *cli);

/* Gets the kernel.  The device is opened first, so that get_ms has no vendor's
 * start-up in it.  Where there is no device it answers NO_DEVICE, but the
 * binary is built all the same, so that info says what there is to say. */
groat_status groat__trial_get(groat__cli *cli, groat__trial *trial,
                              groat_error *error);

/* The driver of the spec's family and the values of its run-time arguments as
 * the command line set them, planned; --input looked at and --output opened.
 * Errors: INVALID, IO. */
groat_status groat__trial_plan(groat__cli *cli, groat__trial *trial,
                               groat_error *error);

/* Fills buffer `index` on the host: from a file, by the driver, or, for what is
 * an output alone, with poison.  Errors: INVALID, IO. */
groat_status groat__trial_fill(const groat__cli *cli, const groat__trial *trial,
                               size_t index, void *data, groat_error *error);

/* Launches with the options' seed, input, output and repeat, and compares all
 * output.  Wrong bytes are no error but a verdict.  Does nothing where there
 * is no driver.  May be called again. */
groat_status groat__trial_launch(groat__cli *cli, groat__trial *trial,
                                 groat_error *error);

/* `count` objects of `bytes` each, all zeros, at the alignment of a trial,
 * which calloc does not give; NULL where there is no memory.  free() them. */
void *groat__trials_take(size_t count, size_t bytes);

double groat__trial_gb_per_s(const groat__trial *trial);
/* Puts all members into the innermost JSON object; error is the trial's, OK
 * where there was none. */
void groat__trial_json(groat__json *json, const groat__trial *trial,
                       const groat_error *error);
/* lead and what is known, in one line; nothing when nothing is known. */
void groat__facts_print(const char *lead, const groat_facts *facts);
/* "facts": {...}, -1 as null. */
void groat__facts_json(groat__json *json, const groat_facts *facts);
void groat__trial_free(groat__trial *trial);

/* Makes this process one that can load kernels built with ASan: starts the
 * tool again with the runtime in front of all other libraries.  Returns DONE
 * when it already is one, else an exit code; does not return on success. */
int groat__sanitize(groat__cli *cli);

/* The command. */
int groat__cmd_run(groat__cli *cli);

#endif
