/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_key.c - groat key: prints the key of a kernel in the store.
 *
 * Owns nothing but the printing; spec/key.c of the library computes key and
 * identity.
 * Invariant: with --identity stdout is the text that was hashed, byte for
 * byte, so that XXH3-128 of it is the key.
 */
#include "cli/commands.h"

int groat__cmd_key(groat__cli *cli)
{
    groat_error error = GROAT_ERROR_INIT;
    groat_spec *spec = NULL;
    char key[33] = "";
    char *identity = NULL;
    int code = groat__cli_open(cli, GROAT_OPEN_NO_DISK);

    if (code)
        return code;
    if (groat_spec_parse(cli->context, cli->words[0], cli->values.target, &spec,
                         &error) ||
        groat_spec_key(spec, key, &identity, &error)) {
        code = groat__cli_fail(cli, &error);
    } else if (cli->values.json) {
        groat__json_string(&cli->json, "spec", groat_spec_text(spec));
        groat__json_string(&cli->json, "target", groat_spec_target(spec));
        groat__json_string(&cli->json, "key", key);
        groat__json_string(&cli->json, "identity", identity);
    } else if (cli->values.identity)
        (void)fputs(identity, stdout);
    else
        (void)printf("%s\n", key);
    groat_free(identity);
    groat_spec_free(spec);
    return code;
}
