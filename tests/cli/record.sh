#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# groat record: the manifest of the kernels that a program and its children use.
. "$(dirname "$0")/common.sh"

command -v c++ >/dev/null || { skip "record: no C++ compiler"; finish; }
manifest=$work/used.jsonl
small=tile_loader_lds:tile_rows=32
scored='paged_attention_decode:head_dim=64,score="score*2"'
export GROAT="$groat" small scored

expect "a program's exit code is the tool's" 3 record -o "$manifest" -- sh -c '
    $GROAT run $small --target cpu:gfx950 >/dev/null
    $GROAT run $small --target cpu:gfx950 >/dev/null &
    $GROAT run $small --target cpu:gfx90a >/dev/null
    $GROAT run "$scored" --target cpu:sm_80 >/dev/null
    wait
    exit 3'
says "what was recorded is told" "3 kernels are in $manifest"
lines=$(wc -l <"$manifest")
if [ "$lines" -eq 3 ]; then
    pass "each kernel is there once"
else
    fail "each kernel is there once" "$lines lines"
fi
expect "the manifest is one" 0 prewarm --check "$manifest"
answers "all of it was made by the run" "3 were there"
expect "another store has none of it" 1 prewarm --check "$manifest" \
    --cache-dir "$work/empty"

expect "a program that fails before its first kernel" 1 record -o "$manifest" false
says "costs no manifest" "is not written: the program failed (exit code 1)"
[ -s "$manifest" ] || fail "the file is as it was" "it is empty"
expect "a program without kernels" 0 record --json -o "$manifest" true
json "its answer is JSON"
answers "it has no kernels" '"kernels": 0'
answers "and an exit code" '"exit": 0'
has "the file is named" manifest
[ -s "$manifest" ] && fail "the file holds the last run alone" "$(cat "$manifest")"
expect "one that a signal ends" 137 record -o "$manifest" -- sh -c 'kill -9 $$'
# A signal reaches the program, and the manifest is written afterwards.
"$groat" record -o "$manifest" -- sh -c '
    trap "kill \$!; exit 7" TERM
    $GROAT run $small --target cpu:gfx950 >/dev/null
    : >"$0"
    sleep 60 & wait' "$work/served" 2>"$work/told" &
for _ in $(seq 600); do
    [ -e "$work/served" ] && break
    sleep 0.1
done
kill -TERM $!
code=0
wait $! || code=$?
if [ "$code" -eq 7 ] && [ "$(wc -l <"$manifest")" -eq 1 ]; then
    pass "a server that is told to end"
else
    fail "a server that is told to end" "exit code $code: $(cat "$work/told")"
fi
(trap '' CHLD && exec "$groat" record -o "$manifest" -- sh -c 'exit 5') 2>&1 |
    grep -q 'failed (exit code 5)' && pass "one whose parent ignores children" ||
    fail "one whose parent ignores children" "it was not waited for"

expect "one that is not there" 1 record -o "$work/no.jsonl" \
    "$work/no-such-program"
says "it is named" "cannot start $work/no-such-program: No such file"
[ -e "$work/no.jsonl" ] && fail "no manifest is left of it" "it is there"
expect "no --output" 2 record true
says "what is missing is named" "record needs --output FILE"
expect "a file that cannot be written" 1 record -o "$work/none/x" touch "$work/ran"
[ -e "$work/ran" ] && fail "the program is not started then" "it was"

# The library itself: the variable, and a file that cannot be created.
GROAT_RECORD=$work/lines run run $small --target cpu:gfx950
GROAT_RECORD=$work/lines run run $small --target cpu:gfx950
if [ "$(grep -c '"target": "cpu:gfx950"}$' "$work/lines")" -eq 2 ]; then
    pass "each process adds a line"
else
    fail "each process adds a line" "$(cat "$work/lines")"
fi
# Behind a last line that was cut short or has no line break.
printf '{"spec": "subtile_loader", "target": "cpu:gfx950"}' >"$work/open"
GROAT_RECORD=$work/open run run $small --target cpu:gfx950
expect "a last line without its end" 1 prewarm --check "$work/open" \
    --cache-dir "$work/empty"
answers "stays a line" "2 kernels: "
expect "a record in a record" 0 record -o "$manifest" -- \
    "$groat" record -o "$work/inner.jsonl" -- "$groat" run $small \
    --target cpu:gfx950
says "both have it" "1 kernels are in $manifest"
says "the inner one, too" "1 kernels are in $work/inner.jsonl"
GROAT_RECORD=$work/none/x expect "a record that cannot be kept stops nothing" 0 \
    run $small --target cpu:gfx950
says "it is warned of" "no kernel is recorded: cannot open $work/none/x"
mkfifo "$work/pipe"
GROAT_RECORD=$work/pipe expect "nor does a pipe that nobody reads" 0 \
    run $small --target cpu:gfx950
says "it is warned of, too" "no kernel is recorded: cannot open $work/pipe"
head -c 20000000 /dev/zero >"$work/full"
told=$(ulimit -f 9000 && GROAT_RECORD=$work/full "$groat" run $small \
    --target cpu:gfx950 --no-cache 2>&1 | cat)
case $told in
*'is not recorded: File too large'*'verified  yes'*)
    pass "nor does one that may not grow"
    ;;
*) fail "nor does one that may not grow" "$told" ;;
esac
GROAT_RECORD=/dev/full expect "nor does a full disk" 0 run $small \
    --target cpu:gfx950
says "the kernel is named" "is not recorded: No space left on device"
finish
