/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_cuda.c: the input as a file of CUDA C++ for groat judge, whole, cut
 * short, and without a part in the middle.  It is read or refused in one line,
 * and each line of the source that it becomes is one of the file's.
 */
#include "cli/judge/cuda_needed.h"
#include "cli/judge/cuda_ptx.h"
#include "cli/judge/cuda_source.h"
#include "fuzz_file.h"
#include "spec_checks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CUTS = 16 };

static size_t count_lines(const char *text)
{
    size_t count = 0;

    for (; *text != '\0'; text++)
        count += *text == '\n';
    return count;
}

/* Reads the text as the command does. */
static void read_text(groat__cuda_files *files)
{
    groat__cuda_source source = {.param_count = 0};
    groat_error error = GROAT_ERROR_INIT;
    groat__str needed = {0};
    groat__str judged = {0};
    groat__str marked = {0};
    groat_status status;

    groat__cuda_files_mark(files, files->text.data, &marked);
    groat__cuda_drop_unneeded(files->text.data, NULL, &needed);
    MUST(count_lines(needed.data) == count_lines(files->text.data));
    (void)groat__cuda_read_ptx(needed.data, &judged);
    MUST(count_lines(judged.data) == count_lines(needed.data));
    status = groat__cuda_read(files, judged.data, NULL, &source, &error);
    if (status == GROAT_OK) {
        MUST(source.entry.len > 0);
        MUST(source.param_count <= GROAT__CUDA_PARAMS);
    } else {
        check_refusal(status, &error);
    }
    groat__cuda_free(&source);
    groat__str_free(&needed);
    groat__str_free(&judged);
    groat__str_free(&marked);
}

static void try_file(const uint8_t *data, size_t size)
{
    const groat__cuda_search search = {NULL, 0, groat__cuda_knows};
    groat__cuda_files *files = calloc(1, sizeof(*files));
    groat_error error = GROAT_ERROR_INIT;
    char dir[FUZZ_DIR];
    char path[FUZZ_PATH];
    groat_status status;

    MUST(files != NULL);
    fuzz_file(dir, path, "k.cu", data, size);
    status = groat__cuda_files_read(files, path, "k.cu", &search, &error);
    if (status != GROAT_OK)
        check_refusal(status, &error);
    else if (files->text.len > 0)
        read_text(files);
    groat__cuda_files_free(files);
    free(files);
    folder_remove(dir);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *part = malloc(size + 1);

    MUST(part != NULL);
    try_file(data, size);
    for (size_t i = 1; i < CUTS && size >= CUTS; i++) {
        size_t from = size * i / CUTS;
        size_t to = from + size / 40 + 1;

        try_file(data, from);
        if (to >= size)
            continue;
        memcpy(part, data, from);
        memcpy(part + from, data + to, size - to);
        try_file(part, size - (to - from));
    }
    free(part);
    return 0;
}
