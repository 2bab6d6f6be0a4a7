#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# stdout has the answer, stderr the messages; no progress without a terminal.
. "$(dirname "$0")/common.sh"

loader=tile_loader_lds

silent() {
    if [ -s "$2" ]; then
        fail "$1" "$(head -c 200 "$2")"
    else
        pass "$1"
    fi
}

for words in "run $loader --target cpu:gfx950" "build $loader" \
    "source $loader" "key $loader" "key $loader --identity" families \
    "families $loader" help --version "cache path" "cache stat" "cache list" \
    "cache verify" completion-data; do
    # shellcheck disable=SC2086
    expect "$words" 0 $words
    silent "$words: nothing to stderr" "$err"
    if [ -s "$out" ]; then
        pass "$words: an answer"
    else
        fail "$words: an answer" "stdout is empty"
    fi
done
for words in frobnicate "run" "run no_such" "key $loader:dtype=f7" \
    "cache show zz" "families no_such"; do
    # shellcheck disable=SC2086
    expect "$words" 2 $words
    silent "$words: nothing to stdout" "$out"
    if grep -q '^groat: ' "$err"; then
        pass "$words: the talk is marked"
    else
        fail "$words: the talk is marked" "$(head -c 200 "$err")"
    fi
done

# Piped output must be usable as it is.
expect "source" 0 source $loader
if head -n 40 "$out" | grep -q '#line\|constexpr'; then
    pass "source is source"
else
    fail "source is source" "$(head -n 3 "$out")"
fi
expect "identity" 0 key $loader --identity
if [ "$(head -n 1 "$out")" = "groat-identity 1" ]; then
    pass "identity is the text alone"
else
    fail "identity is the text alone" "$(head -n 1 "$out")"
fi

# A warning of the library goes to stderr, and the answer still comes.
mkdir "$work/ro" && chmod 500 "$work/ro"
if [ -w "$work/ro" ]; then
    : >"$work/file"
    place=$work/file/sub
else
    place=$work/ro/sub
fi
expect "a store that cannot be" 0 run $loader --target cpu:gfx950 \
    --cache-dir "$place"
says "is a warning" "groat: warning: "
answers "and no failure" "verified  yes"
expect "cache path without a store" 1 cache path --cache-dir "$place"

# An answer that cannot be written is a failure, and its cause is reported.
lost() {
    [ "$code" -eq 1 ] && pass "$1" || fail "$1" "exit code $code"
    says "$1: says so" "stdout did not take the answer"
    if grep -q Success "$err"; then
        fail "$1: no success is told" "$(head -c 200 "$err")"
    else
        pass "$1: no success is told"
    fi
}
for words in families "source $loader" "cache stat" "families --json"; do
    # shellcheck disable=SC2086
    if [ -w /dev/full ]; then
        code=0
        "$groat" $words >/dev/full 2>"$err" || code=$?
        lost "$words: a full disk under stdout"
    fi
    code=0
    # shellcheck disable=SC2086
    "$groat" $words >&- 2>"$err" || code=$?
    lost "$words: stdout is closed"
done
code=0
"$groat" run $loader:tile_rows=16 --target cpu:gfx950 --no-cache >"$out" \
    2>&- <&- || code=$?
[ "$code" -eq 0 ] && pass "run without stdin and stderr" ||
    fail "run without stdin and stderr" "exit code $code"

# One object, even if a word looks like the option.
cd "$work" || exit 1
expect "a file called --json" 0 run $loader --target cpu:gfx950 --output --json
json "a file called --json: one answer"
[ -s ./--json ] && pass "a file called --json: is written" ||
    fail "a file called --json: is written"

expect "--output -" 2 build $loader --target cpu:gfx950 --no-cache -o -
says "is refused" "does not write to standard output"
expect "--sanitize with --pointers" 2 run $loader --target cpu:gfx950 \
    --sanitize --pointers
says "is refused, too" "--sanitize and --pointers exclude each other"
rm -f "$work/cut.bin"
cat >"$work/slow-c++" <<'END'
#!/bin/sh
case " $* " in *" -x c++ "*) exec sleep 30 ;; esac
exec c++ "$@"
END
chmod +x "$work/slow-c++"
for signal in INT TERM QUIT; do
    GROAT_CXX=$work/slow-c++ "$groat" build $loader --target cpu:gfx950 \
        --no-cache -o "$work/cut.bin" >"$out" 2>"$err" &
    pid=$!
    tries=0
    until [ -e "$work/cut.bin" ] || [ $tries = 100 ]; do
        sleep 0.05
        tries=$((tries + 1))
    done
    kill -s "$signal" "$pid"
    wait "$pid"
    [ ! -e "$work/cut.bin" ] && pass "no file is left by $signal" ||
        fail "no file is left by $signal"
done

if command -v script >/dev/null 2>&1 &&
    script -qec true /dev/null >/dev/null 2>&1; then
    script -qec "'$groat' build $loader:tile_rows=32 >'$out'" /dev/null \
        >"$work/tty" 2>&1 </dev/null
    if grep -q '\[0/1\] building' "$work/tty"; then
        pass "progress on a terminal"
    else
        fail "progress on a terminal" "$(head -c 200 "$work/tty")"
    fi
    script -qec "'$groat' run kv_producer_pipeline:entry=scores \
        --target cpu:sm_90a --cache-dir '$work/home/p' >'$out'" /dev/null \
        >"$work/tty" 2>&1 </dev/null
    if grep -q '/16\] blocks in 0 s: kv_producer' "$work/tty"; then
        pass "progress within a launch"
    else
        fail "progress within a launch" "$(head -c 200 "$work/tty")"
    fi
    script -qec "stty cols 20; '$groat' build $loader:tile_rows=96 >'$out'" \
        /dev/null >"$work/tty" 2>&1 </dev/null
    long=$(tr '\r' '\n' <"$work/tty" | sed 's/\x1b\[K//' | awk 'length > 19' | head -n 1)
    [ -z "$long" ] && grep -q '\[0/1\] ' "$work/tty" &&
        pass "progress in 20 columns" || fail "progress in 20 columns" "$long"
else
    skip "progress on a terminal: there is no script(1)"
fi
finish
