#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# groat demo: each kernel compiled, from disk in a new process, from memory.
. "$(dirname "$0")/common.sh"

expect "demo" 0 demo --target cpu:gfx950 --json
json "demo is JSON"
rows=$(grep -c '"model": ' "$out")
for member in cold_verified disk_verified memory_verified; do
    right=$(grep -c "\"$member\": true" "$out")
    if [ "$rows" -ge 8 ] && [ "$right" -eq "$rows" ]; then
        pass "$member in all $rows rows"
    else
        fail "$member in all $rows rows" "$right"
    fi
done
has "the store is told" store
keys=$(grep '"key": ' "$out" | sort -u | grep -c .)
[ "$keys" -eq "$rows" ] && pass "each row is another kernel" ||
    fail "each row is another kernel" "$keys keys, $rows rows"
if ls -d "$work/tmp/groat-demo-"* >/dev/null 2>&1; then
    fail "nothing is left behind" "$(ls "$work/tmp")"
else
    pass "nothing is left behind"
fi
if [ -e "$HOME/cache/groat" ]; then
    fail "the user's store is left alone"
else
    pass "the user's store is left alone"
fi
TMPDIR=$work/none
export TMPDIR
expect "no folder for temporary files" 1 demo --target cpu:gfx950
says "the folder is named" "$work/none"
finish
