/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_manifest.c: the input as a line of a manifest, which is accepted, or
 * refused in one line.
 */
#include "spec/manifest.h"
#include "spec_checks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = text_of(data, size);
    groat__manifest_line line = {.target_count = 0};
    groat_error error = GROAT_ERROR_INIT;
    groat_status status = groat__manifest_parse(text, &line, &error);

    if (status == GROAT_OK)
        MUST(line.spec.data != NULL);
    else
        check_refusal(status, &error);
    groat__manifest_line_free(&line);
    free(text);
    return 0;
}
