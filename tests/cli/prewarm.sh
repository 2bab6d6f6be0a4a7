#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# groat prewarm: manifests, shards, kernels that exist already, compilers that
# crash or hang, a run that is killed.
. "$(dirname "$0")/common.sh"

cxx=$(command -v c++) || { skip "prewarm: no C++ compiler"; finish; }
loader=tile_loader_lds

# figure NAME: prints a number of the last JSON answer.
figure() {
    sed -n "s/^  \"$1\": \([0-9]*\),*\$/\1/p" "$out"
}

# counts NAME FIGURE=N...: checks figures of the last JSON answer.
counts() {
    counts_name=$1
    shift
    for pair in "$@"; do
        if [ "$(figure "${pair%%=*}")" = "${pair#*=}" ]; then
            pass "$counts_name: $pair"
        else
            fail "$counts_name: $pair" "got '$(figure "${pair%%=*}")'"
        fi
    done
}

# ---- refusals
expect "no manifest" 2 prewarm
says "the way to help is named" "groat help prewarm"
expect "a manifest that is not there" 1 prewarm "$work/none.jsonl"
says "it is named" "none.jsonl"
bad() {
    printf '\n%s\n' "$2" >"$work/bad.jsonl"
    expect "manifest: $1" 2 prewarm "$work/bad.jsonl"
    says "manifest: $1: the line is named" "bad.jsonl:2: "
}
bad "no JSON" "$loader"
bad "half a line" '{"spec": "'
bad "a list" '["x"]'
bad "more on a line" '{"spec": "x", "target": "cpu:gfx950"} 1'
bad "no spec" '{"target": "cpu:gfx950"}'
bad "a spec that is a number" '{"spec": 7, "target": "cpu:gfx950"}'
bad "no target" "{\"spec\": \"$loader\"}"
bad "an empty list of targets" "{\"spec\": \"$loader\", \"targets\": []}"
bad "a target that is no text" "{\"spec\": \"$loader\", \"targets\": [1]}"
bad "both kinds of target" \
    "{\"spec\": \"$loader\", \"target\": \"cpu:gfx950\", \"targets\": []}"
bad "a member twice" \
    "{\"spec\": \"$loader\", \"spec\": \"$loader\", \"target\": \"cpu:gfx950\"}"
bad "a slip" "{\"spec\": \"$loader\", \"tragets\": [\"cpu:gfx950\"]}"
says "the slip is named" tragets
bad "a bad parameter" \
    "{\"spec\": \"$loader:tile_rows=7\", \"target\": \"cpu:gfx950\"}"
says "the parameter is named" tile_rows
bad "an unknown target" "{\"spec\": \"$loader\", \"target\": \"tpu:v5\"}"
bad "deep nesting" "$(printf '%9999s' '' | tr ' ' '[')"
printf '{"spec": "%s", "target": "cpu:gfx950"}\n' $loader >"$work/one.jsonl"
for shard in 0/2 3/2 x 1/ /1 1/0 -1/2 1/2/3 99999999999999999999/1; do
    expect "--shard $shard" 2 prewarm "$work/one.jsonl" --shard=$shard
done
says "what is allowed is said" "I from 1 to N"
expect "--jobs 0" 2 prewarm "$work/one.jsonl" -j 0
expect "--from-store of nothing" 2 prewarm --from-store "$work/none"
expect "--from-store of a file with another name" 2 \
    prewarm --from-store "$work/one.jsonl"
expect "a store that cannot be" 1 \
    prewarm "$work/one.jsonl" --cache-dir "$work/one.jsonl"

