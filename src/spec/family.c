/* SPDX-License-Identifier: Apache-2.0
 *
 * family.c holds a family's params.def in memory: parameters with their allowed
 * values, derived constants, rules and launch shape.  params_def.c reads it,
 * load.c adds the sources, param.c checks specs against it.
 * Invariant: a loaded family is complete and read-only, so it needs no lock.
 */
#include "spec/family.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/str.h"
#include "base/process.h"

const char *const groat__launch_names[GROAT__LAUNCH_VALUES] = {
    "block_x",   "block_y", "block_z", "cluster_x", "cluster_y",
    "cluster_z", "shared",  "args",    "overlap"};

/* In the order of groat__family_arch_values. */
const char *const groat__arch_names[GROAT__ARCH_SLOTS] = {
    "arch_wave_lanes",      "arch_shared_bytes",
    "arch_shared_banks",    "arch_lds_dma_bytes",
    "arch_cp_async",        "arch_tma",
    "arch_max_cluster",     "arch_tr_read",
    "arch_is_amd",          "arch_mfma_16bit_bytes",
    "arch_mfma_8bit_bytes", "arch_fp8_fnuz",
    "arch_wgmma",           "arch_cta_group",
};

void groat__family_arch_values(const groat__arch *arch, int64_t *values)
{
    values[0] = arch->wave_lanes;
    values[1] = arch->shared_bytes;
    values[2] = arch->shared_banks;
    values[3] = arch->lds_dma_bytes;
    values[4] = arch->cp_async;
    values[5] = arch->tma;
    values[6] = arch->max_cluster;
    values[7] = arch->tr_read;
    values[8] = arch->vendor == GROAT__HIP;
    values[9] = arch->mfma_16bit_bytes;
    values[10] = arch->mfma_8bit_bytes;
    values[11] = arch->fp8_fnuz;
    values[12] = arch->wgmma;
    values[13] = arch->cta_group;
}

size_t groat__family_slot(const groat_family *family, const char *name,
                          size_t len)
{
    for (size_t i = 0; i < family->slot_count; i++)
        if (groat__is_text(name, len, family->slots[i].name))
            return i;
    return GROAT__SLOTS;
}

bool groat__slot_allows(const groat__slot *slot, int64_t value)
{
    for (size_t i = 0; i < slot->range_count; i++) {
        const groat__range *range = &slot->ranges[i];

        if (value >= range->low && value <= range->high &&
            (value - range->low) % range->step == 0)
            return true;
    }
    return false;
}

const char *groat__slot_enumerator(const groat__slot *slot, int64_t value)
{
    for (size_t i = 0; i < slot->range_count; i++)
        if (slot->ranges[i].name != NULL && slot->ranges[i].low == value)
            return slot->ranges[i].name;
    return NULL;
}

groat_family *groat__family_broken(const char *name, const char *problem)
{
    groat_family *family = calloc(1, sizeof(*family));

    if (family == NULL)
        return NULL;
    family->name = strdup(name);
    family->summary = strdup("");
    family->problem = strdup(problem);
    if (family->name == NULL || family->summary == NULL ||
        family->problem == NULL) {
        groat__family_free(family);
        return NULL;
    }
    return family;
}

static void release(const void *owned)
{
    free((void *)(uintptr_t)owned);
}

static void free_slot(groat__slot *slot)
{
    release(slot->name);
    release(slot->allowed);
    release(slot->deflt);
    release(slot->unit);
    release(slot->meaning);
    release(slot->lead);
    for (size_t i = 0; i < slot->range_count; i++)
        release(slot->ranges[i].name);
    release(slot->ranges);
    groat__expr_free(&slot->expr);
}

void groat__family_free(groat_family *family)
{
    if (family == NULL || family->is_static)
        return;
    for (size_t i = 0; i < family->slot_count; i++)
        free_slot(&family->slots[i]);
    for (size_t i = 0; i < family->rule_count; i++) {
        release(family->rules[i].text);
        release(family->rules[i].reason);
        release(family->rules[i].proofs);
        groat__expr_free(&family->rules[i].expr);
    }
    for (size_t i = 0; i < GROAT__LAUNCH_VALUES; i++)
        groat__expr_free(&family->launch[i]);
    release(family->name);
    release(family->summary);
    release(family->entry);
    release(family->head);
    for (size_t i = 0; i < family->piece_count; i++)
        release(family->pieces[i].text);
    release(family->pieces);
    release(family->problem);
    free(family);
}

const char *groat_family_name(const groat_family *family)
{
    return family != NULL ? family->name : NULL;
}

const char *groat_family_summary(const groat_family *family)
{
    return family != NULL ? family->summary : NULL;
}

const char *groat_family_problem(const groat_family *family)
{
    return family != NULL ? family->problem : NULL;
}

size_t groat_family_param_count(const groat_family *family)
{
    return family != NULL ? family->param_count : 0;
}

static void tell_slot(const groat__slot *slot, groat_param_info *info)
{
    info->name = slot->name;
    info->type = slot->type;
    info->allowed = slot->type == GROAT_PARAM_BOOL ? "0|1" : slot->allowed;
    info->deflt = slot->deflt;
    info->unit = slot->unit;
    info->meaning = slot->meaning;
}

/* Tells of one of a family's slots, numbered by `of`. */
static groat_status tell_one(const groat_family *family, size_t index,
                             size_t count, const size_t *of, const char *what,
                             groat_param_info *info, groat_error *error)
{
    groat_status status = groat__check_size(error, "info", "groat_param_info",
                                            info, sizeof(*info));

    if (status != GROAT_OK)
        return status;
    if (index >= count)
        return groat__fail(error, GROAT_INVALID,
                           "%s has no %s %zu; it has %zu, from 0", family->name,
                           what, index, count);
    tell_slot(&family->slots[of[index]], info);
    return GROAT_OK;
}

groat_status groat_family_param(const groat_family *family, size_t index,
                                groat_param_info *info, groat_error *error)
{
    if (family == NULL)
        return groat__fail_unusable("family", family, error);
    return tell_one(family, index, family->param_count, family->params,
                    "parameter", info, error);
}

const char *groat_family_folder(const groat_family *family)
{
    return family != NULL ? family->folder : NULL;
}

size_t groat_family_derived_count(const groat_family *family)
{
    return family != NULL ? family->derived_count : 0;
}

groat_status groat_family_derived(const groat_family *family, size_t index,
                                  groat_param_info *info, groat_error *error)
{
    if (family == NULL)
        return groat__fail_unusable("family", family, error);
    return tell_one(family, index, family->derived_count, family->derived,
                    "derived constant", info, error);
}

size_t groat_family_rule_count(const groat_family *family)
{
    return family != NULL ? family->rule_count : 0;
}

groat_status groat_family_rule(const groat_family *family, size_t index,
                               const char **rule, const char **reason,
                               groat_error *error)
{
    if (family == NULL)
        return groat__fail_unusable("family", family, error);
    if (index >= family->rule_count)
        return groat__fail(error, GROAT_INVALID,
                           "%s has no rule %zu; it has %zu, from 0",
                           family->name, index, family->rule_count);
    *rule = family->rules[index].text;
    *reason = family->rules[index].reason;
    return GROAT_OK;
}
