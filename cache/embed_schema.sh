#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# embed_schema.sh FILE.sql: prints the SQL as C string literals, one per line,
# without comments and blank lines.
set -eu

if [ $# -ne 1 ]; then
    echo "usage: embed_schema.sh FILE.sql" >&2
    exit 2
fi

echo '/* Made by embed_schema.sh; edit the .sql file instead. */'
sed -e 's/[[:space:]]*--.*$//' \
    -e '/^[[:space:]]*$/d' \
    -e 's/\\/\\\\/g' \
    -e 's/"/\\"/g' \
    -e 's/^/"/' \
    -e 's/$/\\n"/' "$1"
