/* SPDX-License-Identifier: Apache-2.0
 *
 * compiler.c - the C++ compiler of these tests: returns for each source the
 * binary that the real one, $GROAT_TEST_CXX, made at the first request.  The
 * binaries are in $GROAT_TEST_MADE, named by the adder's step, the only
 * difference between the sources.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/str.h"

/* Reads the source from stdin. */
static void read_source(groat__str *source)
{
    char part[8192];
    size_t len;

    while ((len = fread(part, 1, sizeof(part), stdin)) > 0)
        groat__str_addn(source, part, len);
}

/* Runs the real compiler with the same arguments and source. */
static bool compile(char **argv, const char *path, const groat__str *source)
{
    int status = 0;
    pid_t pid;

    if (groat__fs_write(path, source->data, source->len, 0600, NULL) !=
        GROAT_OK)
        return false;
    pid = fork();
    if (pid == 0) {
        FILE *file = freopen(path, "r", stdin);

        argv[0] = getenv("GROAT_TEST_CXX");
        if (file != NULL)
            (void)execvp(argv[0], argv);
        _exit(127);
    }
    return waitpid(pid, &status, 0) == pid && status == 0;
}

/* Writes in place: groat's output file has no name that could be replaced. */
static void copy(const char *from, const char *to)
{
    FILE *file = fopen(to, "wb");
    char *data = NULL;
    size_t bytes = 0;

    if (file == NULL ||
        groat__fs_read(from, 16 << 20, &data, &bytes, NULL) != GROAT_OK ||
        fwrite(data, 1, bytes, file) != bytes || fclose(file) != 0)
        exit(EXIT_FAILURE);
    free(data);
}

int main(int argc, char **argv)
{
    static const char line[] = "constexpr int step = ";
    const char *made = getenv("GROAT_TEST_MADE");
    groat__str source = {0};
    const char *out = NULL;
    const char *step;
    char binary[400];
    char path[400];

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--version") == 0)
            return printf("of a test\n") > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
        if (strcmp(argv[i], "-o") == 0)
            out = argv[i + 1];
    }
    read_source(&source);
    step = source.data == NULL ? NULL : strstr(source.data, line);
    if (out == NULL || made == NULL || step == NULL)
        return EXIT_FAILURE;
    (void)snprintf(binary, sizeof(binary), "%s/%ld", made,
                   strtol(step + strlen(line), NULL, 10));
    if (access(binary, R_OK) == 0) {
        copy(binary, out);
        return EXIT_SUCCESS;
    }
    (void)snprintf(path, sizeof(path), "%s/source", made);
    if (!compile(argv, path, &source))
        return EXIT_FAILURE;
    copy(out, binary);
    return EXIT_SUCCESS;
}
