/* SPDX-License-Identifier: Apache-2.0
 *
 * trial.h - gets one kernel, launches it, and compares its outputs.
 */
#ifndef GROAT_CLI_TRIAL_H
#define GROAT_CLI_TRIAL_H

#include "cli/family/folder.h"
#include "cli/run/banks.h"
#include "cli/run/compare.h"
#include "cli/tool/cmd.h"
#include "kernels-src/driver/driver.h"

typedef enum groat__verdict {
    GROAT__UNKNOWN = 0, /* not launched, or nothing to compare with */
    GROAT__RIGHT,
    GROAT__WRONG
} groat__verdict;

/* Start from {0} with spec set; groat__trial_free frees that too. */
typedef struct groat__trial {
    groat_spec *spec;
    groat_kernel *kernel;
    groat_kernel_info info;
    bool made; /* info is valid: there is a binary, loaded or not        */
    groat_origin origin;
    const groat_driver *driver; /* NULL: the family has none              */
    groat__folder *folder;      /* the driver's folder of run.def, or NULL */
    bool own;                   /* the family is none of the library's    */
    groat_plan plan;
    const char *inputs[GROAT_PLAN_BUFFERS];   /* input files, or NULL       */
    const char *expected[GROAT_PLAN_BUFFERS]; /* of --expect, or NULL       */
    bool unknown[GROAT_PLAN_BUFFERS]; /* outputs: nothing says what they are */
    char *own_path[GROAT_PLAN_BUFFERS];     /* input paths of run.def     */
    char *own_expected[GROAT_PLAN_BUFFERS]; /* and those of outputs       */
    uint64_t address[GROAT_PLAN_BUFFERS];   /* of the last launch's buffers */
    const char *near;     /* name of the buffer of a finding, or NULL         */
    char near_place[256]; /* "y[3] of y[4]", or the distance from it          */
    const groat__banks *banks; /* for the bank report, or NULL            */
    groat__output outputs[GROAT_PLAN_BUFFERS]; /* of --output, open from the *
                                                * plan on                    */
    double get_ms;     /* time of groat_kernel_get                        */
    double launch_us;  /* of one launch; 0: there was none                */
    bool device_clock; /* launch_us is from device events, not the host   */
    groat__verdict verdict;
    groat__comparison sum;
    bool unjudged; /* outputs are compared with nothing                      */
    bool keeps; /* keep outputs in kept; set before the launch, as the last  */
    void *kept[GROAT_PLAN_BUFFERS]; /* those of the last launch, or NULL  */
} groat__trial;

/* Sets the time limit of a launch on a cpu target and of a family's reference:
 * --timeout, else 60 s; and the host threads of the launch: --jobs, else one
 * per processor.  Call it before groat__cli_open. */
void groat__trial_limit(groat__cli *cli);

/* Gets the kernel.  The device is opened first, so that get_ms excludes the
 * vendor's start-up.  Returns NO_DEVICE where there is no device, but still
 * builds the binary to fill info. */
groat_status groat__trial_get(groat__cli *cli, groat__trial *trial,
                              groat_error *error);

/* Finds the driver of the spec's family, plans a launch with the run-time
 * arguments of the command line, checks the input files and opens --output.
 * Errors: INVALID, IO, NO_MEMORY. */
groat_status groat__trial_plan(groat__cli *cli, groat__trial *trial,
                               groat_error *error);

/* Fills buffer `index` on the host: from a file, by the driver, or, if it is
 * only an output, with poison.  Errors: INVALID, IO. */
groat_status groat__trial_fill(const groat__cli *cli, const groat__trial *trial,
                               size_t index, void *data, groat_error *error);

/* Launches with the options' seed, input, output and repeat, and compares all
 * outputs.  Wrong bytes are a verdict, not an error.  Does nothing without a
 * driver.  May be called again. */
groat_status groat__trial_launch(groat__cli *cli, groat__trial *trial,
                                 groat_error *error);

/* groat_kernel_time(), under a watch on cpu targets. */
groat_status groat__trial_time(groat__cli *cli, groat__trial *trial,
                               const groat_launch *how, unsigned repeats,
                               double *us, groat_error *error);

/* Allocates `count` objects of `bytes` each, zeroed, with the alignment of a
 * trial, which calloc() does not guarantee; NULL on failure.  free() them. */
void *groat__trials_take(size_t count, size_t bytes);

double groat__trial_gb_per_s(const groat__trial *trial);
/* Adds all members to the innermost JSON object; error is the trial's, with
 * status OK if there was none. */
void groat__trial_json(groat__json *json, const groat__trial *trial,
                       const groat_error *error);
/* Prints lead and the known facts in one line; nothing if none is known. */
void groat__facts_print(const char *lead, const groat_facts *facts);
/* Writes "facts": {...}, with -1 as null. */
void groat__facts_json(groat__json *json, const groat_facts *facts);
void groat__trial_free(groat__trial *trial);

/* Restarts the tool with ASan's runtime in front of all other libraries, so
 * that it can load kernels built with ASan, and does not return.  Returns DONE
 * in the restarted tool, or an exit code on failure. */
int groat__sanitize(groat__cli *cli);

/* The command. */
int groat__cmd_run(groat__cli *cli);

#endif
