# SPDX-License-Identifier: Apache-2.0
#
# Shared by the style tests; sourced, not run.  They run in any folder, with
# top_srcdir and top_builddir (absolute) from make check, or by hand in the
# source tree: then these default to this checkout and its ./build.
set -u
LC_ALL=C
export LC_ALL
if [ -z "${top_srcdir-}" ]; then
    top_srcdir=$(cd "$(dirname "$0")/../.." && pwd)
fi
: "${top_builddir:=$top_srcdir/build}"
: "${CC:=gcc}" "${CXX:=g++}" "${OBJDUMP:=objdump}" "${NM:=nm}"
failures=0

# Reports one finding; the test continues.
bad() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}

# Skips the test: make check's summary shows the reason.
skip() {
    echo "SKIP: $*"
    exit 77
}

finish() {
    [ "$failures" -eq 0 ] && exit 0
    echo "$failures findings"
    exit 1
}

# Makes $scratch, removed on exit.
make_scratch() {
    scratch=$(mktemp -d "${TMPDIR:-/tmp}/groat-style.XXXXXX") || exit 1
    trap 'rm -rf "$scratch"' EXIT
    trap 'exit 1' HUP INT TERM
}

# Lists the files of the project, without generated ones, relative to the source
# folder, which must be the current one.
project_files() {
    find . \( -type d -name '.?*' ! -name .ci -o -name .git \
        -o -name autom4te.cache \
        -o -name build -o -name 'build-*' -o -name _build -o -name _inst \
        -o -name '*-[0-9].[0-9].[0-9]' \) -prune -o -type f \
        ! -name Makefile.in ! -name aclocal.m4 ! -name 'configure' \
        ! -name 'configure~' ! -name libtool.m4 ! -name 'lt*.m4' \
        ! -name '*.tar.gz' ! -name '*.pyc' -print | sed 's|^\./||' | sort
}

# Lists the C sources and headers of the library and the CLI.
library_sources() {
    project_files | grep -E '^(src|cache|include)/.*\.[ch]$'
}

# Lists the functions that the public headers declare, one per line.
api_functions() {
    awk '/^#/ { next }
        /GROAT_API/ { on = 1 }
        on { text = text " " $0 }
        on && /;/ {
            sub(/\(.*/, "", text)
            n = split(text, word, /[ *]+/)
            print word[n]
            text = ""
            on = 0
        }' "$top_srcdir"/include/groat*.h | sort
}
