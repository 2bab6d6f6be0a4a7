/* SPDX-License-Identifier: Apache-2.0
 *
 * main.c sums a paged KV cache with the kernel family in this folder and checks
 * the sums; sum.c does both.
 *
 *     paged_sum FAMILIES [TARGET [CONSTANTS]]
 *
 * FAMILIES is the folder that holds paged_sum/; the default TARGET is the
 * machine's best; CONSTANTS are the family's, as in "depth=64,slots=2".  Needs
 * only the public headers and the library.
 */
#include <groat.h>
#include <stdio.h>

#include "sum.h"

int main(int argc, char **argv)
{
    const char *target = argc > 2 ? argv[2] : NULL;
    groat_options options = GROAT_OPTIONS_INIT;
    groat_error error = GROAT_ERROR_INIT;
    groat_context *g = NULL;
    groat_spec *spec = NULL;
    groat_kernel *kernel = NULL;
    struct paged_sum cache = {0};
    char text[256];
    int code = 1;

    if (argc < 2 || argc > 4) {
        (void)fprintf(stderr, "paged_sum FAMILIES [TARGET [CONSTANTS]]\n");
        return 2;
    }
    (void)snprintf(text, sizeof(text), "paged_sum%s%s", argc > 3 ? ":" : "",
                   argc > 3 ? argv[3] : "");
    options.family_path = argv[1];
    if (groat_open(&options, &g, &error) == GROAT_OK &&
        groat_spec_parse(g, text, target, &spec, &error) == GROAT_OK &&
        paged_sum_make(&cache, g, spec, &error) == GROAT_OK &&
        groat_kernel_get_spec(spec, NULL, &kernel, NULL, &error) == GROAT_OK &&
        paged_sum_run(&cache, kernel, &error) == GROAT_OK) {
        unsigned wrong = paged_sum_wrong(&cache);

        (void)printf("paged_sum: %u of %u sums are wrong\n", wrong,
                     (unsigned)cache.sum_count);
        code = wrong != 0;
    } else {
        (void)fprintf(stderr, "paged_sum: %s\n%s", error.text,
                      error.log == NULL ? "" : error.log);
    }
    groat_error_clear(&error);
    paged_sum_free(&cache);
    groat_kernel_release(kernel);
    groat_spec_free(spec);
    groat_close(g); /* frees its memory, too */
    return fflush(stdout) == 0 ? code : 1;
}
