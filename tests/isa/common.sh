# SPDX-License-Identifier: Apache-2.0
#
# What the tests of code objects share; sourced, not run.  They run in any
# folder, with top_srcdir, top_builddir and GROAT from make check, or by hand:
# then those are this checkout, its ./build and the groat in there.
set -u
if [ -z "${top_srcdir-}" ]; then
    top_srcdir=$(cd "$(dirname "$0")/../.." && pwd)
fi
: "${top_builddir:=$top_srcdir/build}"
: "${GROAT:=$top_builddir/groat}"
# The source folder may be read-only, and is no place for what Python leaves.
PYTHONDONTWRITEBYTECODE=1
export top_srcdir top_builddir GROAT PYTHONDONTWRITEBYTECODE

skip() {
    echo "SKIP: $*"
    exit 77
}

# The first Python 3 that has numpy.
find_python() {
    for python in ${GROAT_PYTHON-} python3 /usr/bin/python3; do
        "$python" -c 'import numpy' >/dev/null 2>&1 || continue
        return
    done
    skip 'no python3 with numpy here'
}

isa() {
    "$python" "$top_srcdir/tests/isa/run.py" "$@"
}

[ -x "$GROAT" ] || skip 'groat is not built'
find_python
