/* SPDX-License-Identifier: Apache-2.0
 *
 * family.h - a kernel family: its params.def, its rules and its source.
 *
 * params.def is UTF-8, read line by line; '#' starts a comment line.  A line is
 * one of (blanks separate fields, texts stand in double quotes):
 *
 *   family  NAME "summary"
 *   param   NAME int|bool|enum|code ALLOWED DEFAULT UNIT "meaning"
 *   derive  NAME = EXPRESSION ; UNIT "meaning"
 *   preset  EXPRESSION ; NAME=VALUE ...
 *   rule    EXPRESSION ; "reason" [; breaks TARGET [name=value,...]]
 *           [; follows NAME ...]
 *   launch  block_x|block_y|block_z|cluster_x|cluster_y|cluster_z|shared|args|
 *           overlap = EXPRESSION
 *   entry   NAME_{param}_...
 *
 * ALLOWED of an int is "1|2|8..64/8" (values and ranges with a step), of an
 * enum "bf16|fp8" or "bf16=2|fp8=1", of a bool "-", of code its inputs,
 * "score:float|q_pos:int".  DEFAULT is a value, or an expression in parentheses
 * over the names above it; of code one of its inputs.  Expressions see every
 * parameter and derived constant above them, the enumerators, and the fields
 * of the target's arch as arch_wave_lanes, arch_shared_bytes and so on.  A name
 * therefore has one meaning: enumerators of one name have the same value in
 * all parameters, and no constant has the name of an enumerator.
 *
 * Where the EXPRESSION of a preset is not 0, the parameters NAME, which stand
 * below it, have the VALUEs as defaults; of several presets of one parameter
 * the first that holds counts, and where none does its own default.  A VALUE
 * is written as a DEFAULT is, without blanks.
 *
 * A family may have one parameter of type code: an expression (spec/code.h)
 * that its kernel gets as the macro GROAT_CODE_NAME(in).  Its slot's value is
 * the length of its text, or 0 for the default.
 */
#ifndef GROAT_SPEC_FAMILY_H
#define GROAT_SPEC_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "groat.h"
#include "groat_tools.h"
#include "spec/arch.h"
#include "spec/expr.h"

enum {
    GROAT__SLOTS = 104, /* parameters, derived constants and arch fields */
    GROAT__RULES = 64,
    GROAT__RANGES = 16,
    GROAT__ARCH_SLOTS = 14
};

typedef struct groat__range {
    int64_t low;
    int64_t high;
    int64_t step;
    const char *name; /* of an enumerator; else NULL */
} groat__range;

/* One constant: a parameter, a derived constant, or a field of the arch. */
typedef struct groat__slot {
    const char *name;
    const char *allowed; /* as written; NULL if not a parameter */
    const char *deflt;
    const char *unit;
    const char *meaning;
    int line; /* of params.def; 0: a field of the arch */
    bool is_param;
    groat_param_type type;
    const groat__range *ranges; /* up to GROAT__RANGES */
    size_t range_count;
    groat__expr expr; /* default or definition */
    const char *lead; /* text before its value in an identity */
    size_t lead_len;
} groat__slot;

typedef struct groat__rule {
    const char *text;
    const char *reason;
    const char *proofs; /* as in params.def: "; breaks hip:gfx950 BN=7"; "" */
    int line;           /* of params.def */
    groat__expr expr;
} groat__rule;

/* Order of launch expressions. */
enum {
    GROAT__BLOCK_X,
    GROAT__BLOCK_Y,
    GROAT__BLOCK_Z,
    GROAT__CLUSTER_X,
    GROAT__CLUSTER_Y,
    GROAT__CLUSTER_Z,
    GROAT__SHARED,
    GROAT__ARGS,
    GROAT__OVERLAP,
    GROAT__LAUNCH_VALUES
};

/* Their names in params.def. */
extern const char *const groat__launch_names[GROAT__LAUNCH_VALUES];

/* A part of a family's source, for every compiler or for one backend's. */
typedef struct groat__piece {
    const char *text; /* NULL: the generated constants */
    int only;         /* a groat__backend_id; GROAT__BACKENDS: for all */
} groat__piece;

/* For each backend: the hash, in hex, of all our bytes that can reach its
 * compiler. */
typedef struct groat__closure {
    char of[GROAT__BACKENDS][33];
} groat__closure;

struct groat_family {
    const char *name;
    const char *summary;
    const char *entry;               /* template of the entry point's name */
    groat__slot slots[GROAT__SLOTS]; /* arch fields first */
    size_t slot_count;
    size_t params[GROAT__SLOTS]; /* slots that are parameters, in order */
    size_t param_count;
    size_t derived[GROAT__SLOTS]; /* slots that are derived, in order */
    size_t derived_count;
    size_t code; /* slot of the parameter of type code; 0: none */
    groat__rule rules[GROAT__RULES];
    size_t rule_count;
    groat__expr launch[GROAT__LAUNCH_VALUES];
    bool has_launch[GROAT__LAUNCH_VALUES];
    int launch_line[GROAT__LAUNCH_VALUES]; /* of params.def */
    const groat__piece *pieces;            /* of the source */
    size_t piece_count;
    groat__closure closure;
    const char *head; /* first lines of every identity, up to the closure */
    size_t head_len;
    const char *folder;  /* of a user's family; borrowed.  Else NULL */
    const char *problem; /* error of a broken family; else NULL */
    bool is_static;      /* made with the library: nothing of it is freed */
};

/* A family of the library, which was read when the library was built.  The name
 * is here, too: a list of names then touches no family. */
typedef struct groat__made_family {
    const char *name;
    const groat_family *family;
} groat__made_family;

/* Returns NULL past the end; sorted by name. */
const groat__made_family *groat__made_family_at(size_t index);

/* Returns the text of "common/swizzle.h", "<family>/params.def" ..., or NULL.
 * The text is borrowed and outlives the family's loading. */
typedef const char *groat__file_fn(void *user, const char *path);

/* Makes a family with only a name and a problem; NULL if memory runs out. */
groat_family *groat__family_broken(const char *name, const char *problem);
void groat__family_free(groat_family *family);

/* Slot of a name; GROAT__SLOTS if there is none. */
size_t groat__family_slot(const groat_family *family, const char *name,
                          size_t len);

/* Slots of the arch, in the order of their values. */
extern const char *const groat__arch_names[GROAT__ARCH_SLOTS];

/* Puts the arch's fields into values[0..GROAT__ARCH_SLOTS). */
void groat__family_arch_values(const groat__arch *arch, int64_t *values);

/* Whether the slot's parameter may have this value. */
bool groat__slot_allows(const groat__slot *slot, int64_t value);
/* The name of an enum's value, or NULL. */
const char *groat__slot_enumerator(const groat__slot *slot, int64_t value);

/* A file embedded in the library; NULL past the end. */
typedef struct groat__embedded_file {
    const char *path; /* "tile_loader_lds/params.def" */
    const char *text;
} groat__embedded_file;

const groat__embedded_file *groat__embedded_at(size_t index);
const char *groat__embedded_find(const char *path);

#endif