# ---- shipped manifests: legal specs, whatever compilers are installed
for manifest in "$tree"/cache/manifests/*.jsonl; do
    run prewarm "$manifest" --check --json --cache-dir "$work/s0"
    name=$(basename "$manifest")
    case $code in
    1 | 3) pass "$name: every spec is legal" ;;
    *) fail "$name: every spec is legal" "$(head -c 300 "$err")" ;;
    esac
done

# ---- compiled kernels, and kernels that exist already
rows="16 32 48 64 96 128"
for n in $rows; do
    printf '{"spec": "%s:tile_rows=%s", "note": "%s rows"}\n' $loader "$n" "$n"
done >"$work/many.jsonl"
many() {
    many_name=$1
    many_code=$2
    shift 2
    expect "$many_name" "$many_code" prewarm "$work/many.jsonl" \
        "$work/many.jsonl" --target cpu:gfx950 --json "$@"
}
many "check an empty store" 1 --cache-dir "$work/s1" --check
counts "check an empty store" kernels=6 missing=6 compiled=0
many "prewarm" 0 --cache-dir "$work/s1" -j 2
counts "prewarm" kernels=6 present=0 compiled=6 failed=0 missing=0 jobs=2
is_json "$out" && pass "one JSON answer" || fail "one JSON answer"
if [ "$(grep -c '^{"event":"compiled",' "$err")" -eq 6 ]; then
    pass "an event for each kernel"
else
    fail "an event for each kernel" "$(head -c 300 "$err")"
fi
many "prewarm again" 0 --cache-dir "$work/s1"
counts "prewarm again" present=6 compiled=0
many "check a warm store" 0 --cache-dir "$work/s1" --check
expect "a run needs no compiler then" 0 run "$loader:tile_rows=96" \
    --target cpu:gfx950 --cache-dir "$work/s1" --json
answers "it comes from disk" '"origin": "disk"'
expect "the kernels of another store" 0 prewarm --json \
    --from-store "$work/s1/groat.sqlite" --cache-dir "$work/s2"
counts "the kernels of another store" kernels=6 compiled=6
"$groat" prewarm - --check --cache-dir "$work/s1" \
    <"$work/many.jsonl" >"$out" 2>"$err"
says "a bad line of stdin is named" "stdin:1: the line names no target"
"$groat" prewarm - --target cpu:gfx950 --check --json \
    --cache-dir "$work/s1" <"$work/many.jsonl" >"$out" 2>"$err"
counts "a manifest from stdin" kernels=6 present=6
expect "those that were used twice" 0 prewarm --json --min-uses 2 \
    --from-store "$work/s1/groat.sqlite" --cache-dir "$work/s2"
counts "those that were used twice" kernels=1 present=1

# ---- kernels of a bundle
expect "a bundle of the six" 0 cache export --cache-dir "$work/s1" \
    --output "$work/six"
bundled() {
    bundled_name=$1
    bundled_code=$2
    shift 2
    many "$bundled_name" "$bundled_code" --bundle "$work/six" "$@"
}
bundled "check against a bundle" 0 --cache-dir "$work/s6" --check \
    --allow-unsigned
counts "check against a bundle" kernels=6 present=6 bundled=6 missing=0
bundled "nothing of a bundle is compiled" 0 --cache-dir "$work/s6" \
    --allow-unsigned
counts "nothing of a bundle is compiled" present=6 compiled=0
bundled "check against a bundle that is not trusted" 1 \
    --cache-dir "$work/s6" --check
counts "check against a bundle that is not trusted" bundled=0 missing=6
bundled "what the store has, too" 0 --cache-dir "$work/s1" --check \
    --allow-unsigned
counts "what the store has, too" present=6 bundled=0
printf '{"spec": "%s:tile_rows=80"}\n' $loader >>"$work/many.jsonl"
bundled "check what a bundle lacks" 1 --cache-dir "$work/s6" --check \
    --allow-unsigned
counts "check what a bundle lacks" kernels=7 present=6 bundled=6 missing=1
sed -i '$d' "$work/many.jsonl"

# ---- shards
sum=0
for part in 1/3 2/3 3/3; do
    many "part $part" 0 --cache-dir "$work/s3" --shard $part
    sum=$((sum + $(figure compiled)))
done
[ $sum -eq 6 ] && pass "parts are all, once" || fail "parts are all, once" $sum
many "all parts are there" 0 --cache-dir "$work/s3" --check

# ---- compilers that crash, hang, or refuse
# A compiler that runs $work/deed for 64 rows, and compiles the rest.
cat >"$work/c++" <<END
#!/bin/sh
case " \$* " in
*" - "*)
    cat >"$work/source.\$\$"
    if grep -q 'tile_rows = 64' "$work/source.\$\$"; then
        echo x >>"$work/tries"
        . "$work/deed"
    fi
    exec "$cxx" "\$@" <"$work/source.\$\$"
    ;;
esac
exec "$cxx" "\$@"
END
chmod +x "$work/c++"
hostile() {
    echo "$2" >"$work/deed"
    rm -f "$work/tries"
    GROAT_CXX=$work/c++
    export GROAT_CXX
    rm -rf "$work/s4"
    many "$1" 4 --cache-dir "$work/s4" -j 2 --timeout "$3"
    unset GROAT_CXX
    counts "$1" compiled=5 failed=1
    [ "$(wc -l <"$work/tries")" -eq "$4" ] && pass "$1: tried $4 times" ||
        fail "$1: tried $4 times" "$(wc -l <"$work/tries")"
}
hostile "a compiler that takes its process along" 'kill -9 $PPID; exit 1' 60 2
says "the signal is named" "was ended by signal 9"
hostile "a compiler that hangs" 'sleep 600' 1 2
says "the time is named" "gave no answer within 1 s"
hostile "a compiler that refuses" 'echo "tile too odd" >&2; exit 1' 60 1
says "its words are shown" "tile too odd"

# ---- killed and restarted
echo 'while [ ! -e "'$work/go'" ]; do sleep 0.1; done' >"$work/deed"
rm -f "$work/tries"
GROAT_CXX=$work/c++
export GROAT_CXX
"$groat" prewarm "$work/many.jsonl" --target cpu:gfx950 \
    --cache-dir "$work/s5" -j 1 >/dev/null 2>&1 &
waited=0
while [ ! -e "$work/tries" ] && [ $waited -lt 600 ]; do
    sleep 0.1
    waited=$((waited + 1))
done
kill -9 $!
wait $! 2>/dev/null
many "what a killed run has left" 1 --cache-dir "$work/s5" --check
left=$(figure missing)
touch "$work/go"
many "after a kill" 0 --cache-dir "$work/s5"
many "all is there" 0 --cache-dir "$work/s5" --check
[ "$left" -ge 1 ] && pass "the kill came in time" || fail "the kill came in time"

# ---- lines for other targets
cat >"$work/two.jsonl" <<EOF
{"spec": "$loader", "targets": ["cpu:gfx950", "hip:gfx90a", "cpu:sm_90a"]}
{"spec": "$loader:tile_rows=128"}
EOF
GROAT_CXX=$cxx GROAT_HIPRTC=$work/none expect "--only-target" 0 prewarm \
    "$work/two.jsonl" --only-target cpu:gfx950 --cache-dir "$work/s7" --json
counts "--only-target" kernels=2 compiled=2 left_out=2
expect "--only-target of none" 2 prewarm "$work/two.jsonl" --target cpu:gfx90a \
    --only-target hip:gfx950 --cache-dir "$work/s7"
says "it is named" "hip:gfx950"
cat >"$work/one.jsonl" <<EOF
{"spec": "$loader", "targets": ["cpu:gfx950"]}
EOF
expect "--only-target of none, one left out" 2 prewarm "$work/one.jsonl" \
    --only-target hip:gfx950 --cache-dir "$work/s7"
says "one is left out" "1 are for other targets"

# ---- a worker gets every option of its parent

"$groat" cache keygen "$work/key" >"$work/trust" || exit 1
(cd "$work" && "$groat" new toy >/dev/null) || exit 1
mkdir "$work/objects"
mkdir -m 2770 "$work/s8"
GROAT_CXX=$cxx expect "every option at once" 0 prewarm "$work/one.jsonl" \
    --cache-dir "$work/s8" --share-group --family-path "$work/toy" \
    --trust "$work/trust" --remote "file://$work/objects" \
    --remote-key "$work/key" --leases redis://localhost:1 --memory 65536G --json
counts "every option at once" kernels=1 compiled=1
[ -n "$(find "$work/objects" -type f)" ] && pass "the remote has it" ||
    fail "the remote has it" "$(ls "$work/objects")"

# ---- when it is ended, its processes and their compilers end as well
children_of() {
    cat /proc/[0-9]*/stat 2>/dev/null |
        sed -n "s/^\([0-9]*\) (.*) [A-Z] $1 .*/\1/p"
}
echo 'echo $$ >>"'$work/pids'"; exec sleep 600' >"$work/deed"
sed -i 's/tile_rows = 64/tile_rows = /' "$work/c++"
for signal in TERM INT KILL; do
    rm -f "$work/pids"
    # A shell's background jobs ignore SIGINT: env restores the default.
    env --default-signal=INT "$groat" prewarm "$work/many.jsonl" \
        --target cpu:gfx950 --cache-dir "$work/s6" -j 2 >/dev/null 2>&1 &
    waited=0
    while [ "$(wc -l 2>/dev/null <"$work/pids")" != 2 ] &&
        [ $waited -lt 600 ]; do
        sleep 0.1
        waited=$((waited + 1))
    done
    workers=$(children_of $! | tr '\n' ' ')
    [ "$(echo $workers | wc -w)" = 2 ] && pass "$signal meets two workers" ||
        fail "$signal meets two workers" "they are: $workers"
    kill -$signal $!
    wait $! 2>/dev/null
    waited=0
    # shellcheck disable=SC2086
    while kill -0 $workers $(cat "$work/pids") 2>/dev/null &&
        [ $waited -lt 100 ]; do
        sleep 0.1
        waited=$((waited + 1))
    done
    left=
    for pid in $workers $(cat "$work/pids"); do
        kill -0 "$pid" 2>/dev/null && left="$left $pid"
    done
    [ -n "$workers" ] && [ -z "$left" ] &&
        pass "$signal leaves no process" ||
        fail "$signal leaves no process" "$left are left of $workers"
done
[ -z "$(ls -A "$work/tmp")" ] && pass "no file is left" ||
    fail "no file is left" "$(ls -A "$work/tmp")"
finish
