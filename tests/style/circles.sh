#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# No two files of a folder, and no two folders, depend on each other, by what
# they include or call.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip "there is no python3"
command -v nm >/dev/null || skip "there is no nm"
python3 "$top_srcdir/tests/tools/circles.py" "$top_builddir" ||
    bad "see above"
finish
