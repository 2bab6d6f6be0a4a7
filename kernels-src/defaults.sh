#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints what params.h of a family holds: the constants that groat generates
# for its defaults, so that the kernel opens and compiles in an editor.
#     sh defaults.sh GROAT FAMILY > FAMILY/params.h
set -eu
# By itself: the status of a pipe would be that of its last command.
source=$("$1" source "$2" --target cpu:gfx950 2>/dev/null) ||
    source=$("$1" source "$2" --target cpu:sm_90a)
printf '// SPDX-License-Identifier: Apache-2.0\n'
printf '// The defaults of params.def, which has their units and meanings, for editors:\n'
printf '// made by defaults.sh.  A build of a kernel never reads this file; it gets the\n'
printf '// constants of its spec.\n'
printf '#pragma once\n\n'
printf '%s\n' "$source" |
    sed -n "/^#line 1 \"$2\/params.h\"/,/^#line /{/^#line /d;p;}"
