/* SPDX-License-Identifier: Apache-2.0
 *
 * make_families.c reads the embedded families while the library is built, and
 * prints them as one C file, so that processes need not read them again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spec/family.h"
#include "spec/load.h"

static const char *read_embedded(void *user, const char *path)
{
    (void)user;
    return groat__embedded_find(path);
}

/* Prints bytes as numbers: some compilers limit the length of a string. */
static void print_text(size_t number, const char *what, size_t index,
                       const char *text)
{
    const unsigned char *at = (const unsigned char *)text;

    (void)printf("\nstatic const unsigned char %s_%zu_%zu[] = {", what, number,
                 index);
    for (size_t i = 0; i <= strlen(text); i++)
        (void)printf("%s%u,", i % 16 == 0 ? "\n    " : "", at[i]);
    (void)printf("\n};\n");
}

static void print_texts(size_t number, const groat_family *family,
                        const char *params_def)
{
    print_text(number, "params", 0, params_def);
    for (size_t i = 0; i < family->piece_count; i++)
        if (family->pieces[i].text != NULL)
            print_text(number, "piece", i, family->pieces[i].text);
    (void)printf("\nstatic const groat__piece pieces_%zu[] = {\n", number);
    for (size_t i = 0; i < family->piece_count; i++) {
        if (family->pieces[i].text == NULL)
            (void)printf("    {0, ");
        else
            (void)printf("    {(const char *)piece_%zu_%zu, ", number, i);
        (void)printf("%d},\n", family->pieces[i].only);
    }
    (void)printf("};\n");
}

static void print_row(size_t number, const groat_family *family)
{
    (void)printf("    {\"%s\", (const char *)params_%zu_0,\n"
                 "     pieces_%zu, %zu,\n"
                 "     {{",
                 family->name, number, number, family->piece_count);
    for (int i = 0; i < GROAT__BACKENDS; i++)
        (void)printf("%s\"%s\"", i > 0 ? ", " : "", family->closure.of[i]);
    (void)printf("}}},\n");
}

/* Loads the family of a params.def; NULL if the file is not one. */
static groat_family *load_from(const groat__embedded_file *file,
                               groat_error *error)
{
    const char *slash = strstr(file->path, "/params.def");
    groat_family *family = NULL;
    char *name;

    if (slash == NULL)
        return NULL;
    name = strndup(file->path, (size_t)(slash - file->path));
    if (name != NULL)
        (void)groat__family_load(name, read_embedded, NULL, &family, error);
    free(name);
    return family;
}

static void print_end(groat_family *const *families, size_t count)
{
    (void)puts("\nstatic const groat__made_family families[] = {");
    for (size_t i = 0; i < count; i++)
        print_row(i, families[i]);
    (void)puts("};\n\n"
               "const groat__made_family *groat__made_family_at(size_t index)\n"
               "{\n"
               "    return index < sizeof(families) / sizeof(families[0])\n"
               "               ? &families[index]\n"
               "               : NULL;\n"
               "}");
}

int main(void)
{
    enum { FAMILIES = 64 };
    groat_family *families[FAMILIES];
    groat_error error = GROAT_ERROR_INIT;
    const groat__embedded_file *file;
    size_t count = 0;

    (void)puts("/* Made by make_families; do not edit. */\n"
               "#include \"spec/family.h\"");
    for (size_t i = 0;
         (file = groat__embedded_at(i)) != NULL && count < FAMILIES; i++) {
        families[count] = load_from(file, &error);
        if (families[count] == NULL)
            continue;
        print_texts(count, families[count], file->text);
        count++;
    }
    if (error.status != GROAT_OK)
        (void)fprintf(stderr, "make_families: %s\n", error.text);
    print_end(families, count);
    for (size_t i = 0; i < count; i++)
        groat__family_free(families[i]);
    return error.status != GROAT_OK || count == 0 || fflush(stdout) != 0;
}
