/* SPDX-License-Identifier: Apache-2.0
 *
 * replay_main.c runs one fuzz target on the given files and folders, sorted by
 * name: the corpus as a regression test, without a fuzzing compiler.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path, unsigned long *runs);

static int replay_file(const char *path, unsigned long *runs)
{
    groat_error error = GROAT_ERROR_INIT;
    char *data = NULL;
    size_t bytes = 0;

    if (groat__fs_read(path, (size_t)1 << 24, &data, &bytes, &error) !=
        GROAT_OK) {
        fprintf(stderr, "%s\n", error.text);
        groat_error_clear(&error);
        return 1;
    }
    /* Printed before the run: after a crash it is too late. */
    fprintf(stderr, "%s (%zu bytes)\n", path, bytes);
    (void)LLVMFuzzerTestOneInput((const uint8_t *)data, bytes);
    free(data);
    *runs += 1;
    return 0;
}

static int replay_folder(const char *path, unsigned long *runs)
{
    struct dirent **items = NULL;
    int count = scandir(path, &items, NULL, alphasort);
    int failed = 0;

    if (count < 0) {
        perror(path);
        return 1;
    }
    for (int i = 0; i < count; i++) {
        groat__str name = {0};

        groat__str_addf(&name, "%s/%s", path, items[i]->d_name);
        if (items[i]->d_name[0] != '.')
            failed |= name.failed ? 1 : replay(name.data, runs);
        groat__str_free(&name);
        free(items[i]);
    }
    free(items);
    return failed;
}

static int replay(const char *path, unsigned long *runs)
{
    struct stat st;

    if (stat(path, &st) != 0) {
        perror(path);
        return 1;
    }
    return S_ISDIR(st.st_mode) ? replay_folder(path, runs)
                               : replay_file(path, runs);
}

int main(int argc, char **argv)
{
    unsigned long runs = 0;
    int failed = 0;

    if (argc < 2) {
        fprintf(stderr, "usage: %s FILE|FOLDER...\n", argv[0]);
        return 2;
    }
    for (int i = 1; i < argc; i++)
        failed |= replay(argv[i], &runs);
    if (runs == 0) {
        fprintf(stderr, "%s: no corpus file was found\n", argv[0]);
        return 1;
    }
    printf("%lu inputs\n", runs);
    return failed;
}
