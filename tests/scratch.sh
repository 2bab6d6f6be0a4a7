# SPDX-License-Identifier: Apache-2.0
#
# What scripts that run the tool begin with; sourced, not run.  $top_srcdir is the
# tree, $groat the tool, $scratch a folder that goes when the script ends; the
# store is in it.
set -u
if [ -z "${top_srcdir-}" ]; then
    top_srcdir=$(cd "$(dirname "$0")/../.." && pwd)
fi
groat=${GROAT:-./groat}
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
GROAT_CACHE_DIR=$scratch/store
export GROAT_CACHE_DIR
