/* SPDX-License-Identifier: Apache-2.0
 *
 * scan.c moves through the text of an expression.  No state.
 */
#include "spec/scan.h"

#include <string.h>

#include "base/str.h"

void groat__scan_fail(groat__scan *scan, const char *why)
{
    if (scan->failure == NULL)
        scan->failure = why;
}

char groat__scan_next(const groat__scan *scan)
{
    return scan->at < scan->len ? scan->text[scan->at] : '\0';
}

void groat__scan_blanks(groat__scan *scan)
{
    while (groat__scan_next(scan) != '\0' &&
           strchr(scan->blanks, groat__scan_next(scan)) != NULL)
        scan->at++;
}

bool groat__scan_take(groat__scan *scan, const char *token)
{
    size_t len = strlen(token);

    groat__scan_blanks(scan);
    if (scan->len - scan->at < len ||
        memcmp(scan->text + scan->at, token, len) != 0)
        return false;
    scan->at += len;
    return true;
}

bool groat__scan_descend(groat__scan *scan)
{
    if (scan->failure == NULL && ++scan->nesting > GROAT__SCAN_NESTING)
        groat__scan_fail(scan, "the expression is nested too deeply");
    return scan->failure == NULL;
}

bool groat__is_name(const char *text)
{
    if (!groat__is_letter(*text))
        return false;
    while (groat__is_word(*text))
        text++;
    return *text == '\0';
}

bool groat__is_keyword(const char *name)
{
    static const char words[] =
        " alignas alignof and and_eq asm auto bitand bitor bool break case "
        "catch "
        "char char16_t char32_t class compl const const_cast constexpr "
        "continue "
        "decltype default delete do double dynamic_cast else enum explicit "
        "export "
        "extern false float for friend goto if inline int long mutable "
        "namespace "
        "new noexcept not not_eq nullptr operator or or_eq private protected "
        "public register reinterpret_cast return short signed sizeof static "
        "static_assert static_cast struct switch template this thread_local "
        "throw "
        "true try typedef typeid typename union unsigned using virtual void "
        "volatile wchar_t while xor xor_eq ";
    size_t len = strlen(name);

    for (const char *at = words; (at = strstr(at, name)) != NULL; at++)
        if (at[-1] == ' ' && at[len] == ' ')
            return true;
    return false;
}
