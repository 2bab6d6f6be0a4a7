/* SPDX-License-Identifier: Apache-2.0
 *
 * key.c is the one place where keys are made: the library, the command line
 * and every later tool call it.  The text names the closure of our sources,
 * every parameter, the target with every number of its arch that a kernel can
 * see, and the compiler by version, build id and options.  It is pure.
 */
#include "spec/key.h"

void groat__key_identity(const groat__params *params, const char *compiler,
                         groat__str *out)
{
    const groat_family *family = params->family;
    char closure[33];

    groat__hex(closure, family->closure.bytes, 16);
    groat__str_add(out, "groat-identity 1\nfamily ");
    groat__str_add(out, family->name);
    groat__str_add(out, " closure ");
    groat__str_addn(out, closure, 32);
    groat__str_add(out, "\n");
    for (size_t i = 0; i < family->param_count; i++) {
        const groat__slot *slot = &family->slots[family->params[i]];

        groat__str_addn(out, "param ", 6);
        groat__str_add(out, slot->name);
        groat__str_addn(out, " ", 1);
        groat__params_value_text(slot, params->values[family->params[i]], out);
        groat__str_addn(out, "\n", 1);
    }
    groat__str_add(out, "target ");
    groat__str_add(out, params->target.text);
    groat__str_add(out, "\narch");
    for (size_t i = 0; i < GROAT__ARCH_SLOTS; i++) {
        groat__str_addn(out, " ", 1);
        groat__str_add(out, family->slots[i].name);
        groat__str_addn(out, "=", 1);
        groat__str_add_int(out, params->values[i]);
    }
    groat__str_addn(out, "\n", 1);
    groat__str_add(out, compiler);
}

groat__digest groat__key_of(const groat__str *identity)
{
    return groat__hash128(identity->data, identity->len);
}
