/* SPDX-License-Identifier: Apache-2.0
 *
 * arch.c owns the table of architectures and the parsing of targets.  It is
 * pure: no files, no environment, no state.  A new arch is one line here; the
 * numbers reach params.def rules as arch_NAME and kernels as constants.
 *
 * Sources.  AMD: CDNA2/CDNA3/CDNA4 ISA guides (LDS size and banks, widths of
 * buffer_load ... lds, ds_read_b64_tr, operands of MFMA).  NVIDIA: CUDA
 * programming guide, table of compute capabilities (maximum shared memory per
 * block with opt-in); PTX ISA, target notes of wgmma and of cta_group.
 */
#include "spec/arch.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/near.h"
#include "base/str.h"
#include "groat_tools.h"

#define CUDA(name, shared, tma, cluster, wgmma, cta_group)                     \
    {                                                                          \
        name, GROAT__CUDA, 32, shared, 32, 0, 1, tma, cluster, 0, 0, 0, 0,     \
            wgmma, cta_group                                                   \
    }
#define HIP(name, shared, banks, dma, tr, mfma_16bit, mfma_8bit, fnuz)         \
    {                                                                          \
        name, GROAT__HIP, 64, shared, banks, dma, 0, 0, 1, tr, mfma_16bit,     \
            mfma_8bit, fnuz, 0, 0                                              \
    }

static const groat__arch archs[] = {
    CUDA("sm_80", 163 << 10, 0, 1, 0, 0),
    CUDA("sm_86", 99 << 10, 0, 1, 0, 0),
    CUDA("sm_87", 163 << 10, 0, 1, 0, 0),
    CUDA("sm_89", 99 << 10, 0, 1, 0, 0),
    CUDA("sm_90", 227 << 10, 1, 16, 0, 0),
    CUDA("sm_90a", 227 << 10, 1, 16, 1, 0),
    CUDA("sm_100", 227 << 10, 1, 8, 0, 0),
    CUDA("sm_100a", 227 << 10, 1, 8, 0, 1),
    CUDA("sm_103", 227 << 10, 1, 8, 0, 0),
    CUDA("sm_103a", 227 << 10, 1, 8, 0, 1),
    CUDA("sm_110", 227 << 10, 1, 8, 0, 0),
    CUDA("sm_110a", 227 << 10, 1, 8, 0, 1),
    CUDA("sm_120", 99 << 10, 1, 8, 0, 0),
    CUDA("sm_120a", 99 << 10, 1, 8, 0, 0),
    CUDA("sm_121", 99 << 10, 1, 8, 0, 0),
    CUDA("sm_121a", 99 << 10, 1, 8, 0, 0),
    HIP("gfx90a", 64 << 10, 32, 4, 0, 8, 0, 0),
    HIP("gfx942", 64 << 10, 32, 4, 0, 8, 8, 1),
    HIP("gfx950", 160 << 10, 64, 16, 1, 16, 32, 0),
};

#define ARCH_COUNT (sizeof(archs) / sizeof(archs[0]))

const groat__arch *groat__arch_at(size_t index)
{
    return index < ARCH_COUNT ? &archs[index] : NULL;
}

const groat__arch *groat__arch_find(const char *name, size_t len)
{
    for (size_t i = 0; i < ARCH_COUNT; i++)
        if (groat__is_text(name, len, archs[i].name))
            return &archs[i];
    return NULL;
}

const char *groat__backend_name(groat__backend_id id)
{
    static const char *const names[GROAT__BACKENDS] = {"cuda", "hip", "cpu"};

    return (unsigned)id < GROAT__BACKENDS ? names[id] : "?";
}

static bool find_backend(const char *name, size_t len, groat__backend_id *out)
{
    for (int id = 0; id < GROAT__BACKENDS; id++) {
        const char *known = groat__backend_name((groat__backend_id)id);

        if (groat__is_text(name, len, known)) {
            *out = (groat__backend_id)id;
            return true;
        }
    }
    return false;
}

/* Appends "; did you mean hip:gfx950 or cpu:gfx950?  Targets are" for "gfx950"
 * or "cuda:gfx950". */
static void add_nearest(const char *text, groat__str *out)
{
    const char *colon = strchr(text, ':');
    const char *arch = colon == NULL ? text : colon + 1;
    groat__near near;
    size_t found = 0;

    groat__near_start(&near, arch, strlen(arch));
    for (size_t i = 0; i < ARCH_COUNT; i++)
        groat__near_try(&near, archs[i].name, strlen(archs[i].name));
    if (near.found == NULL) {
        groat__str_add(out, "; targets are");
        return;
    }
    while (archs[found].name != near.found)
        found++;
    groat__str_addf(out, "; did you mean %s:%s or cpu:%s?  Targets are",
                    groat__backend_name(archs[found].vendor), near.found,
                    near.found);
}

static groat_status unknown(const char *text, groat_error *error)
{
    groat__str all = {0};

    add_nearest(text, &all);
    for (size_t i = 0; i < ARCH_COUNT; i++)
        groat__str_addf(&all, " %s:%s", groat__backend_name(archs[i].vendor),
                        archs[i].name);
    groat__fail(error, GROAT_INVALID,
                "target '%.64s' is unknown%s, and cpu: with any of these archs",
                text, all.failed ? "" : all.data);
    groat__str_free(&all);
    return GROAT_INVALID;
}

/* Features such as ":sramecc+:xnack-", which the HIP runtime appends to an
 * arch. */
static bool are_features(const char *text)
{
    while (*text == ':') {
        text++;
        if (!groat__is_letter(*text))
            return false;
        while (groat__is_word(*text))
            text++;
        if (*text != '+' && *text != '-')
            return false;
        text++;
    }
    return *text == '\0';
}

groat_status groat__target_parse(const char *text, groat__target *out,
                                 groat_error *error)
{
    const char *colon = strchr(text, ':');
    groat__target target = {0};
    const char *features;

    if (colon == NULL ||
        !find_backend(text, (size_t)(colon - text), &target.backend))
        return unknown(text, error);
    features = colon + 1 + strcspn(colon + 1, ":");
    target.arch = groat__arch_find(colon + 1, (size_t)(features - colon - 1));
    if (target.arch == NULL ||
        (target.backend != GROAT__CPU && target.backend != target.arch->vendor))
        return unknown(text, error);
    if (!are_features(features) ||
        (*features != '\0' && target.arch->vendor != GROAT__HIP))
        return unknown(text, error);
    (void)snprintf(target.text, sizeof(target.text), "%s:%s",
                   groat__backend_name(target.backend), target.arch->name);
    *out = target;
    return GROAT_OK;
}

const char *groat_arch_at(size_t index)
{
    return index < ARCH_COUNT ? archs[index].name : NULL;
}

const char *groat_arch_backend(size_t index)
{
    return index < ARCH_COUNT ? groat__backend_name(archs[index].vendor) : NULL;
}
