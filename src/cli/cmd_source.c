/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_source.c - groat source: prints the source that the compiler gets.
 *
 * Owns nothing but the printing; spec/render.c of the library makes the text.
 * Invariant: stdout is the source and nothing else, byte for byte, so that it
 * can be piped into a compiler.
 */
#include "cli/commands.h"

int groat__cmd_source(groat__cli *cli)
{
    groat_error error = GROAT_ERROR_INIT;
    groat_spec *spec = NULL;
    char *source = NULL;
    int code = groat__cli_open(cli, GROAT_OPEN_NO_DISK);

    if (code)
        return code;
    if (groat_spec_parse(cli->context, cli->words[0], cli->values.target, &spec,
                         &error) ||
        groat_spec_source(spec, &source, &error)) {
        code = groat__cli_fail(cli, &error);
    } else if (cli->values.json) {
        groat__json_string(&cli->json, "spec", groat_spec_text(spec));
        groat__json_string(&cli->json, "target", groat_spec_target(spec));
        groat__json_string(&cli->json, "source", source);
    } else
        (void)fputs(source, stdout);
    groat_free(source);
    groat_spec_free(spec);
    return code;
}
