/* SPDX-License-Identifier: Apache-2.0
 *
 * png.c converts a picture to PNG by rsvg-convert, the tool of librsvg, if it
 * is installed.
 */
#include "cli/draw/draw.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "cli/tool/cmd.h"

enum { SAID_MAX = 4096, SECONDS = 60, PNG_MAX = 256 << 20, OWN_FILE = 0600 };

/* Converts the picture to PNG, with temporary files in `folder`. */
static groat_status convert_in(const char *folder, groat__str *picture,
                               groat_error *error)
{
    groat__str from = {0};
    groat__str to = {0};
    char *said = NULL;
    char *png = NULL;
    size_t bytes = 0;
    int code = 0;
    groat_status status = GROAT_NO_MEMORY;

    groat__str_addf(&from, "%s/a.svg", folder);
    groat__str_addf(&to, "%s/a.png", folder);
    if (!from.failed && !to.failed) {
        char *argv[] = {"rsvg-convert", "--unlimited", "--zoom",  "2",
                        "--output",     to.data,       from.data, NULL};
        const groat__spawn how = {argv, SAID_MAX, SECONDS, true};

        status = groat__fs_write(from.data, picture->data, picture->len,
                                 OWN_FILE, error);
        if (!status)
            status = groat__spawn_run(&how, &said, &code, error);
    }
    if (!status && code)
        status =
            groat__fail(error, GROAT_IO, "rsvg-convert ended with %d: %.*s",
                        code, (int)strcspn(said, "\n"), said);
    if (!status)
        status = groat__fs_read(to.data, PNG_MAX, &png, &bytes, error);
    if (!status) {
        groat__str_clear(picture);
        groat__str_addn(picture, png, bytes);
        if (picture->failed)
            status =
                groat__fail(error, GROAT_NO_MEMORY, "no memory for a picture");
    }
    free(png);
    free(said);
    groat__str_free(&from);
    groat__str_free(&to);
    return status;
}

groat_status groat__draw_png(groat__str *picture, groat_error *error)
{
    groat__str folder = {0};
    groat_status status = groat__scratch_make("draw", &folder, error);

    if (!status)
        status = convert_in(folder.data, picture, error);
    groat__scratch_remove(&folder);
    return status;
}
